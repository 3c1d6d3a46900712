/**
 * First-time walk from the owner's link to the first downloaded list, counted in clicks, with and without a network; and keyboard
 * navigation through all screens.
 *
 * `.ci/browser` runs it in Firefox as well as in Chromium (`BROWSER=firefox`).
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { OWNER, heading, launch, newReader, settled } from "./reader.mjs";
import { start } from "./server.mjs";

/** Includes the click on the link in the terminal. Fields are reached with Tab. */
const CLICKS_MAX = 9;
/** Machine without a responding name server. */
const MUTE = { sandbox: false, env: { PROBITY_DNS__NAMESERVERS: "127.0.0.1:9", PROBITY_DNS__TIMEOUT: "200ms" } };
/** Letter after `g`, and the heading of the screen. */
const PLACES = {
  o: "Overview", v: "Verify an address", l: "Lists", c: "Connections", a: "Timeline", u: "Usage", k: "API keys", i: "Widget", w: "Webhooks",
  m: "Team", s: "Settings", p: "Privacy", y: "Your account",
};

/** @type {import("./server.mjs").Server} */
let server;
/** @type {import("playwright-core").Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof newReader>>} */
let reader;

before(async () => {
  server = await start();
  browser = await launch();
  reader = await newReader(browser, server);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

test("from the link to the first list downloaded, it is at most nine clicks", async (context) => {
  await walk(context, reader, server);
});

test("without a network, it is as many", async (context) => {
  const mute = await start(MUTE);
  const other = await newReader(browser, mute);
  try {
    await walk(context, other, mute);
  } finally {
    await other.context.close();
    await mute.stop();
  }
});

/** Walks from the link to the first downloaded list, with no more than the README. */
async function walk(context, { page, nothingWrong }, { link }) {
  const begun = performance.now();
  await page.addInitScript(countClicks);
  await page.goto(link);
  let clicks = 1;
  await page.getByLabel("Email address").waitFor();
  await page.getByLabel("Email address").focus();
  await page.keyboard.type(OWNER.email);
  for (const text of [OWNER.name, OWNER.password]) {
    await page.keyboard.press("Tab");
    await page.keyboard.type(text);
  }
  await page.getByRole("button", { name: "Save and sign in" }).click();
  await heading(page, "Overview");
  await page.getByText("Test mode", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Upload the demo list" }).click();
  await page.getByRole("button", { name: /^Start verifying/ }).click();
  await page.waitForURL(/#\/lists\/job_/);
  await page.getByText("205 of 205 verified").waitFor();
  await page.getByText("GMX and WEB.DE", { exact: true }).first().waitFor();
  await page.getByRole("button", { name: "Download", exact: true }).click();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download 206 rows as CSV", exact: true }).click()]);
  clicks += await page.evaluate(() => globalThis.clicks);
  const text = await readFile(await file.path(), "utf8");
  assert.equal(text.trim().split("\n").length, 207);
  assert.match(text.split("\n")[0], /probity_status/);
  context.diagnostic(`${clicks} clicks, ${Math.round((performance.now() - begun) / 100) / 10} s without reading and thinking`);
  assert.ok(clicks <= CLICKS_MAX, `${clicks} clicks`);
  nothingWrong();
}

test("all screens are gone to by keyboard", async () => {
  const { page, go } = reader;
  await go("");
  for (const [letter, title] of Object.entries(PLACES)) {
    await page.keyboard.press("g");
    await page.keyboard.press(letter);
    await heading(page, title);
    await settled(page);
  }
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.type("timeline");
  await page.keyboard.press("Enter");
  await heading(page, "Timeline");
  // The documentation is a page of its own.
  await page.keyboard.press("g");
  await page.keyboard.press("d");
  await page.waitForURL("**/docs");
  reader.nothingWrong();
});

test("an address is verified by keyboard only", async () => {
  const { page, go } = reader;
  await go("verify");
  await page.getByLabel("Address", { exact: true }).focus();
  await page.keyboard.type("nonexistent@sandbox.test");
  await page.keyboard.press("Enter");
  await page.locator(".verdict-card").getByText("nonexistent@sandbox.test").waitFor();
  await page.locator(".verdict-card").getByText("Undeliverable").first().waitFor();
  reader.nothingWrong();
});

/** Runs in the page: counts pointer clicks by the user, not those by scripts. */
function countClicks() {
  globalThis.clicks = 0;
  addEventListener("click", ({ isTrusted, detail }) => { globalThis.clicks += Number(isTrusted && detail > 0); }, true);
}
