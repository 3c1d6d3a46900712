/** A list as a person watches and reads it: its progress, its end, what is looked for in it, what other settings would change. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { asOwner, browser, reader, server } from "./owner.mjs";
import { OWNER, heading, newReader, settled } from "./reader.mjs";

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
  await page.getByText("2,000 / 2,000", { exact: true }).waitFor();
  assert.equal(asked.filter((path) => path === `/app/jobs/${id}/events`).length, 1);
  assert.equal(asked.filter((path) => path === `/app/jobs/${id}/progress`).length, 0);
});

test("where events do not come, the same is asked for", async () => {
  const other = await newReader(browser, server, { storageState: await reader.context.storageState() });
  await other.page.route("**/events", (route) => route.fulfill({ status: 429, body: "" }));
  await other.go(`lists/${job}`);
  await other.page.getByText("2,000 / 2,000", { exact: true }).waitFor();
  other.nothingWrong();
  await other.context.close();
});

test("rows are found by a part of the address, by verdict and by reason", async () => {
  const { page, go } = reader;
  await go(`lists/${job}`);
  assert.equal(await grid(page).getAttribute("aria-rowcount"), String(ROWS + 1));
  await page.getByRole("searchbox", { name: "Part of an address" }).fill("needle.in");
  await page.getByText("1 row found").waitFor();
  await page.getByRole("gridcell", { name: "Needle.In.Hay@sandbox.test" }).waitFor();
  assert.match(page.url(), /q=needle\.in/);
  await page.getByRole("searchbox", { name: "Part of an address" }).fill("");
  await page.getByRole("search").getByLabel("Reason").selectOption("role_based");
  await page.getByText(`${roles} rows found`).waitFor();
  assert.equal(await grid(page).getAttribute("aria-rowcount"), String(roles + 1));
  await page.getByRole("gridcell", { name: "info@sandbox.test" }).first().waitFor();
  await page.getByRole("search").getByLabel("Verdict").selectOption("passed");
  await page.getByText("No row matches your search.").waitFor();
});

test("the rows are gone through by keyboard", async () => {
  const { page, go } = reader;
  await go(`lists/${job}`);
  const rows = grid(page);
  await rows.focus();
  const active = () => rows.evaluate((element) => document.getElementById(element.getAttribute("aria-activedescendant") ?? "")?.getAttribute("aria-rowindex"));
  await page.keyboard.press("ArrowDown");
  assert.equal(await active(), "3");
  await page.keyboard.press("End");
  await page.getByRole("gridcell", { name: "info@sandbox.test" }).waitFor();
  assert.equal(await active(), String(ROWS + 1));
  assert.ok((await page.getByRole("gridcell").count()) < 400, "only what is in sight is in the page");
  await page.keyboard.press("Home");
  await page.getByRole("gridcell", { name: "reader0@sandbox.test" }).waitFor();
  // The second row's address opens.
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/verify\?email=reader1%40sandbox\.test$/);
  await settled(page);
});

/** Which of the grid's rows the reader has come to, and how much of it is cut off by the head or by the grid's end, in pixels. */
const reached = (rows) => rows.evaluate((element) => {
  const row = document.getElementById(element.getAttribute("aria-activedescendant") ?? "");
  if (!row) return undefined;
  const [box, frame, head] = [row, element, element.querySelector(".virtual-head")].map((one) => one.getBoundingClientRect());
  const top = innerWidth < 641 ? frame.top : head.bottom;
  const bottom = frame.top + element.clientTop + element.clientHeight;
  return { row: Number(row.getAttribute("aria-rowindex")) - 1, cut: Math.round(Math.max(0, top - box.top, box.bottom - bottom)) };
});

/** Presses a key, and waits for a row to be reached that is whole in sight. */
async function pressTo(page, key, times, row) {
  for (let n = 0; n < times; n += 1) await page.keyboard.press(key);
  await settled(page);
  // Once more than a frame: what was scrolled is drawn in the next.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  assert.deepEqual(await reached(grid(page)), { row, cut: 0 }, `${key} ${times} times`);
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
    assert.equal(await grid(page).getAttribute("aria-rowcount"), String(rows + 1));
    await grid(page).focus();
    await pressTo(page, "ArrowDown", 30, 31);
    await page.getByRole("gridcell", { name: "reader30@sandbox.test" }).waitFor();
    await pressTo(page, "End", 1, rows);
    await page.getByRole("gridcell", { name: `reader${rows - 1}@sandbox.test` }).waitFor();
    await page.getByText(/to 1,000,000 of 1,000,000$/).waitFor();
    await pressTo(page, "ArrowUp", 30, rows - 30);
    await pressTo(page, "Home", 1, 1);
    // What is scrolled to the end by other means shows the last row, too.
    await grid(page).evaluate((element) => element.scrollTo({ top: element.scrollHeight }));
    await page.getByRole("gridcell", { name: `reader${rows - 1}@sandbox.test` }).waitFor();
    const [end, last] = await grid(page).evaluate((element) => [element, element.querySelector(".virtual-body [role=row]:last-child")].map((one) => one.getBoundingClientRect().bottom));
    assert.ok(last <= end, `the last row ends ${last - end} px below the table`);
  }
  for (const [path, answer] of Object.entries(answers)) await page.unroute(`**/app/jobs/*/${path}`, answer);
  await page.setViewportSize({ width: 1_440, height: 900 });
});

test("an address is found in all lists", async () => {
  const { page, go } = reader;
  await go("lists");
  await page.getByRole("link", { name: "Find an address" }).click();
  await page.getByLabel("Address or domain").fill("needle.in.hay@SANDBOX.test");
  await page.getByRole("button", { name: "Find" }).click();
  await heading(page, "1 row", 2);
  await page.reload();
  await heading(page, "1 row", 2);
  await page.getByRole("row", { name: "1,235" }).getByRole("link").click();
  await page.getByText("1 row found").waitFor();
});

test("settings show what they would change on the last list, and a list that is cancelled what came back", async () => {
  const { page, go } = reader;
  // The last list is the one that was watched.
  const { data } = await server.api("GET", "/jobs?status=completed");
  const { results } = await server.api("GET", `/jobs/${data[0].id}`);
  await go("settings");
  await heading(page, "Effect on the last list", 2);
  await page.getByRole("checkbox", { name: "No such mailbox" }).check();
  await page.getByText(`${results.reasons.nonexistent.toLocaleString("en-GB")} of 2,000 rows would have another verdict or reason.`).waitFor();

  // A server that waits for most of a minute: the list is not over before it is cancelled.
  const slow = Array.from({ length: 20 }, (_, n) => `more${n}+delay-50s@catchall.sandbox.test`);
  const { id } = await server.api("POST", "/batch-verify", { emails: slow });
  await go(`lists/${id}`);
  await page.getByRole("button", { name: "Stop verification" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(/credits? on hold/).waitFor();
  await dialog.getByRole("button", { name: "Stop verification" }).click();
  await page.getByText("Verification stopped. 20 credits released.").waitFor();
  await page.getByText("Canceled", { exact: true }).waitFor();
});

test("a session that is revoked while its stream is open is over on the page, too", async () => {
  const other = await newReader(browser, server);
  const { page } = other;
  await page.goto(server.origin);
  await page.getByLabel("Email address").fill(OWNER.email);
  await page.getByLabel("Password").fill(OWNER.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await heading(page, "Overview");
  // So long that it is not over before its stream is.
  const slow = Array.from({ length: 60_000 }, (_, n) => `slow${n}@sandbox.test`);
  const { id } = await server.api("POST", "/batch-verify", { emails: slow });
  await page.goto(`${server.origin}/#/lists/${id}`);
  await settled(page);
  await reader.go("account");
  await reader.page.getByRole("row").filter({ hasNotText: "this one" }).getByRole("button", { name: "Sign out" }).first().click();
  await heading(page, "Sign in");
  await other.context.close();
});
