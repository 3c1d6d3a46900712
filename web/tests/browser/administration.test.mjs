/** Administration: settings, reports, team, webhooks, erasures; and the contributor's view of them. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, test } from "node:test";
import { asOwner, browser, reader, server } from "./owner.mjs";
import { OWNER, act, becomes, heading, newReader, notByBiDi, settled } from "./reader.mjs";

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
  await grace.page.getByRole("button", { name: GRACE.name }).waitFor();
});
afterEach(() => [reader, grace].forEach(({ nothingWrong }) => nothingWrong()));

const press = (on, name) => on.getByRole("button", { name, exact: true }).click();
/** Table row that contains a text. */
const row = (page, text) => page.locator("tbody tr").filter({ hasText: text });

const openTab = (page, name) => page.locator(".tabs").getByRole("link", { name, exact: true }).click();

test("settings are saved, and stand there again", async () => {
  const { page, go } = reader;
  const saves = async () => {
    await page.getByRole("button", { name: "Save" }).first().click();
    await page.getByText("Saved", { exact: true }).last().waitFor();
  };
  await go("settings?tab=results");
  await page.getByRole("checkbox", { name: "Role mailbox" }).check();
  await page.getByLabel("Banned words").fill("casino\nviagra");
  await openTab(page, "General");
  await page.getByLabel("Keep results (days)").fill("7");
  await page.getByLabel("Keep deliveries (days)").fill("3");
  await saves();
  assert.deepEqual((await server.api("GET", "/organization/settings")).banned_words, [], "a tab saves what it shows");
  await openTab(page, "Verdicts");
  await becomes(() => page.getByLabel("Banned words").inputValue(), "casino\nviagra", "a tab keeps its edits");
  await saves();
  const settings = await server.api("GET", "/organization/settings");
  assert.deepEqual(
    [settings.ignored_reasons, settings.banned_words, settings.retention_days, settings.delivery_retention_days],
    [["role_based"], ["casino", "viagra"], 7, 3],
  );
  await go("settings?tab=results");
  await becomes(() => page.getByRole("checkbox", { name: "Role mailbox" }).isChecked(), true);
  await becomes(() => page.getByLabel("Banned words").inputValue(), "casino\nviagra");

  await page.getByLabel("Banned words").fill("casino");
  await page.getByRole("button", { name: "Save" }).first().click();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Undone").waitFor();
  await becomes(() => page.getByLabel("Banned words").inputValue(), "casino\nviagra");
  const restored = await server.api("GET", "/organization/settings");
  assert.deepEqual([restored.banned_words, restored.retention_days, restored.delivery_retention_days], [["casino", "viagra"], 7, 3]);
});

test("an offer to undo is gone at another place, and every message with who got it", async () => {
  const { page, go } = reader;
  const offer = page.getByRole("button", { name: "Undo" });
  const save = async (days) => {
    await page.getByLabel("Keep results (days)").fill(days);
    await page.getByRole("button", { name: "Save" }).first().click();
    await offer.waitFor();
    // Hovering keeps the toast open.
    await offer.hover();
  };
  await go("settings");
  await save("9");
  await page.evaluate(() => { location.hash = "#/settings?tab=suppressions"; });
  await becomes(() => offer.count(), 1);
  await page.evaluate(() => { location.hash = "#/team"; });
  await heading(page, "Team");
  await becomes(() => offer.count(), 0);

  await page.evaluate(() => { location.hash = "#/settings"; });
  await settled(page);
  await save("7");
  await page.evaluate(async () => {
    const session = await (await fetch("/app/session")).json();
    await fetch("/app/sign-out", { method: "POST", headers: { "x-csrf-token": session.csrf } });
  });
  // The page may receive the change before it navigates.
  await page.evaluate(() => { location.hash = "#/team"; });
  await heading(page, "Sign in");
  assert.equal(await page.locator(".toast").count(), 0);
  await page.getByLabel("Email address").fill(OWNER.email);
  await page.getByLabel("Password").fill(OWNER.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "Team" }).waitFor();
  assert.equal(await page.locator(".toast").count(), 0);
});

test("addresses that are taken off a list are put back", async () => {
  const { page, go } = reader;
  const emails = ["ann@example.com", "bob@example.com"];
  await server.api("POST", "/organization/suppressions/bounced", { emails });
  const count = async () => (await server.api("GET", "/organization/suppressions/bounced")).count;
  const take = async (some) => {
    await page.getByRole("button", { name: "Remove addresses: Bounced before" }).click();
    await page.getByLabel("Addresses", { exact: true }).fill(some.join("\n"));
    await page.getByRole("dialog").getByRole("button", { name: "Remove addresses" }).click();
  };
  await go("settings?tab=suppressions");
  await take(emails);
  await page.getByText("2 removed").waitFor();
  assert.equal(await count(), 0);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Undone").waitFor();
  assert.equal(await count(), 2);
  // Only two of the three are listed, so the removed ones are unknown.
  await take([...emails, "eve@example.com"]);
  await becomes(count, 0);
  await page.getByText("2 removed").waitFor();
  await becomes(() => page.getByRole("button", { name: "Undo" }).count(), 0);
});

test("what others have changed meanwhile stays as they left it, and stands there after saving", async () => {
  const { page, go } = reader;
  await server.api("PATCH", "/organization/settings", { banned_words: ["before"], role_words: [], retention_days: 9 });
  await go("settings?tab=results");
  await server.api("PATCH", "/organization/settings", { banned_words: ["theirs"], retention_days: 11 });
  await page.getByLabel("More role names").fill("desk");
  await page.getByRole("button", { name: "Save" }).first().click();
  await page.getByText("Saved", { exact: true }).waitFor();
  const settings = await server.api("GET", "/organization/settings");
  assert.deepEqual([settings.banned_words, settings.role_words, settings.retention_days], [["theirs"], ["desk"], 11]);
  await becomes(() => page.getByLabel("Banned words").inputValue(), "theirs");
  await openTab(page, "General");
  await becomes(() => page.getByLabel("Keep results (days)").inputValue(), "11");
});

test("the timeline says who did what to which, as it happens, and shows one kind or person alone", async () => {
  const { page, go } = reader;
  const entries = page.locator(".happened li");
  const entry = (...texts) => texts.reduce((found, hasText) => found.filter({ hasText }), entries).first();
  await server.api("PATCH", "/organization/settings", { retention_days: 12 });
  await go("timeline");
  await entry("changed how many days results are kept", "(API key)", "12").waitFor();
  await entry(`${OWNER.name} signed in`).waitFor();
  // Appears live, with the names of its resources.
  const { id } = await server.api("POST", "/api-keys", { name: "Lantern", kind: "live" });
  await entry("created the key Lantern").waitFor();
  await server.api("DELETE", `/api-keys/${id}`);
  await entry("revoked the key Lantern").waitFor();
  assert.equal(await entry("revoked the key Lantern").getByRole("link", { name: "Lantern" }).getAttribute("href"), "#/keys");

  await page.getByRole("group", { name: "What" }).getByRole("button", { name: /^Keys/ }).click();
  await entry("changed how many days results are kept").waitFor({ state: "detached" });
  await becomes(() => page.url(), /of=keys/);
  await page.getByLabel("Who").selectOption({ label: OWNER.name });
  await page.getByText("No matching activity").waitFor();
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await entry("changed how many days results are kept").waitFor();

  await page.route("**/app/v1/users?*", (route) => route.fulfill({ json: { data: [], pagination: { next_cursor: null } } }));
  await go("timeline");
  await entries.locator("code", { hasText: /^usr_/ }).first().waitFor();
  await page.unroute("**/app/v1/users?*");
});

test("the team shows who was invited elsewhere without a second look", async () => {
  const { page, go } = reader;
  await go("team");
  const { id } = await server.api("POST", "/users", { email: "late@example.com", role: "contributor" });
  await row(page, "late@example.com").first().waitFor();
  // The owner is active now; an invited member has not been yet.
  await page.getByRole("columnheader", { name: "Last activity" }).waitFor();
  await row(page, "Owner").first().locator('td[data-title="Last activity"] time').waitFor();
  await becomes(() => row(page, "late@example.com").first().locator('td[data-title="Last activity"]').innerText(), "");
  await server.api("DELETE", `/users/${id}`);
  await row(page, "late@example.com").first().waitFor({ state: "detached" });
});

test("what is not allowed is told in the server's words, and is no matter of the role where it is none", async () => {
  const { page, go } = reader;
  const why = "the organization is suspended, paused or banned; ask the operator";
  await page.route("**/app/v1/organization/settings", (route) => route.fulfill({ status: 403, json: { error: { code: "forbidden_scope", message: why } } }));
  await go("settings");
  await page.getByRole("alert").getByText(`This is not allowed: ${why}`).waitFor();
  await page.unroute("**/app/v1/organization/settings");
});

test("a sending service gets a URL, which is shown once, and is removed", async () => {
  const { page, go } = reader;
  const dialog = page.getByRole("dialog");
  await go("settings?tab=reports");
  await page.getByText("No service reports here yet.").waitFor();
  await press(page, "Add a service");
  await dialog.getByLabel("Service").selectOption("mailgun");
  await dialog.getByLabel("Name").fill("News");
  await dialog.getByLabel("HTTP webhook signing key").fill("key-1");
  await dialog.getByRole("button", { name: "Add a service" }).click();
  const url = await dialog.locator(".secret code").textContent();
  assert.match(url ?? "", /^http.*\/hooks\/outcomes\/osr_[^/]+\/[0-9a-f]{64}$/);
  await page.keyboard.press("Escape");
  await row(page, "News").getByText("Mailgun").waitFor();
  assert.equal((await server.api("GET", "/outcome-sources")).data[0].name, "News");
  await press(page, "Remove “News”");
  await dialog.getByRole("button", { name: "Remove" }).click();
  await page.getByText("No service reports here yet.").waitFor();
});

test("what settings would change stays in sight while it is found out again, and where that fails", async () => {
  const { page, go } = reader;
  const { results } = await server.api("GET", `/jobs/${job}`);
  const would = `${results.reasons.nonexistent} of 3 rows would have another verdict or reason.`;
  let open = () => {};
  const gate = new Promise((resolve) => { open = () => resolve(undefined); });
  await go("settings?tab=results");
  await heading(page, "Effect on the last list", 2);
  await page.evaluate(() => {
    globalThis.gone = 0;
    const look = () => [...document.querySelectorAll("h2")].some(({ textContent }) => textContent === "Effect on the last list") || (globalThis.gone += 1);
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  });
  await page.route("**/app/settings/trial", async (route) => {
    await gate;
    // The first request is already aborted.
    await route.continue().catch(() => {});
  });
  const asked = () => page.waitForRequest("**/app/settings/trial");
  for (const name of ["No such mailbox", "Catch-all domain"]) {
    const next = asked();
    await page.getByRole("checkbox", { name, exact: false }).first().check();
    await next;
  }
  await becomes(() => page.locator("section[aria-busy=true]").count(), 1);
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

test("the days of reports are taken away as a file", { skip: notByBiDi("what a page saves") }, async () => {
  const { page, go } = reader;
  await go("usage");
  const [download] = await Promise.all([page.waitForEvent("download"), press(page, "Save as CSV")]);
  const [head, ...lines] = readFileSync(await download.path(), "utf8").split("\r\n");
  const { data } = await server.api("GET", "/reports/usage/daily?days=30");
  assert.equal(head, "date,total,passed,risky,unknown,undeliverable");
  const line = ({ date, total, statuses: of }) => [date, total, of.passed, of.risky, of.unknown, of.undeliverable].join(",");
  assert.deepEqual(lines, data.map(line));
});

test("usage is divided by key, for days of one's choice, told where it is pointed at, and taken away", { skip: notByBiDi("what a page saves") }, async () => {
  const { page, go } = reader;
  const { id, secret } = await server.api("POST", "/api-keys", { name: "=Shop, \"east\"", kind: "rk", scopes: ["verify"] });
  const { status, headers } = await fetch(`${server.origin}/v1/verify?email=valid@sandbox.test`, { headers: { authorization: `Bearer ${secret}` } });
  assert.equal(status, 200);
  const daysBehind = () => Math.floor(Date.now() / 86_400_000) - Math.floor(Date.parse(headers.get("date") ?? "") / 86_400_000);
  await go("usage");
  await page.getByLabel("Group by").selectOption({ label: "API key" });
  const parts = page.getByRole("table", { name: "API key" });
  const row = parts.getByRole("row").filter({ hasText: "=Shop" });
  await row.waitFor();
  await becomes(async () => (await row.locator("td").allTextContents()).slice(1, 2), ["1"]);
  const over = page.locator(".u-over");
  const { width, height } = await over.boundingBox();
  // The last of 30 bars, or the one before: midnight may have passed.
  await over.hover({ position: { x: width * (1 - daysBehind() / 20) - 2, y: height / 2 } });
  await page.locator(".tip").getByText("=Shop").waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), press(page, "Save as CSV")]);
  const lines = readFileSync(await download.path(), "utf8").split("\r\n");
  assert.ok(lines[0].includes(`"'=Shop, ""east"""`), lines[0]);
  assert.equal(lines.length, 31);
  await page.getByLabel("Show", { exact: true }).selectOption({ label: "Custom range" });
  await page.getByLabel("From", { exact: true }).fill("2020-01-01");
  await page.getByLabel("To", { exact: true }).fill("2020-01-31");
  await page.getByText("Nothing verified in this period").waitFor();
  await page.getByLabel("To", { exact: true }).fill("2019-12-31");
  await page.getByText("The first day is after the last one.").waitFor();
  await page.getByLabel("To", { exact: true }).fill("2021-12-31");
  await page.getByText("Choose at most 366 days.").waitFor();

  await go("keys");
  await page.getByRole("button", { name: "Usage =Shop" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Addresses verified in the last 30 days").first().waitFor();
  await dialog.locator(".u-over").waitFor();
  await dialog.getByRole("link", { name: "Usage of all keys" }).click();
  await parts.waitFor();
  await server.api("DELETE", `/api-keys/${id}`);
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
  await page.getByRole("table", { name: "Deliveries" }).getByRole("link", { name: "test" }).click();
  await heading(page, "test");
  await page.getByText("https://hooks.example.com/probity").waitFor();
  await page.getByRole("link", { name: "Newsletter" }).click();
  await heading(page, "Newsletter");
  const again = page.waitForResponse(/\/redeliver$/);
  await press(page, "Resend");
  assert.equal((await again).status(), 200);

  await press(page, "Change");
  await dialog.getByLabel("Name", { exact: true }).fill("Letters");
  await press(dialog, "Save");
  await heading(page, "Letters");
  await act(page, "Disable");
  await act(page, "Enable");
  await act(page, "Rotate secret");
  await press(dialog, "Rotate secret");
  await page.getByText("Copy the new secret now").waitFor();
  assert.notEqual(await secret(), first);
  await act(page, "Delete");
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
  await go("settings?tab=results");
  await page.getByText("Only administrators can change this.").waitFor();
  await becomes(() => page.getByLabel("Banned words").isDisabled(), true);
  assert.deepEqual(await buttons("Save", "Rename", "Add"), [0, 0, 0]);
  // Users edit their own account.
  await go("account");
  await page.getByRole("button", { name: "Save" }).first().click();
  await page.getByText("Saved").waitFor();
  for (const place of ["", "verify", `lists/${job}`, "timeline", "usage", "widget"]) {
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

// Last test with the list: its address is erased here.
test("an address is erased, with a receipt that has a place of its own", async () => {
  const { page, go } = reader;
  await go("privacy");
  await becomes(() => page.getByRole("button", { name: "Erase addresses" }).getAttribute("aria-disabled"), "true", "nothing is offered to be erased");
  await page.getByLabel("Addresses").fill(`${FORGOTTEN}\n${FORGOTTEN}`);
  const erase = page.getByRole("button", { name: "Erase 1 address" });
  await page.getByText("Found in 1 list.").waitFor();
  // A wrong count erases nothing.
  await page.getByLabel("Type 1 to confirm").fill("2");
  await erase.click();
  assert.deepEqual((await server.api("GET", "/erasures")).data, []);
  await page.getByLabel("Type 1 to confirm").fill("1");
  await erase.click();
  await heading(page, "Receipt", 2);
  await page.waitForURL(/#\/privacy\/\w+$/);
  const card = page.locator("section").filter({ has: page.getByRole("heading", { name: "Receipt", level: 2 }) });
  // The page reports completion live.
  await card.getByText("Completed", { exact: true }).nth(1).waitFor();
  await page.reload();
  await heading(page, "Receipt", 2);
  const { data: [{ id }] } = await server.api("GET", "/erasures");
  const { removed } = await server.api("GET", `/erasures/${id}`);
  assert.ok(Object.values(removed).some((count) => count > 0), JSON.stringify(removed));
  const told = page.getByRole("table", { name: "Receipt" }).locator("tbody tr");
  const words = { job_block: "Addresses in lists", result_part: "Results of lists in progress", result_block: "Results of completed lists" };
  await becomes(async () => (await told.allInnerTexts()).map((text) => text.split("\t").map((cell) => cell.trim())),
    Object.entries(removed).map(([table, count]) => [words[table] ?? table, String(count)]));
  await go(`lists/find?q=${encodeURIComponent(FORGOTTEN)}`);
  await heading(page, "0 rows", 2);
  await go("privacy");
  await becomes(() => page.locator("tbody tr").count(), 1);
});
