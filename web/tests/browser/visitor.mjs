/**
 * Website visitors whose pages contain the widget.
 *
 * A server, a browser, the website, and another site that uses its key without permission exist from before the first test of a
 * file that calls `asVisitors` until after its last.
 */
import assert from "node:assert/strict";
import { after, afterEach, before } from "node:test";
import { launch } from "./reader.mjs";
import { start } from "./server.mjs";
import { startSite } from "./site.mjs";
import { slow } from "./slowed.mjs";

export const GOOD = "valid@sandbox.test";
export const BAD = "nonexistent@sandbox.test";
export const MISSPELT = "ada@gmial.com";
export const MEANT = "ada@gmail.com";
/** Delay between the last keystroke and the request, on most pages of the website. */
export const DELAY_MS = 100;

/** @type {import("./server.mjs").Server} */
export let server;
/** @type {import("playwright-core").Browser} */
export let browser;
/** Website that the key allows. @type {Awaited<ReturnType<typeof startSite>>} */
export let site;
/** Site that uses the key without permission. @type {Awaited<ReturnType<typeof startSite>>} */
export let stranger;

export function asVisitors() {
  before(async () => {
    server = await start();
    browser = await launch();
    [site, stranger] = await Promise.all([startSite(server.origin), startSite(server.origin)]);
    const made = await server.api("POST", "/api-keys", { name: "Shop", kind: "pub", allowed_origins: [site.origin], daily_cap: 500 });
    for (const each of [site, stranger]) each.key(made.secret);
  });
  afterEach(async (test) => {
    // A failed test leaves its visitors' windows open.
    if (/** @type {any} */ (test).passed === false) await Promise.all(browser.contexts().map((context) => context.close()));
  });
  after(async () => {
    await browser?.close();
    await Promise.all([site, stranger].map((each) => each?.stop()));
    await server?.stop();
  });
}

/** Opens a page as a visitor and monitors it. Page time only advances by `page.clock`, however slow the machine. */
export async function visit(path, { at = site.origin, options = {}, prepare = undefined } = {}) {
  const context = await browser.newContext({ locale: "en-GB", ...options });
  await slow(context);
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const wrong = [];
  const asked = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("dialog", (dialog) => (wrong.push(dialog.message()), dialog.dismiss()));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (![at, server.origin].includes(url.origin)) wrong.push(`request: ${url}`);
    if (url.pathname === "/v1/widget/verify") asked.push(url.searchParams.get("email"));
  });
  await prepare?.(page);
  await page.clock.install({ time: 0 });
  await page.goto(at + path);
  await page.waitForFunction(() => globalThis.probity?.attach);
  await page.clock.pauseAt(3_600_000);
  const field = page.getByRole("textbox").first();
  return {
    page, context, field, asked, wrong,
    note: page.locator("probity-note div").first(),
    /** Types, then pauses. */
    async type(text) {
      await field.fill("");
      await field.pressSequentially(text);
      await page.clock.runFor(DELAY_MS);
    },
    async end() {
      assert.deepEqual(wrong, []);
      await context.close();
    },
  };
}

/** Waits until a note shows a text. */
export const says = (note, text) => note.filter({ hasText: text }).waitFor();
