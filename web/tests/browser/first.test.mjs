/** First five minutes of a new installation, and live updates that need no reload. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { obstacles } from "./axe.mjs";
import { asOwner, browser, reader, server } from "./owner.mjs";
import { SCHEMES, WIDTHS, becomeOwner, becomes, heading, newReader, picture, settled } from "./reader.mjs";
import { start } from "./server.mjs";

asOwner();
afterEach(() => reader.nothingWrong());

const mode = (page, name) => page.getByRole("group", { name: "Mode" }).getByRole("button", { name: `${name} mode`, exact: true });
const step = (page, name) => page.locator(".steps li").filter({ hasText: name });
const done = (page, name) => page.locator(".steps li.done").filter({ hasText: name });

test("the checklist leads from the name to the first list, and remembers nothing but what is there", async () => {
  const { page, go } = reader;
  await go("");
  await heading(page, "Get started", 2);
  await becomes(() => page.locator(".steps li").count(), 5);
  assert.equal(await done(page, "Name your organization").count(), 0);
  await page.getByRole("button", { name: "Name it" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Morning Letter");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".who").getByText("Morning Letter").waitFor();
  await done(page, "Name your organization").waitFor();

  await step(page, "Verify an address").getByRole("link", { name: "Verify" }).click();
  await page.getByRole("button", { name: "nonexistent@sandbox.test" }).click();
  await page.locator(".verdict-card").getByText("nonexistent@sandbox.test").waitFor();
  await page.getByLabel("Address", { exact: true }).fill("valid@sandbox.test");
  await page.getByRole("button", { name: "Verify", exact: true }).click();
  await page.locator(".verdict-card").getByText("valid@sandbox.test", { exact: true }).waitFor();
  assert.deepEqual((await server.api("GET", "/reports/usage?period=lifetime")).total, 0, "samples are not counted");

  await go("");
  await done(page, "Verify an address").waitFor();
  await page.getByRole("button", { name: "Upload the demo list" }).click();
  await page.getByText("demo.csv").first().waitFor();
  await becomes(() => mode(page, "Test").getAttribute("aria-pressed"), "true");
  await page.getByRole("button", { name: /^Start/ }).click();
  await page.waitForURL(/#\/lists\/job_/);
  await page.getByText("Test mode", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Download", exact: true }).waitFor();
  await go("");
  await done(page, "Verify a list").waitFor();
  await page.getByRole("button", { name: "Hide" }).click();
  await go("");
  assert.equal(await page.getByRole("heading", { name: "Get started" }).count(), 0);
});

test("the switch keeps the page and changes the data, and is remembered", async () => {
  const { page, go } = reader;
  await server.api("POST", "/batch-verify", { emails: ["live@sandbox.test"] });
  await go("lists");
  const names = () => page.locator("tbody a").allInnerTexts();
  await page.getByRole("link", { name: "demo.csv" }).waitFor();
  await becomes(() => page.title(), "Lists · Probity");
  const demo = String(await page.getByRole("link", { name: "demo.csv" }).getAttribute("href")).slice(2);
  await mode(page, "Live").click();
  await page.getByRole("link", { name: "demo.csv" }).waitFor({ state: "detached" });
  await page.locator("tbody a").first().waitFor();
  await becomes(async () => (await names()).length, 1);
  assert.match(page.url(), /#\/lists$/);
  // A link also leads to resources of the other mode.
  await go(demo);
  await page.getByRole("button", { name: "Look in test mode" }).click();
  await page.getByRole("button", { name: "Download", exact: true }).waitFor();
  await mode(page, "Live").click();
  await page.waitForURL(/#\/lists$/);
  await becomes(() => page.locator(".test-line").count(), 0);

  await go("keys");
  await page.getByText("First live key").first().waitFor();
  assert.equal(await page.getByText("First test key").count(), 0);
  await mode(page, "Test").click();
  await page.getByText("First test key").first().waitFor();
  await becomes(() => page.getByText("First live key").count(), 0);
  await page.getByRole("button", { name: "New key" }).first().click();
  await becomes(() => page.getByRole("radio").evaluateAll((all) => all.map((one) => /** @type {HTMLInputElement} */ (one).value)), ["test"]);
  await page.reload();
  await settled(page);
  await becomes(() => mode(page, "Test").getAttribute("aria-pressed"), "true", "remembered");
  await mode(page, "Live").click();
});

test("a list, an erasure and a delivery show what became of them without a second look", async () => {
  const { page, go } = reader;
  await go("lists");
  const rows = () => page.locator("tbody tr").count();
  const before = await rows();
  await server.api("POST", "/batch-verify", { emails: ["later@sandbox.test"] });
  await page.waitForFunction((count) => document.querySelectorAll("tbody tr").length > count, before);

  await go("privacy");
  const { id: erasure } = await server.api("POST", "/erasures", { emails: ["later@sandbox.test"] });
  await page.locator(`a[href$="${erasure}"]`).waitFor();
  await page.locator("tr", { has: page.locator(`a[href$="${erasure}"]`) }).getByText("Completed").waitFor();

  const hook = await server.api("POST", "/webhooks", { name: "Shop", url: "https://hooks.example.com/", events: ["job.finished"] });
  await go(`webhooks/${hook.id}`);
  await page.getByText("No deliveries", { exact: false }).first().waitFor();
  await server.api("POST", `/webhooks/${hook.id}/test`);
  await page.getByRole("table", { name: "Deliveries" }).getByRole("row").nth(1).waitFor();
});

test("where no stream comes, changes are asked for", async () => {
  const other = await newReader(browser, server, { storageState: await reader.context.storageState() });
  const { page, go } = other;
  await page.route("**/app/changes?**", (route) => route.fulfill({ status: 429, body: "" }));
  await go("lists");
  const before = await page.locator("tbody tr").count();
  await server.api("POST", "/batch-verify", { emails: ["polled@sandbox.test"] });
  await page.waitForFunction((count) => document.querySelectorAll("tbody tr").length > count, before);
  other.nothingWrong();
  await other.context.close();
});

test("the first page tells how strong a password is while it is typed, and a click anywhere on a card chooses it", async () => {
  const fresh = await start();
  const other = await newReader(browser, fresh);
  const { page } = other;
  try {
    await page.goto(fresh.link);
    await page.getByLabel("Email address").fill("olivia@letter.example");
    const said = {
      "four words": "2 more characters are needed.",
      password1234: "Easy to guess.",
      "olivia-letter!": "Easy to guess.",
      "four words are fine": "Good.",
      "twelve wise words are enough": "Strong.",
    };
    for (const [typed, told] of Object.entries(said)) {
      await page.getByLabel("Password", { exact: true }).fill(typed);
      await page.getByText(told).waitFor();
    }
    await becomes(() => page.locator(".strength .on").count(), 4);
    await page.locator(".begin .choice").nth(1).click({ position: { x: 4, y: 4 } });
    await becomes(() => page.getByLabel("Live mode").isChecked(), true);
    await settled(page);
    await picture(page, "first-welcome", { fullPage: true });
    assert.deepEqual(await obstacles(page), []);
    other.nothingWrong();
  } finally {
    await other.context.close();
    await fresh.stop();
  }
});

const MUTE = {
  reachable: false,
  missing: "port",
  data: [{
    node: "n1", seen_at: new Date().toISOString(), sources: [],
    state: { may_ask: true, engine: null, checkup: { at: new Date().toISOString(), config_file: "/etc/probity/probity.toml", checks: [{ name: "reverse name", outcome: "warn", found: "unknown", advice: "set public", config: "[[source]]\npublic = \"203.0.113.7\"" }, { name: "resolver", outcome: "ok", found: "responds", advice: "" }, { name: "port 25 outbound", outcome: "fail", found: "closed: mx.example.com: timed out", advice: "ask your provider to open this port" }] } },
  }],
};

test("a server that reaches no mail server says so, and holds addresses back instead of judging them", async () => {
  const { page, go } = reader;
  await page.route("**/app/egress", (route) => route.fulfill({ json: MUTE }));
  await go("verify");
  const banner = page.getByRole("complementary", { name: "This server can't probe mail servers yet." });
  await banner.getByRole("button", { name: "What to do" }).click();
  await page.getByRole("dialog").getByText("ask your provider to open this port").waitFor();
  // As many steps as the overview counts, the worst first.
  assert.deepEqual(await page.getByRole("dialog").locator(".advices strong").allInnerTexts(), ["port 25 outbound", "reverse name"]);
  await page.getByRole("dialog").getByText("/etc/probity/probity.toml").waitFor();
  assert.deepEqual(await page.getByRole("dialog").locator(".advices pre").allInnerTexts(), ['[[source]]\npublic = "203.0.113.7"']);
  await page.keyboard.press("Escape");
  let asked = 0;
  page.on("request", (request) => { asked += Number(request.url().includes("/verify?")); });
  await page.getByLabel("Address", { exact: true }).fill("ann@acme-widgets.com");
  await page.getByRole("button", { name: "Verify", exact: true }).click();
  await page.getByText("Not verified: no mail server can be probed").waitFor();
  assert.equal(asked, 0);
  await page.getByLabel("Address", { exact: true }).fill("inbox_full@sandbox.test");
  await page.getByRole("button", { name: "Verify", exact: true }).click();
  await page.locator(".verdict-card").getByText("inbox_full@sandbox.test").waitFor();
  await banner.getByText("Outbound port 25 is closed.").waitFor();
  await banner.getByRole("button", { name: "Try the sandbox" }).click();
  await banner.waitFor({ state: "detached" });
  await mode(page, "Live").click();
  await banner.waitFor();
  await page.unroute("**/app/egress");
});

test("on a machine without network, a live list waits from its first row and says for what, and the sandbox answers", async () => {
  const mute = await start({ sandbox: false, env: { PROBITY_DNS__NAMESERVERS: "127.0.0.1:9", PROBITY_DNS__TIMEOUT: "200ms" } });
  const other = await newReader(browser, mute);
  const { page, go } = other;
  try {
    await becomeOwner(other, mute);
    const banner = page.getByRole("complementary", { name: "This server can't probe mail servers yet." });
    await banner.getByText("DNS lookups of mail servers fail.").waitFor();
    const { id } = await mute.api("POST", "/batch-verify", { emails: ["ann@acme-widgets.com", "no address"] });
    await go(`lists/${id}`);
    await heading(page, "This list waits", 2);
    const why = page.locator(".waits");
    await why.getByText("The list starts by itself afterwards.").waitFor();
    await why.getByText("DNS lookups of mail servers fail.").waitFor();
    await page.getByText("0 of 2 verified").waitFor();
    await settled(page);
    await picture(page, "first-list-waits", { fullPage: true });
    assert.deepEqual(await obstacles(page), []);
    await banner.getByRole("button", { name: "Try the sandbox" }).click();
    await banner.waitFor({ state: "detached" });
    // A live list does not exist in the sandbox.
    await heading(page, "Lists");
    await go("verify");
    await page.getByRole("button", { name: "valid@sandbox.test" }).click();
    await page.locator(".verdict-card").getByText("valid@sandbox.test", { exact: true }).waitFor();
    await page.locator(".verdict-card").getByText("Deliverable").first().waitFor();
    assert.equal((await mute.api("GET", `/batch-verify/${id}/status`)).status, "starting");
    other.nothingWrong();
  } finally {
    await other.context.close();
    await mute.stop();
  }
});

/** Cases that the screens test does not cover: pictures and axe-core checks. */
for (const width of WIDTHS) {
  for (const scheme of SCHEMES) {
    test(`first steps, test mode and the notice at ${width} pixels, ${scheme}`, async () => {
      const other = await newReader(browser, server, { storageState: await reader.context.storageState(), viewport: { width, height: 900 }, colorScheme: scheme });
      const { page, go } = other;
      const look = async (name) => {
        await settled(page);
        await picture(page, `first-${name}-${width}-${scheme}`, { fullPage: true });
        assert.deepEqual(await obstacles(page), [], name);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} is wider than the window`);
      };
      await page.route("**/app/egress", (route) => route.fulfill({ json: MUTE }));
      await go("");
      await page.evaluate(() => Object.keys(localStorage).filter((key) => key.includes("hidden")).forEach((key) => localStorage.removeItem(key)));
      await go("");
      await heading(page, "Get started", 2);
      await page.getByRole("complementary", { name: "This server can't probe mail servers yet." }).waitFor();
      await look("steps");
      await page.getByRole("button", { name: "What to do" }).first().click();
      await page.getByRole("dialog").waitFor();
      await look("what-to-do");
      await page.keyboard.press("Escape");
      await go("verify");
      await page.getByRole("complementary", { name: "This server can't probe mail servers yet." }).waitFor();
      await page.getByLabel("Address", { exact: true }).fill("ann@acme-widgets.com");
      await page.getByRole("button", { name: "Verify", exact: true }).click();
      await page.getByText("Not verified: no mail server can be probed").waitFor();
      await look("held");
      await mode(page, "Test").click();
      await page.getByText("Test mode", { exact: true }).waitFor();
      await look("test-verify");
      await go("lists");
      await look("test-lists");
      other.nothingWrong();
      await other.context.close();
    });
  }
}
