/** Frame around the screens: by role, mode and plan; user menu. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { obstacles } from "./axe.mjs";
import { asOwner, browser, reader, server } from "./owner.mjs";
import { OWNER, becomeOwner, becomes, focused, heading, newReader, readersMenu, settled } from "./reader.mjs";
import { start } from "./server.mjs";

const GRACE = { email: "grace@example.com", name: "Grace Hopper", password: "nanoseconds are that long" };
/** Words reserved for plans with credits. */
const MONEY = /\b(credits?|plans?|seats?|charged?|charges|costs?|free of charge|is free|are free|prices?)\b/gi;

/** @type {Awaited<ReturnType<typeof newReader>>} */
let grace;
let list;

asOwner(async () => {
  const { invitation_url: url } = await server.api("POST", "/users", { email: GRACE.email, name: GRACE.name, role: "contributor" });
  grace = await newReader(browser, server);
  await grace.page.goto(new URL(url, server.origin).href);
  await grace.page.getByLabel("Password", { exact: true }).fill(GRACE.password);
  await grace.page.getByRole("button", { name: "Save and sign in" }).click();
  await heading(grace.page, "Overview");
  const { id } = await server.api("POST", "/batch-verify", { emails: ["valid@sandbox.test", "valid@sandbox.test", "nonexistent@sandbox.test"] });
  await server.finished(id);
  list = id;
});
afterEach(() => reader.nothingWrong());

const entries = (page) => page.locator("#sections a").evaluateAll((links) => links.map((link) => link.textContent?.replace(/[\d+].*/, "").trim()));
const testLine = (page) => page.getByRole("complementary", { name: "Test mode" });

test("administrators see all screens in their groups", async () => {
  const { page, go } = reader;
  await go("");
  assert.deepEqual(await entries(page), ["Overview", "Verify an address", "Lists", "Connections", "Timeline", "Usage", "API keys", "Webhooks",
    "Widget", "Requests", "Documentation", "Team", "Settings", "Privacy"]);
  assert.deepEqual(await page.locator("#sections .title").allTextContents(), ["Insights", "Developers", "Organization"]);
  assert.equal(await page.locator("#sections a > svg").count(), 14);
});

test("contributors see what their role may change, in the navigation, in the palette and by letters", async () => {
  const { page, go } = grace;
  await go("");
  assert.deepEqual(await entries(page), ["Overview", "Verify an address", "Lists", "Timeline", "Usage", "Requests", "Documentation"]);
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox");
  await focused(field);
  for (const [sought, names] of /** @type {const} */ ([["lists", ["Lists"]], ["webhooks", []], ["team", []], ["API keys", []]])) {
    await field.fill(sought);
    await becomes(() => page.getByRole("option").locator("span:first-child").allTextContents(), [...names, `Find “${sought}” in lists`]);
  }
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("k");
  await page.keyboard.press("g");
  await page.keyboard.press("l");
  await heading(page, "Lists");
  // A link opens what their role may read.
  await go("team");
  await page.getByText(GRACE.email).waitFor();
  assert.equal(await page.getByRole("button", { name: "Invite a team member" }).count(), 0);
  grace.nothingWrong();
});

test("the reader's menu has who they are, their account, language, colors and the way out", async () => {
  const { page, go } = grace;
  await go("usage");
  const menu = await readersMenu(page);
  await menu.getByText(GRACE.email).waitFor();
  await menu.getByText("Contributor").waitFor();
  assert.deepEqual(await obstacles(page), []);
  await menu.getByLabel("Language").selectOption("de");
  await heading(page, "Nutzung");
  await menu.getByLabel("Sprache").selectOption("en");
  await heading(page, "Usage");
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await ground();
  await menu.getByLabel("Colors").selectOption("dark");
  await becomes(async () => (await ground()) === light, false);
  await menu.getByLabel("Colors").selectOption("");
  await becomes(ground, light);
  await page.getByRole("heading", { level: 1 }).click();
  await becomes(() => menu.count(), 0);
  await (await readersMenu(page)).getByRole("link", { name: "Your account" }).click();
  await heading(page, "Your account");
  await becomes(() => menu.count(), 0);
  await (await readersMenu(page)).getByRole("button", { name: "Sign out" }).click();
  await heading(page, "Sign in");
  grace.nothingWrong();
});

test("the mode changes the data of the page in sight, and every page says that it is test mode", async () => {
  const { page, go } = reader;
  const mode = (name) => page.getByRole("button", { name, exact: true });
  for (const place of ["usage", "lists/find", "verify/several", "webhooks", "lists/new", "team"]) {
    await go(place);
    const title = await page.getByRole("heading", { level: 1 }).innerText();
    await mode("Test mode").click();
    await testLine(page).getByText("The sandbox answers instead of mail servers").waitFor();
    await heading(page, title);
    assert.equal(new URL(page.url()).hash, `#/${place}`);
    await mode("Live mode").click();
    await testLine(page).waitFor({ state: "detached" });
    assert.equal(new URL(page.url()).hash, `#/${place}`);
  }
  await go(`lists/${list}`);
  await mode("Test mode").click();
  await page.waitForURL(/#\/lists$/);
  await page.getByText("No lists yet").waitFor();
  await mode("Live mode").click();
  await page.getByRole("link", { name: /API|Addresses|List/ }).first().waitFor();
});

test("the bar says where the page belongs, and stays in sight", async () => {
  const { page, go } = reader;
  const crumbs = page.getByRole("navigation", { name: "Breadcrumbs" });
  await go("usage");
  assert.equal(await crumbs.innerText(), "Usage");
  await page.mouse.wheel(0, 2_000);
  await becomes(() => crumbs.evaluate((bar) => Math.round(bar.getBoundingClientRect().top) >= 0), true);
  await go(`lists/${list}`);
  await crumbs.getByRole("link", { name: "Lists" }).click();
  await heading(page, "Lists");
});

test("a list in progress is counted in the navigation, in its mode alone, until it is over", async () => {
  const { page, go } = reader;
  const count = page.locator("#sections").getByRole("link", { name: /^Lists/ }).locator(".count");
  await go("usage");
  // Its mail server delays the reply for 50 seconds.
  const { id } = await server.api("POST", "/batch-verify", { emails: ["somebody+delay-50s@catchall.sandbox.test"] });
  await becomes(() => count.innerText().catch(() => ""), /^1\s+in progress$/);
  await page.getByRole("button", { name: "Test mode", exact: true }).click();
  await count.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Live mode", exact: true }).click();
  await count.waitFor();
  await server.api("POST", `/batch-verify/${id}/cancel`);
  await count.waitFor({ state: "detached" });
});

test("in a narrow window, the side opens over the page, and closes by Escape and beside it", async () => {
  const { page, go } = reader;
  await page.setViewportSize({ width: 360, height: 700 });
  await go("usage");
  const menu = page.getByRole("button", { name: "Menu" });
  const links = page.locator("#sections");
  await becomes(() => links.isVisible(), false);
  await menu.click();
  await focused(page.locator("#side a").first());
  await page.getByRole("button", { name: OWNER.name }).waitFor();
  assert.deepEqual(await obstacles(page), []);
  await page.keyboard.press("Escape");
  await becomes(() => links.isVisible(), false);
  await focused(menu);
  await menu.click();
  await page.mouse.click(350, 400);
  await becomes(() => links.isVisible(), false);
  await page.setViewportSize({ width: 1440, height: 900 });
});

/** Locations whose texts depend on the plan, with the dialogs to open there. */
const places = (/** @type {string} */ id, /** @type {boolean} */ testing) => /** @type {[string, (page: import("playwright-core").Page) => Promise<unknown>][]} */ ([
  ...["", "verify", "verify/several", "lists", "lists/find", `lists/${id}`, "lists/new", "connections", "connections/ghost/new", "timeline", "usage", "usage?by=source",
    "webhooks", "widget", "requests", "team", "settings", "privacy", "account"].map((place) => [place, async () => {}]),
  ["keys", async (page) => {
    await page.getByRole("button", { name: "New key" }).first().click();
    // Public keys only exist in live mode.
    if (!testing) await page.getByRole("dialog").getByLabel("Widget on websites").check();
    if (!testing) await page.getByRole("dialog").getByLabel("Daily limit").waitFor();
  }],
  ["lists/new", async (page) => {
    await page.locator("#list-file").setInputFiles({ name: "some.csv", mimeType: "text/csv", buffer: Buffer.from("email\nvalid@sandbox.test\nvalid@sandbox.test\n\n") });
    await page.getByRole("heading", { name: testing ? "Test mode" : "Forecast" }).waitFor();
    await settled(page);
  }],
]);

for (const testing of [false, true]) {
  test(`on an unlimited plan no page speaks of credits, the plan or seats, in ${testing ? "test" : "live"} mode`, async () => {
    const { page, go } = reader;
    await go("");
    if (testing) await page.getByRole("button", { name: "Test mode", exact: true }).click();
    const found = {};
    for (const [place, open] of places(list, testing)) {
      await go(place);
      await open(page);
      const said = (await page.locator("body").innerText()).match(MONEY);
      if (said) found[place] = said;
    }
    assert.deepEqual(found, {});
    await page.goto(`${server.origin}/#/`);
    if (testing) await page.getByRole("button", { name: "Live mode", exact: true }).click();
  });
}

test("on a plan with credits, pages say what is charged", async () => {
  const metered = await start({ env: { PROBITY_CREDITS__PLAN: "metered", PROBITY_CREDITS__INITIAL: "100" } });
  const ann = await newReader(browser, metered);
  await becomeOwner(ann, metered);
  const { page, go } = ann;
  for (const [place, text] of [["", "Credits"], ["verify", "1 credit. Free if the mail server gives no clear reply."], ["verify/several", "Each costs 1 credit"]]) {
    await go(place);
    await page.getByText(text).first().waitFor();
  }
  ann.nothingWrong();
  await ann.context.close();
  await metered.stop();
});
