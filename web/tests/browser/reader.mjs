/**
 * Somebody with a browser, who watches: every page of theirs is checked for what must never happen.
 *
 * Those are errors in the console (a violation of the page's policy is one), exceptions, dialogs that scripts open, and requests
 * to another origin.
 */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const SCREENS = fileURLToPath(new URL("../../../target/screens/", import.meta.url));
export const OWNER = { email: "owner@example.com", name: "Ada Lovelace", password: "twelve wise words are enough" };
export const WIDTHS = [360, 1440];
export const SCHEMES = /** @type {const} */ (["light", "dark"]);

mkdirSync(SCREENS, { recursive: true });

/** Debian's, without its own sandbox, which needs rights that containers do not give. */
export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

/**
 * @param {import("playwright-core").Browser} browser
 * @param {import("./server.mjs").Server} server
 * @param {import("playwright-core").BrowserContextOptions} [options]
 */
export async function newReader(browser, server, options = {}) {
  const context = await browser.newContext({ locale: "en-GB", timezoneId: "UTC", viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  /** @type {string[]} */
  const wrong = [];
  watch(page, server.origin, wrong);
  return {
    page,
    context,
    /** Goes to a place, and waits until all of it is there. */
    async go(place) {
      // A place that differs only behind the `#`, or not at all, would keep the page.
      await page.goto("about:blank");
      await page.goto(`${server.origin}/#/${place}`);
      await settled(page);
    },
    /** That nothing of what must never happen has happened. */
    nothingWrong: () => assert.deepEqual(wrong, []),
  };
}

function watch(page, origin, wrong) {
  page.on("console", (message) => {
    // That the server refuses something is told by the page; the browser writes it down as well.
    const refused = message.text().startsWith("Failed to load resource") && message.location().url.startsWith(`${origin}/app/`);
    if (["error", "warning"].includes(message.type()) && !refused) wrong.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => wrong.push(`exception: ${error.message}`));
  page.on("dialog", (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && !["data:", "blob:"].includes(url.protocol)) wrong.push(`request: ${url}`);
  });
}

/** Until the screen's module has come, and what it fetches. */
export async function settled(page) {
  await page.locator("main").waitFor();
  await page.waitForFunction(() => !document.querySelector(".skeleton, [aria-busy=true]"));
}

/** Until a heading is there. */
export const heading = (page, name, level = 1) => page.getByRole("heading", { name, level }).waitFor();

/** Uses the owner's link and signs in with it. */
export async function becomeOwner(reader, server) {
  const { page } = reader;
  await page.goto(server.link);
  await page.getByLabel("Email address").fill(OWNER.email);
  await page.getByLabel("Your name").fill(OWNER.name);
  await page.getByLabel("Password", { exact: true }).fill(OWNER.password);
  await page.getByRole("button", { name: "Save and sign in" }).click();
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  await settled(page);
}
