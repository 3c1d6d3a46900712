/** What administrators do besides verifying: settings, reports, people, webhooks, erasures; and what others see of it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, test } from "node:test";
import { asOwner, browser, reader, server } from "./owner.mjs";
import { OWNER, heading, newReader, settled } from "./reader.mjs";

const GRACE = { email: "grace@example.com", name: "Grace Hopper", password: "nanoseconds are that long" };
const FORGOTTEN = "forget.me@sandbox.test";

let grace, job;

asOwner(async () => {
  job = (await server.api("POST", "/batch-verify", { emails: ["info@sandbox.test", "nonexistent@sandbox.test", FORGOTTEN] })).id;
  await server.finished(job);
  const { invitation_url: url } = await server.api("POST", "/users", { email: GRACE.email, name: GRACE.name, role: "contributor" });
  grace = await newReader(browser, server);
  await grace.page.goto(new URL(url, server.origin).href);
  await grace.page.getByLabel("Password", { exact: true }).fill(GRACE.password);
  await grace.page.getByRole("button", { name: "Save and sign in" }).click();
  await grace.page.getByRole("link", { name: GRACE.name }).waitFor();
});
afterEach(() => [reader, grace].forEach(({ nothingWrong }) => nothingWrong()));

const press = (on, name) => on.getByRole("button", { name, exact: true }).click();
/** A row of a table, by something that stands in it. */
const row = (page, text) => page.locator("tbody tr").filter({ hasText: text });

test("settings are saved, and stand there again", async () => {
  const { page, go } = reader;
  await go("settings");
  await page.getByRole("checkbox", { name: "Role mailbox" }).check();
  await page.getByLabel("Banned words").fill("casino\nviagra");
  await page.getByLabel("Keep results (days)").fill("7");
  await page.getByLabel("Keep deliveries (days)").fill("3");
  await page.getByRole("button", { name: "Save" }).first().click();
  await page.getByText("Saved", { exact: true }).waitFor();
  const settings = await server.api("GET", "/organization/settings");
  assert.deepEqual(
    [settings.ignored_reasons, settings.banned_words, settings.retention_days, settings.delivery_retention_days],
    [["role_based"], ["casino", "viagra"], 7, 3],
  );
  await go("settings");
  assert.equal(await page.getByRole("checkbox", { name: "Role mailbox" }).isChecked(), true);
  assert.equal(await page.getByLabel("Banned words").inputValue(), "casino\nviagra");
});

test("what others have changed meanwhile stays as they left it, and stands there after saving", async () => {
  const { page, go } = reader;
  await server.api("PATCH", "/organization/settings", { banned_words: ["before"], role_words: [], retention_days: 9 });
  await go("settings");
  await server.api("PATCH", "/organization/settings", { banned_words: ["theirs"], retention_days: 11 });
  await page.getByLabel("More role names").fill("desk");
  await page.getByRole("button", { name: "Save" }).first().click();
  await page.getByText("Saved", { exact: true }).waitFor();
  const settings = await server.api("GET", "/organization/settings");
  assert.deepEqual([settings.banned_words, settings.role_words, settings.retention_days], [["theirs"], ["desk"], 11]);
  assert.equal(await page.getByLabel("Banned words").inputValue(), "theirs");
  assert.equal(await page.getByLabel("Keep results (days)").inputValue(), "11");
});

test("the timeline says who did it", async () => {
  const { page, go } = reader;
  await server.api("PATCH", "/organization/settings", { retention_days: 12 });
  await go("timeline");
  const changes = row(page, "organization.retention_days");
  await changes.first().getByText("API key", { exact: true }).waitFor();
  await changes.filter({ hasText: OWNER.name }).first().waitFor();
  await page.route("**/app/v1/users?*", (route) => route.fulfill({ json: { data: [], pagination: { next_cursor: null } } }));
  await go("timeline");
  await row(page, "Team member").first().locator("code", { hasText: /^usr_/ }).waitFor();
  await page.unroute("**/app/v1/users?*");
});

test("what is not allowed is told in the server's words, and is no matter of the role where it is none", async () => {
  const { page, go } = reader;
  const why = "the organization is suspended, paused or banned";
  await page.route("**/app/v1/organization/settings", (route) => route.fulfill({ status: 403, json: { error: { code: "forbidden_scope", message: why } } }));
  await go("settings");
  await page.getByRole("alert").getByText(`This is not allowed: ${why}`).waitFor();
  await page.unroute("**/app/v1/organization/settings");
});

test("what settings would change stays in sight while it is found out anew, and where that fails", async () => {
  const { page, go } = reader;
  const { results } = await server.api("GET", `/jobs/${job}`);
  const would = `${results.reasons.nonexistent} of 3 rows would have another verdict or reason.`;
  let open = () => {};
  const gate = new Promise((resolve) => { open = () => resolve(undefined); });
  await go("settings");
  await heading(page, "Effect on the last list", 2);
  await page.evaluate(() => {
    globalThis.gone = 0;
    const look = () => [...document.querySelectorAll("h2")].some(({ textContent }) => textContent === "Effect on the last list") || (globalThis.gone += 1);
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  });
  await page.route("**/app/settings/trial", async (route) => {
    await gate;
    // The first one was given up by then.
    await route.continue().catch(() => {});
  });
  const asked = () => page.waitForRequest("**/app/settings/trial");
  for (const name of ["No such mailbox", "Catch-all domain"]) {
    const next = asked();
    await page.getByRole("checkbox", { name, exact: false }).first().check();
    await next;
  }
  assert.equal(await page.locator("section[aria-busy=true]").count(), 1);
  open();
  await page.getByText(would).waitFor();
  await page.unroute("**/app/settings/trial");
  const error = { code: "rate_limited", message: "too many", request_id: "req_1" };
  await page.route("**/app/settings/trial", (route) => route.fulfill({ status: 429, json: { error } }));
  await page.getByRole("checkbox", { name: "No such mailbox" }).uncheck();
  await page.getByText("Can't preview these settings").waitFor();
  await page.getByText(would).waitFor();
  assert.equal(await page.evaluate(() => globalThis.gone), 0);
  await page.unroute("**/app/settings/trial");
});

test("the days of reports are taken away as a file", async () => {
  const { page, go } = reader;
  await go("usage");
  const [download] = await Promise.all([page.waitForEvent("download"), press(page, "Save as CSV")]);
  const [head, ...lines] = readFileSync(await download.path(), "utf8").split("\r\n");
  const { data } = await server.api("GET", "/reports/usage/daily?days=30");
  assert.equal(head, "date,total,passed,undeliverable,risky,unknown");
  const line = ({ date, total, statuses: of }) => [date, total, of.passed, of.undeliverable, of.risky, of.unknown].join(",");
  assert.deepEqual(lines, data.map(line));
});

test("a webhook is made, tested, looked into, sent again, changed, given a new secret, and deleted", async () => {
  const { page, go } = reader;
  const dialog = page.getByRole("dialog");
  await go("webhooks");
  await page.getByRole("button", { name: "New webhook" }).first().click();
  await dialog.getByLabel("Name", { exact: true }).fill("Newsletter");
  await dialog.getByLabel("URL", { exact: true }).fill("https://hooks.example.com/probity");
  await press(dialog, "Save");
  const secret = () => page.getByLabel("Secret", { exact: true }).innerText();
  await page.getByText("Copy the secret now").waitFor();
  const first = await secret();
  assert.match(first, /^whsec_\S{20,}$/);
  await press(dialog, "Close");
  await heading(page, "Newsletter");

  await press(page, "Send a test");
  await page.locator("tbody code").getByText("test", { exact: true }).waitFor();
  await press(page, "View");
  await dialog.getByText("https://hooks.example.com/probity").waitFor();
  await dialog.getByText(/webhook-id:/i).waitFor();
  await press(dialog, "Close");
  // Whoever works by keyboard goes on where they were.
  await page.waitForFunction(() => document.activeElement?.textContent === "View");
  const again = page.waitForResponse(/\/redeliver$/);
  await press(page, "Resend");
  assert.equal((await again).status(), 200);

  await press(page, "Change");
  await dialog.getByLabel("Name", { exact: true }).fill("Letters");
  await press(dialog, "Save");
  await heading(page, "Letters");
  await press(page, "Disable");
  await press(page, "Enable");
  await press(page, "Rotate secret");
  await press(dialog, "Rotate secret");
  await page.getByText("Copy the new secret now").waitFor();
  assert.notEqual(await secret(), first);
  await press(page, "Delete");
  await press(dialog, "Delete");
  await heading(page, "Webhooks");
  await page.getByText("No webhooks yet").waitFor();
  assert.deepEqual((await server.api("GET", "/webhooks")).data, []);
});

test("a contributor sees what there is, and is told what only administrators do", async () => {
  const { page, go } = grace;
  const buttons = async (...names) => Promise.all(names.map((name) => page.getByRole("button", { name }).count()));
  for (const [place, said, ...hidden] of [
    ["keys", "Only administrators see the keys.", "New key"],
    ["team", "Only administrators can change this.", "Invite a team member", "Remove"],
    ["webhooks", "Only administrators can change this.", "New webhook"],
    ["privacy", "Only administrators can change this.", "Erase"],
  ]) {
    await go(place);
    await page.getByText(said).first().waitFor();
    assert.deepEqual(await buttons(...hidden), hidden.map(() => 0), place);
  }
  await go("settings");
  await page.getByRole("button", { name: "Save" }).first().click();
  await page.getByText("Your role does not allow this: your role lacks the scope `write:account`").waitFor();
  // What is their own they change themselves.
  await go("account");
  await page.getByRole("button", { name: "Save" }).first().click();
  await page.getByText("Saved").waitFor();
  for (const place of ["", "verify", `lists/${job}`, "timeline", "usage", "widget", "docs"]) {
    await go(place);
    assert.equal(await page.getByRole("alert").count(), 0, place);
  }
});

test("a person is given another role, kept out, let in again, and removed", async () => {
  const { page, go } = reader;
  const dialog = page.getByRole("dialog");
  await go("team");
  await press(page, `Change ${GRACE.name}`);
  await dialog.getByLabel("Role").selectOption("administrator");
  await press(dialog, "Save");
  await row(page, GRACE.name).filter({ hasText: "Administrator" }).waitFor();
  await press(page, `Pause ${GRACE.name}`);
  await row(page, GRACE.name).filter({ hasText: "Paused" }).waitFor();
  await grace.go("usage");
  await heading(grace.page, "Sign in");
  await press(page, `Reactivate ${GRACE.name}`);
  await row(page, GRACE.name).filter({ hasText: "Active" }).waitFor();
  await press(page, `Remove ${GRACE.name}`);
  await press(dialog, "Remove");
  await row(page, GRACE.name).waitFor({ state: "detached" });
});

// The last one with the list: its address is gone afterwards.
test("an address is erased, with a receipt that has a place of its own", async () => {
  const { page, go } = reader;
  await go("privacy");
  await page.getByLabel("Addresses").fill(`${FORGOTTEN}\n${FORGOTTEN}`);
  const erase = page.getByRole("button", { name: "Erase 1 address" });
  // A wrong number erases nothing.
  await page.getByLabel("Type 1 to confirm").fill("2");
  await erase.click();
  assert.deepEqual((await server.api("GET", "/erasures")).data, []);
  await page.getByLabel("Type 1 to confirm").fill("1");
  await erase.click();
  await heading(page, "Receipt", 2);
  await page.waitForURL(/#\/privacy\/\w+$/);
  const card = page.locator("section").filter({ has: page.getByRole("heading", { name: "Receipt", level: 2 }) });
  const look = page.getByRole("button", { name: "Refresh" });
  const completed = card.getByText("Completed", { exact: true }).first();
  await look.or(completed).first().waitFor();
  while (await look.count()) {
    const answer = page.waitForResponse(/\/erasures\/\w+$/);
    await look.click();
    await answer;
    await settled(page);
  }
  await page.reload();
  await heading(page, "Receipt", 2);
  const { data: [{ id }] } = await server.api("GET", "/erasures");
  const { removed } = await server.api("GET", `/erasures/${id}`);
  assert.ok(Object.values(removed).some((count) => count > 0), JSON.stringify(removed));
  const told = page.getByRole("table", { name: "Receipt" }).locator("tbody tr");
  assert.deepEqual((await told.allInnerTexts()).map((text) => text.split(/\s+/)), Object.entries(removed).map(([table, count]) => [table, String(count)]));
  await go(`lists/find?q=${encodeURIComponent(FORGOTTEN)}`);
  await heading(page, "0 rows", 2);
  await go("privacy");
  assert.equal(await page.locator("tbody tr").count(), 1);
});
