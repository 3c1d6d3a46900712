/** What is open is in the URL: filters, open rows, tabs and searches, with Back, Forward and reload; edits that would be lost. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { asOwner, reader, server } from "./owner.mjs";
import { becomes, downloadAs, heading } from "./reader.mjs";

const ROWS = 2_000;
let job;

asOwner(async () => {
  const emails = Array.from({ length: ROWS }, (_, n) => [`nonexistent@sandbox.test`, "info@sandbox.test", `inbox_full@sandbox.test`][n % 10] ?? `reader${n}@sandbox.test`);
  job = (await server.api("POST", "/batch-verify", { emails })).id;
  await server.finished(job);
});
afterEach(() => reader.nothingWrong());

const grid = () => reader.page.getByRole("grid", { name: "Results" });
const bar = () => reader.page.locator(".matches");
/** Part of the table's height that is in the window. */
const inSight = () => grid().evaluate((element) => {
  const { top, bottom, height } = element.getBoundingClientRect();
  return (Math.min(bottom, innerHeight) - Math.max(top, 0)) / height;
});
const rows = (count) => becomes(() => grid().getAttribute("aria-rowcount"), String(count + 1));

test("a click on a figure, a reason, a provider or a domain shows the rows, how many they are, and their download", async () => {
  const { page, go } = reader;
  await page.emulateMedia({ reducedMotion: "reduce" });
  for (const [button, chip] of [[/^Risky 200/, "Risky"], [/^No such mailbox 1,600/, "No such mailbox"], [/^Others 2,000/, "Others"], [/^sandbox\.test 2,000/, "sandbox.test"]]) {
    await go(`lists/${job}`);
    await page.locator(".tally, .meters").getByRole("button", { name: button }).first().click();
    await becomes(async () => await inSight() > 0.6, true, String(button));
    await bar().getByRole("button", { name: new RegExp(`^Remove the filter ${chip}`) }).waitFor();
    await becomes(() => bar().getByRole("status").innerText(), /^(200|1,600|2,000) rows$/);
    // The bar stays while the page is scrolled within the table.
    await page.mouse.move(700, 500);
    const { y } = await bar().boundingBox() ?? { y: -1 };
    assert.ok(y > 0 && y < 400, `${y}`);
  }
  // A reason at a provider is in no total: the server counts.
  await go(`lists/${job}?status=undeliverable&reason=nonexistent&provider=other`);
  await becomes(() => bar().getByRole("status").innerText(), "1,600 rows");
  await bar().getByRole("button", { name: "Download these" }).click();
  await page.getByRole("radio", { name: "The filtered rows 1,600" }).waitFor();
  await page.getByRole("link", { name: "Download 1,600 rows as CSV" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Download 1,600 rows" }).waitFor();
  const link = await downloadAs(page, "CSV");
  assert.match(await link.getAttribute("href") ?? "", /reason=nonexistent&provider=other/);
});

test("rows that are being counted are not given a number that is too small", async () => {
  const { page, go } = reader;
  let counted = () => {};
  const gate = new Promise((resolve) => { counted = () => resolve(undefined); });
  await page.route("**/rows/count?*", async (route) => {
    await gate;
    await route.fallback();
  });
  await go(`lists/${job}?q=reader`);
  await bar().getByText("Counting rows…").waitFor();
  await becomes(() => grid().getAttribute("aria-rowcount"), "-1");
  counted();
  await becomes(() => bar().getByRole("status").innerText(), "1,400 rows");
  await rows(1_400);
  await page.unrouteAll({ behavior: "wait" });
});

test("filters and open rows are steps for Back and Forward, and a reload keeps them", async () => {
  const { page, go } = reader;
  await go(`lists/${job}`);
  await page.getByRole("group", { name: "Verdict" }).getByRole("button", { name: /^Undeliverable/ }).click();
  await page.waitForURL(/status=undeliverable/);
  await page.getByRole("searchbox", { name: "Part of an address" }).pressSequentially("nonex");
  await page.waitForURL(/q=nonex/);
  await rows(200);
  await page.getByRole("row", { name: /^11 nonexistent@/ }).click();
  await page.waitForURL(/row=11/);
  const panel = page.getByRole("complementary", { name: "nonexistent@sandbox.test" });
  await panel.getByText("Row 11 of 2,000").waitFor();
  // Another row replaces it.
  await page.getByRole("row", { name: /^21 nonexistent@/ }).click();
  await panel.getByText("Row 21 of 2,000").waitFor();
  await page.waitForURL(/row=21/);
  await page.reload();
  await panel.getByText("Row 21 of 2,000").waitFor();
  await becomes(() => bar().getByRole("status").innerText(), "200 rows");
  await becomes(async () => await inSight() > 0.6, true);
  await page.goBack();
  await panel.waitFor({ state: "detached" });
  await rows(200);
  await page.goForward();
  await panel.getByText("Row 21 of 2,000").waitFor();
  await page.getByRole("button", { name: "Close" }).first().click();
  await panel.waitFor({ state: "detached" });
  await page.goBack();
  await page.waitForURL((url) => !url.hash.includes("q="));
  await becomes(() => page.getByRole("searchbox", { name: "Part of an address" }).inputValue(), "");
  await page.goBack();
  await rows(ROWS);
  assert.equal(await bar().count(), 0);
});

test("a link to a row far down opens it in sight", async () => {
  const { page, go } = reader;
  await go(`lists/${job}?row=1900`);
  await page.getByRole("complementary").getByText("Row 1,900 of 2,000").waitFor();
  await page.getByRole("row", { name: /^1,900 reader1899@/ }).waitFor();
});

test("unsaved edits ask before they are lost, by a link, by Back and by keys", async () => {
  const { page, go } = reader;
  await go("webhooks");
  await go("settings");
  await page.evaluate(() => { location.hash = "#/team"; });
  await heading(page, "Team");
  await page.evaluate(() => { location.hash = "#/lists/new"; });
  await heading(page, "Verify a list");
  const field = page.getByLabel("Addresses");
  await field.fill("half@sandbox.test");
  const dialog = page.getByRole("dialog", { name: "Discard unsaved changes?" });
  for (const leave of [() => page.getByRole("link", { name: "Usage" }).click(), () => page.goBack()]) {
    await leave();
    await dialog.waitFor();
    await dialog.getByRole("button", { name: "Keep editing" }).click();
    await dialog.waitFor({ state: "detached" });
    await becomes(() => field.inputValue(), "half@sandbox.test");
    assert.match(page.url(), /#\/lists\/new$/);
  }
  await page.getByRole("link", { name: "Usage" }).click();
  await dialog.getByRole("button", { name: "Discard changes" }).click();
  await heading(page, "Usage");
  // What is as it was does not ask.
  await page.evaluate(() => { location.hash = "#/lists/new"; });
  await field.fill("half@sandbox.test");
  await field.fill("");
  await page.getByRole("link", { name: "Usage" }).click();
  await heading(page, "Usage");
});

test("whoever comes back to a list is where they were", async () => {
  const { page, go } = reader;
  await go(`lists/${job}`);
  await grid().focus();
  for (let n = 0; n < 6; n += 1) await page.keyboard.press("PageDown");
  const first = () => grid().evaluate((element) => {
    const { top } = element.getBoundingClientRect();
    const shown = [...element.querySelectorAll(".virtual-body [role=row]")].filter((row) => row.getBoundingClientRect().top >= top);
    return Math.min(...shown.map((row) => Number(row.getAttribute("aria-rowindex"))));
  });
  await becomes(async () => await first() > 40, true);
  await page.waitForFunction(() => history.state?.first > 40);
  const before = await first();
  await page.getByRole("link", { name: "Usage" }).click();
  await heading(page, "Usage");
  await page.goBack();
  await becomes(async () => Math.abs(await first() - before) <= 2, true);
  await becomes(async () => await inSight() > 0.6, true);
});
