/** Lists: progress, completion, search, and effect of other settings. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, test } from "node:test";
import { asOwner, browser, reader, server } from "./owner.mjs";
import { OWNER, act, becomes, downloadAs, focused, heading, newReader, notByBiDi, settled } from "./reader.mjs";

const ROWS = 2_000;

let job, roles;

asOwner(async () => {
  const emails = Array.from({ length: ROWS }, (_, n) => (n % 100 === 7 ? "info@sandbox.test" : `reader${n}@sandbox.test`));
  emails[1_234] = "Needle.In.Hay@sandbox.test";
  emails[1_999] = "info@sandbox.test";
  job = (await server.api("POST", "/batch-verify", { emails })).id;
  await server.finished(job);
  roles = (await server.api("GET", `/jobs/${job}`)).results.reasons.role_based;
  assert.equal(roles, 21);
});
afterEach(() => reader.nothingWrong());

const grid = (page) => page.getByRole("grid", { name: "Results" });

test("a list tells of its progress by events, and of its end", async () => {
  const { page, go } = reader;
  const emails = Array.from({ length: ROWS }, (_, n) => `watched${n}@sandbox.test`);
  const { id } = await server.api("POST", "/batch-verify", { emails });
  /** @type {string[]} */
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await go(`lists/${id}`);
  await page.getByText("Completed", { exact: true }).waitFor();
  await page.getByText("2,000 of 2,000 verified", { exact: true }).waitFor();
  assert.equal(asked.filter((path) => path === `/app/jobs/${id}/events`).length, 1);
  assert.equal(asked.filter((path) => path === `/app/jobs/${id}/progress`).length, 0);
});

test("where events do not come, the same is asked for", async () => {
  const other = await newReader(browser, server, { storageState: await reader.context.storageState() });
  await other.page.route("**/events", (route) => route.fulfill({ status: 429, body: "" }));
  await other.go(`lists/${job}`);
  await other.page.getByText("2,000 of 2,000 verified", { exact: true }).waitFor();
  other.nothingWrong();
  await other.context.close();
});

test("rows are found by a part of the address, by verdict and by reason", async () => {
  const { page, go } = reader;
  await go(`lists/${job}`);
  await becomes(() => grid(page).getAttribute("aria-rowcount"), String(ROWS + 1));
  await page.keyboard.press("/");
  await page.keyboard.type("needle.in");
  await page.getByText("1 row", { exact: true }).waitFor();
  await page.getByRole("gridcell", { name: "Needle.In.Hay@sandbox.test" }).waitFor();
  await becomes(() => page.url(), /q=needle\.in/);
  await page.getByRole("searchbox", { name: "Part of an address" }).fill("");
  await page.getByRole("button", { name: /^Role mailbox/ }).click();
  await page.getByText(`${roles} rows`, { exact: true }).waitFor();
  await becomes(() => page.url(), /status=risky&reason=role_based/);
  await becomes(() => grid(page).getAttribute("aria-rowcount"), String(roles + 1));
  await page.getByRole("gridcell", { name: "info@sandbox.test" }).first().waitFor();
  const verdicts = page.getByRole("group", { name: "Verdict" });
  await verdicts.getByRole("button", { name: /^Deliverable/ }).click();
  await becomes(() => page.getByRole("button", { name: "Remove the filter Role mailbox" }).count(), 0, "a reason belongs to one verdict");
  await page.getByRole("searchbox", { name: "Part of an address" }).fill("nobody has this");
  await page.getByText("No row matches your search.").waitFor();
  await page.getByRole("search").getByRole("button", { name: "Clear filters" }).click();
  await becomes(() => grid(page).getAttribute("aria-rowcount"), String(ROWS + 1));
});

test("rows show their verdicts as they come, also those that a reader has scrolled to", async () => {
  const { page, go } = reader;
  const row = (index, processed) => ({ index, email: `reader${index}@sandbox.test`, processed, status: processed ? "passed" : null, reason: processed ? "valid" : null, provider: null, host: null, suggestion: null, decided: null });
  const progress = await (await page.request.get(`${server.origin}/app/jobs/${job}/progress`)).json();
  const rows = 100_000;
  // Rows with a verdict, and such rows in a page at response time.
  let done = 1_000;
  const answers = {
    events: (route) => route.fulfill({ status: 429, body: "" }),
    progress: (route) => route.fulfill({ json: { ...progress, status: "processing", over: false, finished_at: null, rows, processed: done, passed: done, undeliverable: 0, risky: 0, unknown: 0, reasons: { valid: done } } }),
    "rows?*": (route) => {
      const query = new URL(route.request().url()).searchParams;
      const [after, most] = [Number(query.get("after")), Number(query.get("per_page"))];
      // Verdicts arrive out of order: the last row gets the first one.
      const data = Array.from({ length: Math.min(most, rows - after) }, (_, n) => row(after + n, rows - (after + n) <= done - 1_000));
      return route.fulfill({ json: { data, rows, scanned: after + data.length, next: after + data.length < rows ? after + data.length : null } });
    },
  };
  for (const [path, answer] of Object.entries(answers)) await page.route(`**/app/jobs/*/${path}`, answer);
  await go(`lists/${job}`);
  await grid(page).focus();
  await page.keyboard.press("End");
  const last = page.getByRole("row").filter({ hasText: `reader${rows - 1}@sandbox.test` });
  await last.getByText("Pending").waitFor();
  // One verdict of 100,000.
  done += 1;
  await last.getByText("Deliverable").waitFor();
  const before = page.getByRole("row").filter({ hasText: `reader${rows - 2}@sandbox.test` });
  await before.getByText("Pending").waitFor();
  done += 1;
  await before.getByText("Deliverable").waitFor();
  // The counts give the number of matches before the search completes.
  await page.getByRole("group", { name: "Verdict" }).getByRole("button", { name: /^Pending/ }).click();
  await page.getByText(`${(rows - done).toLocaleString("en-GB")} rows`, { exact: true }).waitFor();
  for (const [path, answer] of Object.entries(answers)) await page.unroute(`**/app/jobs/*/${path}`, answer);
});

test("an opened row stays open while others are found above it, and when it is no longer found", async () => {
  const { page, go } = reader;
  const row = (index) => ({ index, email: `reader${index}@sandbox.test`, processed: true, status: "passed", reason: "valid", provider: null, host: null, suggestion: null, decided: null });
  const progress = await (await page.request.get(`${server.origin}/app/jobs/${job}/progress`)).json();
  let [found, done] = [[1, 2], 2];
  const answers = {
    events: (route) => route.fulfill({ status: 429, body: "" }),
    progress: (route) => route.fulfill({ json: { ...progress, status: "processing", over: false, finished_at: null, rows: 9, processed: done, passed: done, undeliverable: 0, risky: 0, unknown: 0, reasons: { valid: done } } }),
    "rows?*": (route) => route.fulfill({ json: { data: found.map(row), rows: 9, scanned: 9, next: null } }),
  };
  for (const [path, answer] of Object.entries(answers)) await page.route(`**/app/jobs/*/${path}`, answer);
  const active = () => grid(page).evaluate((element) => document.getElementById(element.getAttribute("aria-activedescendant") ?? "")?.textContent ?? "");
  const cell = (index) => page.getByRole("gridcell", { name: `reader${index}@sandbox.test` });
  const panel = (index) => page.getByRole("complementary", { name: `reader${index}@sandbox.test` });
  await go(`lists/${job}?status=passed`);
  await cell(1).click();
  await panel(1).waitFor();
  [found, done] = [[0, 1, 2], 3];
  await cell(0).waitFor();
  await panel(1).getByText("Row 2 of 9").waitFor();
  await becomes(active, /reader1@/);
  // Keys continue from the row, wherever it has moved.
  await page.keyboard.press("ArrowDown");
  await panel(2).waitFor();
  [found, done] = [[0, 1], 4];
  await cell(2).waitFor({ state: "detached" });
  await panel(2).getByText("Row 3 of 9").waitFor();
  await page.keyboard.press("ArrowUp");
  await panel(1).waitFor();
  for (const [path, answer] of Object.entries(answers)) await page.unroute(`**/app/jobs/*/${path}`, answer);
});

test("the rows are gone through by keyboard", async () => {
  const { page, go } = reader;
  await go(`lists/${job}`);
  const rows = grid(page);
  await rows.focus();
  const active = () => rows.evaluate((element) => document.getElementById(element.getAttribute("aria-activedescendant") ?? "")?.getAttribute("aria-rowindex"));
  await page.keyboard.press("ArrowDown");
  await becomes(active, "3");
  await page.keyboard.press("End");
  await page.getByRole("gridcell", { name: "info@sandbox.test" }).waitFor();
  await becomes(active, String(ROWS + 1));
  await becomes(async () => (await page.getByRole("gridcell").count()) < 400, true, "only what is in sight is in the page");
  await page.keyboard.press("Home");
  await page.getByRole("gridcell", { name: "reader0@sandbox.test" }).waitFor();
  // The second row opens beside the table, and the next one as the user moves to it.
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  const panel = page.getByRole("complementary", { name: "reader1@sandbox.test" });
  await panel.getByText("Row 2 of 2,000").waitFor();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("complementary", { name: "reader2@sandbox.test" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("complementary", { name: "reader2@sandbox.test" }).waitFor({ state: "detached" });
  await page.keyboard.press("Enter");
  // The location is unchanged.
  const here = page.url();
  await page.getByRole("button", { name: "Verify again" }).click();
  const again = page.getByRole("complementary", { name: "reader2@sandbox.test" }).getByRole("region", { name: "Verified again just now" });
  await again.getByText("The list keeps its verdict.").waitFor();
  await becomes(() => page.url(), here);
  await page.getByRole("gridcell", { name: "reader2@sandbox.test" }).waitFor();
});

/** Current grid row, and its clipped pixels at the head and the end of the grid. */
const reached = (rows) => rows.evaluate((element) => {
  const row = document.getElementById(element.getAttribute("aria-activedescendant") ?? "");
  if (!row) return undefined;
  const [box, frame, head] = [row, element, element.querySelector(".virtual-head")].map((one) => one.getBoundingClientRect());
  const top = innerWidth < 641 ? frame.top : head.bottom;
  const bottom = frame.top + element.clientTop + element.clientHeight;
  return { row: Number(row.getAttribute("aria-rowindex")) - 1, cut: Math.round(Math.max(0, top - box.top, box.bottom - bottom)) };
});

/** Presses a key and waits for a fully visible row. */
async function pressTo(page, key, times, row) {
  for (let n = 0; n < times; n += 1) await page.keyboard.press(key);
  await becomes(() => reached(grid(page)), { row, cut: 0 }, `${key} ${times} times`);
}

test("the row that is reached by keyboard is whole in sight", async () => {
  const { page, go } = reader;
  for (const width of [1_440, 360]) {
    await page.setViewportSize({ width, height: 900 });
    await go(`lists/${job}`);
    await grid(page).focus();
    await pressTo(page, "ArrowDown", 25, 26);
    await pressTo(page, "End", 1, ROWS);
    await pressTo(page, "ArrowUp", 25, ROWS - 25);
    await pressTo(page, "Home", 1, 1);
  }
  await page.setViewportSize({ width: 1_440, height: 900 });
});

test("a list of a million rows is gone through by keyboard as well", async () => {
  const { page, go } = reader;
  const rows = 1_000_000;
  const row = (index) => ({ index, email: `reader${index}@sandbox.test`, processed: true, status: "passed", reason: "valid", provider: null, host: null, suggestion: null });
  const progress = await (await page.request.get(`${server.origin}/app/jobs/${job}/progress`)).json();
  const answers = {
    events: (route) => route.fulfill({ status: 429, body: "" }),
    progress: (route) => route.fulfill({ json: { ...progress, rows, processed: rows } }),
    "rows?*": (route) => {
      const query = new URL(route.request().url()).searchParams;
      const [after, most] = [Number(query.get("after")), Number(query.get("per_page"))];
      const data = Array.from({ length: Math.min(most, rows - after) }, (_, n) => row(after + n));
      return route.fulfill({ json: { data, rows, scanned: rows, next: null } });
    },
  };
  for (const [path, answer] of Object.entries(answers)) await page.route(`**/app/jobs/*/${path}`, answer);
  for (const width of [1_440, 360]) {
    await page.setViewportSize({ width, height: 900 });
    await go(`lists/${job}`);
    await becomes(() => grid(page).getAttribute("aria-rowcount"), String(rows + 1));
    await grid(page).focus();
    await pressTo(page, "ArrowDown", 30, 31);
    await page.getByRole("gridcell", { name: "reader30@sandbox.test" }).waitFor();
    await pressTo(page, "End", 1, rows);
    await page.getByRole("gridcell", { name: `reader${rows - 1}@sandbox.test` }).waitFor();
    await page.getByText(/to 1,000,000 of 1,000,000$/).waitFor();
    await pressTo(page, "ArrowUp", 30, rows - 30);
    await pressTo(page, "Home", 1, 1);
    // Scrolling to the end by other means also shows the last row.
    await grid(page).evaluate((element) => element.scrollTo({ top: element.scrollHeight }));
    await page.getByRole("gridcell", { name: `reader${rows - 1}@sandbox.test` }).waitFor();
    const below = () => grid(page).evaluate((element) => {
      const [end, last] = [element, element.querySelector(".virtual-body [role=row]:last-child")].map((one) => one.getBoundingClientRect().bottom);
      return Math.max(0, Math.round(last - end));
    });
    await becomes(below, 0, "pixels of the last row below the table");
  }
  for (const [path, answer] of Object.entries(answers)) await page.unroute(`**/app/jobs/*/${path}`, answer);
  await page.setViewportSize({ width: 1_440, height: 900 });
});

test("an address is found in all lists", async () => {
  const { page, go } = reader;
  await go("lists");
  await page.getByRole("link", { name: "Find in lists" }).click();
  const find = async (text) => {
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { level: 1 }).click();
    await page.keyboard.press("/");
    await focused(page.getByRole("searchbox", { name: "Part of an address, domain, or name of a list" }));
    await page.keyboard.press("Control+a");
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
  };
  await find("needle.in.hay@SANDBOX.test");
  await heading(page, "1 row with this address", 2);
  await page.reload();
  await heading(page, "1 row with this address", 2);
  await find("EEDLE.in");
  await page.waitForURL(/q=EEDLE/);
  await heading(page, "1 row with this address", 2);
  await page.goBack();
  await page.waitForURL(/q=needle/);
  await becomes(() => page.getByRole("searchbox").inputValue(), "needle.in.hay@SANDBOX.test");
  await page.getByRole("row", { name: "1,235" }).getByRole("link").click();
  await page.getByText("1 row", { exact: true }).waitFor();
  // Lists with one name differ by their size and age.
  for (const emails of [["one@sandbox.test"], ["two@sandbox.test", "three@sandbox.test"]]) {
    const { id } = await server.api("POST", "/batch-verify", { emails });
    const { csrf } = await (await page.request.get(`${server.origin}/app/session`)).json();
    await page.request.patch(`${server.origin}/app/jobs/${id}`, { data: { name: "Twins" }, headers: { "x-csrf-token": csrf, origin: server.origin } });
  }
  await page.keyboard.press("Control+k");
  await page.keyboard.type("twins");
  await page.getByRole("option", { name: /^Twins 1 row · / }).waitFor();
  await page.getByRole("option", { name: /^Twins 2 rows · / }).waitFor();
  await page.getByRole("option", { name: "Find “twins” in lists" }).click();
  await heading(page, "2 lists by name", 2);
});

test("settings show what they would change on the last list, and a list that is cancelled what came back", async () => {
  const { page, go } = reader;
  // The last list is the one that was followed.
  const { data } = await server.api("GET", "/jobs?status=completed");
  const { results, total } = await server.api("GET", `/jobs/${data[0].id}`);
  await go("settings?tab=results");
  await heading(page, "Effect on the last list", 2);
  await page.getByRole("checkbox", { name: "No such mailbox" }).check();
  await page.getByText(`${results.reasons.nonexistent.toLocaleString("en-GB")} of ${total.toLocaleString("en-GB")} rows would have another verdict or reason.`).waitFor();

  // A server that replies after 50 seconds: the list is canceled before it completes.
  const slow = Array.from({ length: 20 }, (_, n) => `more${n}+delay-50s@catchall.sandbox.test`);
  const { id } = await server.api("POST", "/batch-verify", { emails: slow });
  await go(`lists/${id}`);
  await act(page, "Stop verification");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Stop verification" }).click();
  await page.getByText("Verification stopped.").waitFor();
  await page.getByText("Stopped", { exact: true }).waitFor();
});

test("figures, reasons and domains filter the rows, and the download takes what is filtered", async () => {
  const { page, go } = reader;
  const emails = ["valid@sandbox.test", "Valid@sandbox.test", "nonexistent@sandbox.test", "role_based@sandbox.test", "any@catchall.sandbox.test", "inbox_full@sandbox.test"];
  const { id } = await server.api("POST", "/batch-verify", { emails });
  await server.finished(id);
  await go(`lists/${id}`);
  await heading(page, "2 of 6 rows are deliverable", 2);
  await page.getByText("5 unique addresses").waitFor();
  await page.getByText(/credits? charged/).waitFor({ state: "detached" });
  const rows = async (n) => page.waitForFunction((count) => document.querySelector("[role=grid]")?.getAttribute("aria-rowcount") === count, String(n + 1));
  await page.getByRole("button", { name: /^Undeliverable 2 33/ }).click();
  await rows(2);
  await page.getByRole("button", { name: /^No such mailbox/ }).click();
  await rows(1);
  const lines = async (link) => {
    const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
    const count = readFileSync(await download.path(), "utf8").trim().split("\r\n").length - 1;
    assert.equal(download.suggestedFilename(), `${id}.${count}.csv`);
    return count;
  };
  assert.equal(await lines(await downloadAs(page, "CSV")), 1);
  await page.getByRole("radio", { name: "All but undeliverable 4" }).check();
  assert.equal(await lines(page.getByRole("link", { name: "Download 4 rows as CSV" })), 4);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Remove the filter No such mailbox" }).click();
  await rows(2);
  // Another filter replaces the previous choice.
  const filtered = await downloadAs(page, "CSV");
  await becomes(() => page.getByRole("radio", { name: "The filtered rows 2" }).isChecked(), true);
  assert.equal(await lines(filtered), 2);
  await page.keyboard.press("Escape");
  await page.getByRole("search").getByRole("button", { name: "Clear filters" }).click();
  await page.getByRole("button", { name: /^catchall\.sandbox\.test 1/ }).click();
  await page.getByRole("gridcell", { name: "any@catchall.sandbox.test" }).waitFor();
  await rows(1);
});

test("a list is named, tagged, verified again and deleted", async () => {
  const { page, go } = reader;
  const { id } = await server.api("POST", "/batch-verify", { emails: ["any@catchall.sandbox.test", "valid@sandbox.test"] });
  await server.finished(id);
  await go(`lists/${id}`);
  await heading(page, /^2 addresses by key /);
  await page.getByRole("button", { name: "Rename this list" }).click();
  await page.getByLabel("Name of the list").fill("Autumn customers");
  await page.keyboard.press("Enter");
  await heading(page, "Autumn customers");
  await go("lists/find?q=any@catchall.sandbox.test");
  await page.getByRole("table", { name: "Find in lists" }).getByRole("link", { name: "Autumn customers" }).waitFor();
  await go("timeline");
  await page.locator(".happened").getByRole("link", { name: "Autumn customers" }).first().waitFor();
  await go(`lists/${id}`);
  await page.getByRole("button", { name: "Add a tag" }).click();
  await page.keyboard.type("Q4");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Remove the tag Q4" }).click();
  await page.getByText("Tag Q4 removed").waitFor();
  await page.getByRole("button", { name: "Remove the tag Q4" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: "Remove the tag Q4" }).waitFor();
  await act(page, "Verify 1 unknown row again");
  await page.getByRole("dialog").getByRole("button", { name: "Verify 1 again" }).click();
  await page.waitForURL((url) => url.hash.startsWith("#/lists/job_") && !url.hash.includes(id));
  await heading(page, "Autumn customers");
  await page.getByText("1 of 1 verified").waitFor();
  await act(page, "Delete this list");
  await page.getByRole("dialog").getByRole("button", { name: "Delete this list" }).click();
  await heading(page, "Lists");
  await page.getByText("List deleted").waitFor();
  await go(`lists/${id}`);
  await heading(page, "Autumn customers");
  await page.getByText("Completed", { exact: true }).waitFor();
});

test("a row tells of the reply that decided, and of its file's other columns", async () => {
  const { page, go } = reader;
  await go("lists/new");
  const text = "Name;E-Mail;City\r\nAnn;valid@sandbox.test;Cologne\r\nNobody;;\r\nBob;nonexistent@sandbox.test;Bonn\r\nCid;not an address;\r\n";
  await page.locator("#list-file").setInputFiles({ name: "people.csv", mimeType: "text/csv", buffer: Buffer.from(text) });
  await page.getByRole("button", { name: "Start verifying 3 addresses" }).click();
  await page.getByText("3 of 3 verified").waitFor();
  // Invalid addresses have no domain and are counted on their own line.
  await page.locator(".meters li").filter({ hasText: "Without a domain" }).getByText("1", { exact: true }).waitFor();
  const panel = (name) => page.getByRole("complementary", { name });
  await page.getByRole("gridcell", { name: "nonexistent@sandbox.test" }).click();
  const bob = panel("nonexistent@sandbox.test");
  await bob.getByRole("region", { name: "The conversation" }).waitFor();
  await bob.getByText("2 other columns of the file").click();
  await bob.getByText("Line 4 of the file").waitFor();
  await becomes(() => bob.locator("details dl").innerText(), /Name\s+Bob\s+City\s+Bonn/);
  await page.getByRole("gridcell", { name: "not an address" }).click();
  await panel("not an address").getByText("No mail server was probed for this verdict.").waitFor();
  await becomes(() => panel("not an address").getByRole("button", { name: "Verify again" }).count(), 0);
});

test("lists are found by their names and tags, and move while they run", async () => {
  const { page, go } = reader;
  for (const [name, tags] of [["Orchard guests", ["Q3", "Shop"]], ["Winter guests", ["Q3"]]]) {
    const { id } = await server.api("POST", "/batch-verify", { emails: ["valid@sandbox.test"] });
    await server.finished(id);
    await go(`lists/${id}`);
    await page.getByRole("button", { name: "Rename this list" }).click();
    await page.getByLabel("Name of the list").fill(String(name));
    await page.keyboard.press("Enter");
    await heading(page, String(name));
    for (const tag of tags) {
      await page.getByRole("button", { name: "Add a tag" }).click();
      await page.keyboard.type(tag);
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: `Remove the tag ${tag}` }).waitFor();
    }
  }
  await go("lists");
  const listed = page.getByRole("table", { name: "Lists" }).getByRole("link");
  await page.getByRole("searchbox", { name: "Name or tag" }).fill("orchard");
  await becomes(() => listed.allTextContents(), ["Orchard guests"]);
  await page.getByRole("searchbox", { name: "Name or tag" }).fill("guests");
  await becomes(() => listed.allTextContents(), ["Winter guests", "Orchard guests"]);
  await page.getByRole("button", { name: "Shop", exact: true }).click();
  await becomes(() => listed.allTextContents(), ["Orchard guests"]);
  await becomes(() => page.url(), /q=guests&tag=Shop/);
  await page.reload();
  await becomes(() => listed.allTextContents(), ["Orchard guests"]);
  await page.getByRole("searchbox", { name: "Name or tag" }).fill("nobody");
  await page.getByText("No list matches.").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.getByRole("button", { name: "Remove the filter Shop" }).waitFor({ state: "detached" });
  // A list started elsewhere appears and updates live.
  const { id } = await server.api("POST", "/batch-verify", { emails: [...Array.from({ length: 5 }, (_, n) => `moves${n}@sandbox.test`), "moves+delay-50s@catchall.sandbox.test"] });
  const row = page.getByRole("row").filter({ has: page.locator(`a[href="#/lists/${id}"]`) });
  await row.getByText("Running 83").waitFor();
  await server.api("POST", `/batch-verify/${id}/cancel`);
  await row.getByText("Stopped").waitFor();
});

test("a contact of a run is always kept by a rule of its connection, which can be undone", { skip: notByBiDi("the bodies of requests") }, async () => {
  const { page, go } = reader;
  const progress = await (await page.request.get(`${server.origin}/app/jobs/${job}/progress`)).json();
  /** @type {unknown[]} */
  const asked = [];
  const answers = {
    "/app/jobs/*/events": (route) => route.fulfill({ status: 429, body: "" }),
    "/app/jobs/*/progress": (route) => route.fulfill({ json: { ...progress, source: "integration", source_integration: "ghost" } }),
    "/integrations/ghost": (route) => route.fulfill({ json: { connections: [{ id: "conn_1" }, { id: "conn_2" }] } }),
    "/connections/conn_1/runs?*": (route) => route.fulfill({ json: { data: [{ id: "job_other" }] } }),
    "/connections/conn_2/runs?*": (route) => route.fulfill({ json: { data: [{ id: "job_other" }, { id: job }] } }),
    "/connections/conn_2/keywords/whitelist": (route) => {
      asked.push(route.request().postDataJSON());
      return route.fulfill({ status: 201, json: { data: [{ id: "rule_1" }] } });
    },
    "/connections/conn_2/keywords/whitelist/rule_1": (route) => {
      asked.push(route.request().method());
      return route.fulfill({ json: { id: "rule_1", deleted: true } });
    },
  };
  for (const [path, answer] of Object.entries(answers)) await page.route(`**${path}`, answer);
  await go(`lists/${job}`);
  await page.getByRole("gridcell", { name: "reader1@sandbox.test" }).click();
  await page.getByRole("complementary").getByRole("button", { name: "Always keep" }).click();
  await page.getByText("1 rule added").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await becomes(() => asked, [{ rules: [{ keyword: "reader1@sandbox.test", match: "exact", applies_to: { email: true } }] }, "DELETE"]);
  for (const [path, answer] of Object.entries(answers)) await page.unroute(`**${path}`, answer);
});

test("a list says what it waits for, and is finished without that", async () => {
  const { page, go } = reader;
  const real = await (await page.request.get(`${server.origin}/app/jobs/${job}/progress`)).json();
  const at = new Date(Date.now() + 60_000).toISOString();
  const waits = { ...real, status: "processing", over: false, finished_at: null, rows: ROWS + 1, deferred: { addresses: 1, first_at: at, last_at: at } };
  /** @type {string[]} */
  const asked = [];
  let progress = waits;
  const answers = {
    events: (route) => route.fulfill({ status: 429, body: "" }),
    progress: (route) => route.fulfill({ json: progress }),
    finish: (route) => {
      asked.push(route.request().method());
      progress = { ...real, hurried: true };
      return route.fulfill({ json: progress });
    },
  };
  for (const [path, answer] of Object.entries(answers)) await page.route(`**/app/jobs/*/${path}`, answer);
  await go(`lists/${job}`);
  await page.getByText(/^1 address deferred until \d/).waitFor();
  await page.getByRole("button", { name: "Show them" }).click();
  await page.waitForURL(/status=pending/);
  await page.getByRole("button", { name: "Finish now" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Finish now" }).click();
  // Outdated content disappears by itself.
  await page.getByText("Completed", { exact: true }).waitFor();
  await becomes(() => page.getByRole("button", { name: "Finish now" }).count(), 0);
  assert.deepEqual(asked, ["POST"]);
  for (const [path, answer] of Object.entries(answers)) await page.unroute(`**/app/jobs/*/${path}`, answer);
});

test("a session that is revoked while its stream is open is over on the page, too", async () => {
  const other = await newReader(browser, server);
  const { page } = other;
  await page.goto(server.origin);
  await page.getByLabel("Email address").fill(OWNER.email);
  await page.getByLabel("Password").fill(OWNER.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await heading(page, "Overview");
  // Long enough to outlast its stream.
  const slow = Array.from({ length: 60_000 }, (_, n) => `slow${n}@sandbox.test`);
  const { id } = await server.api("POST", "/batch-verify", { emails: slow });
  await page.goto(`${server.origin}/#/lists/${id}`);
  await settled(page);
  await reader.go("account");
  await reader.page.getByRole("row").filter({ hasNotText: "this one" }).getByRole("button", { name: "Sign out" }).first().click();
  await heading(page, "Sign in");
  await other.context.close();
});
