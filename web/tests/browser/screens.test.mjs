/** Every screen, at both widths, light and dark: as a picture, and without an obstacle that axe-core knows (WCAG 2.2 AA). */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { OWNER, SCHEMES, SCREENS, WIDTHS, becomeOwner, launch, newReader, settled } from "./reader.mjs";
import { start } from "./server.mjs";

const { source: AXE } = createRequire(import.meta.url)("axe-core");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const ADDRESSES = [
  "valid@sandbox.test", "nonexistent@sandbox.test", "inbox_full@sandbox.test", "role_based@sandbox.test", "accept_all@sandbox.test",
  "failed_exchange@sandbox.test", "not an address", "a.very.long.local.part.that.goes.on.and.on.and.on.until.it.ends@a.long.name.of.a.host.sandbox.test",
];

let server, browser, reader, stranger;
const made = {};

before(async () => {
  server = await start();
  browser = await launch();
  reader = await newReader(browser, server);
  stranger = await newReader(browser, server);
  await becomeOwner(reader, server);
  made.job = (await server.api("POST", "/batch-verify", { emails: ADDRESSES })).id;
  made.webhook = (await server.api("POST", "/webhooks", { name: "Newsletter", url: "https://hooks.example.com/probity", events: ["job.finished", "status.undeliverable"] })).id;
  made.link = await invite();
  for (const email of ADDRESSES.slice(0, 4)) await server.api("GET", `/verify?email=${encodeURIComponent(email)}`);
  await server.finished(made.job);
});

/** The place of the link with which a person of the team joins. */
async function invite() {
  const grace = { email: "grace@example.com", name: "Grace Hopper", role: "contributor" };
  const { invitation_url: url } = await server.api("POST", "/users", grace);
  return new URL(url, server.origin).hash.slice(2);
}

after(async () => {
  await browser?.close();
  await server?.stop();
});

const press = (name) => async (page) => {
  await page.getByRole("button", { name, exact: true }).first().click();
  await page.getByRole("dialog").waitFor();
};

/** The name of the picture, the place, what is done there. */
const INSIDE = [
  ["overview", () => ""],
  ["menu", () => "", async (page, width) => width < 800 && page.getByRole("button", { name: "Menu" }).click()],
  ["verify", () => "verify"],
  ["verify-verdict", () => "verify?email=role_based@sandbox.test", async (page) => {
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    await page.getByRole("heading", { name: "Findings" }).waitFor();
  }],
  ["lists", () => "lists"],
  ["lists-new", () => "lists/new", (page) => page.getByLabel("Addresses").fill(ADDRESSES.join("\n"))],
  ["list", () => `lists/${made.job}`],
  ["list-missing", () => "lists/job_00000000000000000000000000"],
  ["timeline", () => "timeline"],
  ["usage", () => "usage"],
  ["keys", () => "keys"],
  ["keys-new", () => "keys", async (page) => {
    await press("New key")(page);
    await page.getByLabel("Kind").selectOption("rk");
  }],
  ["keys-revoke", () => "keys", (page) => page.getByRole("button", { name: /^Revoke/ }).first().click()],
  ["team", () => "team"],
  ["team-invite", () => "team", press("Invite somebody")],
  ["webhooks", () => "webhooks"],
  ["webhooks-new", () => "webhooks", press("New webhook")],
  ["webhook", () => `webhooks/${made.webhook}`],
  ["settings", () => "settings"],
  ["account", () => "account"],
  ["second-factor", () => "account", async (page) => {
    const begin = page.locator("form").filter({ has: page.getByRole("button", { name: "Set up" }) });
    await begin.getByLabel("Current password").fill(OWNER.password);
    await begin.getByRole("button", { name: "Set up" }).click();
    await page.getByText("Add this secret").waitFor();
  }],
  ["docs", () => "docs"],
  ["missing", () => "nowhere"],
];
const OUTSIDE = [
  ["sign-in", () => ""],
  ["sign-in-refused", () => "", async (page) => {
    await page.getByLabel("E-mail address").fill("nobody@example.com");
    await page.getByLabel("Password").fill("not the password");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
  }],
  ["invitation", () => made.link],
  ["link-gone", () => "link/gone"],
];

for (const width of WIDTHS) {
  for (const scheme of SCHEMES) {
    for (const [list, who] of /** @type {const} */ ([[INSIDE, () => reader], [OUTSIDE, () => stranger]])) {
      for (const [name, place, act] of list) {
        test(`${name} at ${width} px, ${scheme}`, () => look(who(), { name, place: place(), act, width, scheme }));
      }
    }
  }
}

async function look({ page, go, nothingWrong }, { name, place, act, width, scheme }) {
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
  await go(place);
  if (act) await act(page, width);
  await settled(page);
  await page.screenshot({ path: `${SCREENS}${name}-${width}-${scheme}.png`, fullPage: true });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `the page is ${wide} px wider than the window`);
  assert.deepEqual(await obstacles(page), []);
  nothingWrong();
}

/** What axe-core finds, a line each. */
async function obstacles(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate((rules) => globalThis.axe.run({ runOnly: rules }), RULES);
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`));
}
