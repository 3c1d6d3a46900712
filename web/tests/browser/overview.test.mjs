/** Overview: active lists and outbound SMTP. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { asOwner, browser, reader, server } from "./owner.mjs";
import { becomes, heading, newReader, readersMenu, settled } from "./reader.mjs";

asOwner();
afterEach(() => reader.nothingWrong());

/** State of a node that probes mail servers; sandbox nodes do not. */
const ENGINE = {
  connections: 90, connect_failures: 10, recipients: 40, sessions: 2, sessions_limit: 64,
  breakers: { open: 0, paused: 0, closed: 5, half_open: 0 }, held: [], held_others: 0, tight: [], tight_others: 0,
};
const way = (engine) => ({
  reachable: true,
  data: [{ node: "n1", seen_at: new Date().toISOString(), sources: ["192.0.2.1"], state: { may_ask: true, engine: { ...ENGINE, ...engine }, checkup: null } }],
});

/** List of one address, completed at once unless its mail server delays the reply. */
const list = async (email) => (await server.api("POST", "/batch-verify", { emails: [email] })).id;
const shown = (page) => page.getByRole("region", { name: "Current and recent lists" }).locator("li a").evaluateAll((links) => links.map((link) => link.hash.split("/").pop()));

test("a list that is under way is shown before newer ones that are over, and a new one comes by itself", async () => {
  const slow = await list("somebody+delay-50s@catchall.sandbox.test");
  const quick = [];
  for (let n = 0; n < 6; n += 1) {
    quick.push(await list(`quick${n}@sandbox.test`));
    await server.finished(quick[n]);
  }
  const { page, go } = reader;
  await page.clock.install();
  await go("");
  await becomes(() => shown(page), [slow, ...quick.slice(2).reverse()]);
  const later = await list("another+delay-50s@catchall.sandbox.test");
  await page.clock.runFor(10_000);
  await page.locator(`a[href$="${later}"]`).waitFor();
  await becomes(async () => (await shown(page)).slice(0, 2).sort(), [slow, later].sort());
});

test("first steps share a line or have one each, and tick what was done", async () => {
  const { page, go } = reader;
  await page.route("**/app/first-steps", (route) => route.fulfill({ json: { done: ["listed"] } }));
  const tops = () => page.locator(".steps > li").evaluateAll((items) => new Set(items.map((item) => Math.round(item.getBoundingClientRect().top))).size);
  for (const [width, lines] of [[1440, 1], [1024, 5], [390, 5]]) {
    await page.setViewportSize({ width, height: 900 });
    await go("");
    await becomes(() => page.locator(".steps .done strong").allInnerTexts(), ["Verify a list"]);
    await becomes(tops, lines, `${width} px`);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.unroute("**/app/first-steps");
});

test("a provider of two names is named in the reader's language", async () => {
  const { page, go } = reader;
  await page.route("**/app/reports/providers?*", (route) => route.fulfill({ json: { data: [{ id: "gmx", name: "GMX and WEB.DE", verified: 10, unknown: 1 }] } }));
  await go("");
  await page.getByText("GMX and WEB.DE").waitFor();
  const menu = await readersMenu(page);
  await menu.getByLabel("Language").selectOption("de");
  await page.getByText("GMX und WEB.DE").waitFor();
  await menu.getByLabel("Sprache").selectOption("en");
  await page.getByText("GMX and WEB.DE").waitFor();
  await page.unroute("**/app/reports/providers?*");
});

test("the operator is told what is left alone and until when, or that nothing is", async () => {
  const { page, go } = reader;
  const told = {
    Paused: ["none", "google: refuses us; probes resume in 12 minutes"],
    "Near the limit": ["none", "yahoo: pace 9 / 10"],
  };
  const until = () => new Date(Date.now() + 12 * 60_000 + 30_000).toISOString();
  const held = () => ({ held: [{ provider: "google", why: "blocked", until: until() }], tight: [{ provider: "yahoo", budget: "rate", used: 9, limit: 10 }] });
  for (const [turn, engine] of [() => ({}), held].entries()) {
    await page.route("**/app/egress", (route) => route.fulfill({ json: way(engine()) }));
    await go("");
    await page.getByText("Details", { exact: true }).click();
    for (const [name, texts] of Object.entries(told)) {
      const said = page.locator("dt", { hasText: name }).locator("+ dd");
      await becomes(() => said.innerText(), texts[turn]);
    }
    await page.unroute("**/app/egress");
  }
});

test("a page on an unencrypted connection says so, unless it stays on this machine", async () => {
  const { page, go } = reader;
  await go("usage");
  const note = page.getByText("connection isn't encrypted", { exact: false });
  assert.equal(await note.count(), 0);
  const far = await reader.context.newPage();
  await far.addInitScript(() => Object.defineProperty(globalThis, "isSecureContext", { value: false }));
  await far.goto(`${server.origin}/#/usage`);
  await far.getByRole("complementary").getByText("connection isn't encrypted", { exact: false }).waitFor();
  await far.close();
});

test("who does not run the installation is told of the way to mail servers whether there is one", async () => {
  const { page, go } = reader;
  const told = { true: "Mail servers are reachable.", false: "Mail servers can't be reached right now.", null: "Mail servers aren't probed" };
  for (const [reachable, text] of Object.entries(told)) {
    await page.route("**/app/egress", (route) => route.fulfill({ json: { reachable: JSON.parse(reachable), data: null } }));
    await go("");
    await page.getByText(text, { exact: false }).waitFor();
    await page.unroute("**/app/egress");
  }
  await settled(page);
});

const DAY_MS = 86_400_000;
const dayOf = (at) => new Date(at).toISOString().slice(0, 10);

/** Days up to today, with one verdict per named status. */
const daysOf = (counts) => counts.map((of, n) => {
  const statuses = { passed: 0, undeliverable: 0, risky: 0, unknown: 0, ...of };
  const total = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  return { date: dayOf(Date.now() - (counts.length - 1 - n) * DAY_MS), total, statuses: { ...statuses, failed: total - statuses.passed } };
});

test("the last days stand beside those before, and a day is told where it is pointed at", async () => {
  const { page, go } = reader;
  const data = daysOf([...Array(30).fill({ passed: 6, undeliverable: 4 }), ...Array(30).fill({ passed: 9, undeliverable: 2, risky: 1 }), { passed: 3 }]);
  await page.route("**/reports/usage/daily?*", (route) => route.fulfill({ json: { data, pagination: { next_cursor: null } } }));
  await go("");
  const figure = (label) => page.locator(".figure").filter({ has: page.getByText(label, { exact: true }) });
  await becomes(() => figure("Verified").textContent(), /Verified360↑\+20% 300 before/);
  await becomes(() => figure("Deliverable").textContent(), /75%↑\+15 percentage points \(better\) 60% before/);
  await becomes(() => figure("Undeliverable").textContent(), /16\.7%↓−23\.3 percentage points \(better\) 40% before/);
  await becomes(() => figure("Risky").textContent(), /8\.3%↑\+8\.3 percentage points \(worse\) 0% before/);
  await page.getByText("The last 30 full days, through yesterday, compared with the 30 before. Verified today so far: 3.").waitFor();
  await heading(page, "Last 30 days and today", 2);
  const over = page.locator(".u-over");
  const { width, height } = await over.boundingBox();
  await over.hover({ position: { x: width - 2, y: height / 2 } });
  const tip = page.locator(".tip");
  await tip.getByText("In the previous period").waitFor();
  await becomes(() => tip.innerText(), /Verified\s+3\s+In the previous period\s+12/);
  await page.getByRole("group", { name: "Show" }).getByRole("button", { name: "Share" }).click();
  await over.hover({ position: { x: width - 40, y: height / 2 } });
  await becomes(() => tip.innerText(), /Undeliverable\s+16\.7%\s+Risky\s+8\.3%\s+Deliverable\s+75%\s+Verified\s+12/);
  await page.unroute("**/reports/usage/daily?*");
});

/**
 * Reloads the page as if the visit had ended at `until`, written after the page stores its own end on unload. Navigating to
 * another site may run unload handlers after the next page loads.
 */
async function comeBackAt(page, until) {
  await page.evaluate((until) => {
    const name = Object.keys(localStorage).find((key) => key.startsWith("probity.seen."));
    addEventListener("pagehide", () => localStorage.setItem(name, JSON.stringify({ until })));
  }, until);
  await page.reload();
  await settled(page);
}

test("what happened since the last visit is told on the next, and a visit goes on for half an hour", async () => {
  // Another test controls the clock of the other page.
  const own = await newReader(browser, server, { storageState: await reader.context.storageState() });
  const { page, go } = own;
  const card = page.locator(".card").filter({ hasText: "Since your last visit" });
  await go("");
  const comeBack = async (ago) => comeBackAt(page, Date.now() - ago);
  await comeBack(10 * 60_000);
  assert.equal(await card.count(), 0, "the same visit, and the first");
  const { id } = await server.api("POST", "/api-keys", { name: "Made meanwhile", kind: "rk", scopes: ["verify"] });
  await comeBack(2 * 3_600_000);
  await card.getByText("2 hours ago").waitFor();
  await card.getByRole("link", { name: "Made meanwhile" }).waitFor();
  await card.getByRole("link", { name: /^Keys/ }).click();
  await page.getByRole("link", { name: "Made meanwhile" }).waitFor();
  await server.api("DELETE", `/api-keys/${id}`);
  own.nothingWrong();
  await own.context.close();
});

test("a visit ends while its page is open and out of sight, and is not prolonged when that page goes", async () => {
  const own = await newReader(browser, server, { storageState: await reader.context.storageState() });
  const { page, go } = own;
  const card = page.locator(".card").filter({ hasText: "Since your last visit" });
  const hide = (hidden) => page.evaluate((is) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => is });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
  /** Ages the stored times. */
  const hoursPass = (hours) => page.evaluate((ms) => {
    const name = Object.keys(localStorage).find((key) => key.startsWith("probity.seen."));
    const { since, until } = JSON.parse(localStorage.getItem(name));
    localStorage.setItem(name, JSON.stringify({ since, until: until - ms }));
  }, hours * 3_600_000);
  const remembered = () => page.evaluate(() => localStorage.getItem(Object.keys(localStorage).find((key) => key.startsWith("probity.seen."))));
  await go("");
  await hide(true);
  await hoursPass(3);
  const before = await remembered();
  await page.evaluate(() => dispatchEvent(new Event("pagehide")));
  assert.equal(await remembered(), before, "a page that nobody sees was not seen");
  const { id } = await server.api("POST", "/api-keys", { name: "Made out of sight", kind: "rk", scopes: ["verify"] });
  await hide(false);
  await card.getByText("3 hours ago").waitFor();
  await card.getByRole("link", { name: "Made out of sight" }).waitFor();
  await hide(true);
  await hide(false);
  await card.getByText("3 hours ago").waitFor();
  await server.api("DELETE", `/api-keys/${id}`);
  own.nothingWrong();
  await own.context.close();
});

test("more events than are read at once are told as such, and of which days they are", async () => {
  const own = await newReader(browser, server, { storageState: await reader.context.storageState() });
  const { page, go } = own;
  const event = (n) => ({ type: "account", kind: "key_created", at: new Date(Date.now() - n * 1000).toISOString(), actor: null, subject: null });
  await go("");
  await page.route("**/account/timeline?*", (route) => route.fulfill({ json: { events: Array.from({ length: 200 }, (_, n) => event(n)) } }));
  await comeBackAt(page, Date.now() - 40 * DAY_MS);
  await page.getByText("events in the last 30 days").waitFor();
  await page.getByText("200+", { exact: true }).waitFor();
  await page.getByText("More than 195 other events").waitFor();
  await own.context.close();
});

test("the way to mail servers is told in a word, with its history, and all else is folded", async () => {
  const { page, go } = reader;
  const told = { "Mail servers are responding": {}, "Some mail servers aren't responding": { held: [{ provider: "google", why: "blocked", until: new Date(Date.now() + 600_000).toISOString() }] }, "No mail server was probed yet": { connections: 0, connect_failures: 0 } };
  const data = daysOf(Array(60).fill({ passed: 3, unknown: 1 }));
  await page.route("**/reports/usage/daily?*", (route) => route.fulfill({ json: { data, pagination: { next_cursor: null } } }));
  for (const [word, engine] of Object.entries(told)) {
    await page.route("**/app/egress", (route) => route.fulfill({ json: way(engine) }));
    await go("");
    await page.getByText(word, { exact: true }).waitFor();
    await page.getByText("25% of verdicts unknown in 30 days").waitFor();
    assert.equal(await page.getByText("Open sessions").isVisible(), false);
    await page.unroute("**/app/egress");
  }
  await page.getByText("Details", { exact: true }).click();
  await page.getByText("Open sessions").waitFor();
  await page.unroute("**/reports/usage/daily?*");
});
