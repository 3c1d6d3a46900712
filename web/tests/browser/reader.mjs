/**
 * Somebody with a browser, who watches: every page of theirs is checked for what must never happen.
 *
 * Those are errors in the console (a violation of the page's policy is one), exceptions, dialogs that scripts open, and requests
 * to another origin.
 */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { chromium, firefox } from "playwright-core";
import { slow } from "./slowed.mjs";

export const SCREENS = fileURLToPath(new URL("../../../target/screens/", import.meta.url));
export const OWNER = { email: "owner@example.com", name: "Ada Lovelace", password: "twelve wise words are enough" };
export const WIDTHS = [360, 1440];
export const SCHEMES = /** @type {const} */ (["light", "dark"]);

mkdirSync(SCREENS, { recursive: true });

/** Debian's, without its own sandbox, which needs rights that containers do not give. */
const launchChromium = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

/** As Debian has it, over WebDriver BiDi: Playwright's own build of Firefox is another browser. */
const launchFirefox = () => firefox.launch({
  channel: "moz-firefox",
  executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
  // The list of downloads would open over the page, and take its keys.
  firefoxUserPrefs: { "browser.download.alwaysOpenPanel": false },
});

export const isFirefox = process.env.BROWSER === "firefox";
export const launch = () => (isFirefox ? launchFirefox() : launchChromium());

/** Why a test is left out: WebDriver BiDi, by which Firefox is driven, has no such thing. @param {string} thing */
export const notByBiDi = (thing) => isFirefox && `Firefox is not given ${thing} by tests`;

/** How long a page may take: a machine that is busy with other things is no fault of it. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 50;

/** All that were made, in their order. @type {Awaited<ReturnType<typeof newReader>>[]} */
export const readers = [];

/**
 * @param {import("playwright-core").Browser} browser
 * @param {import("./server.mjs").Server} server
 * @param {import("playwright-core").BrowserContextOptions} [options]
 */
export async function newReader(browser, server, options = {}) {
  /** @type {string[]} */
  const wrong = [];
  /** @param {import("playwright-core").BrowserContextOptions["storageState"]} storageState */
  const open = async (storageState) => {
    wrong.length = 0;
    const context = await browser.newContext({ locale: "en-GB", timezoneId: "UTC", viewport: { width: 1440, height: 900 }, ...options, storageState });
    await slow(context);
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    watch(page, server.origin, wrong);
    return { context, page };
  };
  const reader = {
    ...await open(options.storageState),
    /** Starts over, with nothing but what a browser keeps. @param {import("playwright-core").BrowserContextOptions["storageState"]} storageState */
    async again(storageState) {
      const before = reader.context;
      Object.assign(reader, await open(storageState));
      // Firefox would end with its last window.
      await before.close();
    },
    /** Goes to a place, and waits until all of it is there. */
    async go(place) {
      // A place that differs only behind the `#`, or not at all, would keep the page.
      await reader.page.goto("about:blank");
      await reader.page.goto(`${server.origin}/#/${place}`);
      await settled(reader.page);
    },
    /** That nothing of what must never happen has happened since this was last asked. */
    nothingWrong: () => assert.deepEqual(wrong.splice(0), []),
  };
  readers.push(reader);
  return reader;
}

function watch(page, origin, wrong) {
  page.on("console", (message) => {
    // That the server refuses something is told by the page; the browser writes it down as well.
    const refused = message.text().startsWith("Failed to load resource") && message.location().url.startsWith(`${origin}/app/`);
    if (["error", "warning"].includes(message.type()) && !refused) wrong.push(`console: ${message.text()}`);
  });
  page.on("pageerror", ({ message }) => {
    // Firefox says so of each stream of events that was refused, or ended with its page.
    if (!(isFirefox && /connection to .*\/app\//.test(message))) wrong.push(`exception: ${message}`);
  });
  page.on("dialog", (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && !["data:", "blob:"].includes(url.protocol)) wrong.push(`request: ${url}`);
  });
}

/** Takes a picture of the page, in Chromium: to take one, Playwright puts a style into the page, which its policy forbids in Firefox. */
export async function picture(page, name, options = {}) {
  if (!isFirefox) await page.screenshot({ path: `${SCREENS}${name}.png`, ...options });
}

/** Until the screen's module has come, and what it fetches. */
export async function settled(page) {
  await page.locator("main").waitFor();
  await page.waitForFunction(() => !document.querySelector(".skeleton, [aria-busy=true]"));
}

/**
 * Until what is read of a page is as expected; after long enough, tells the difference. Whatever comes later than the click before
 * it is asserted so.
 *
 * @param {() => Promise<unknown> | unknown} read
 * @param {unknown} expected or a pattern that it matches
 * @param {string} [message]
 */
export async function becomes(read, expected, message) {
  for (const end = Date.now() + PATIENCE_MS; ; await pause(LOOK_MS)) {
    const found = await read();
    try {
      if (!(expected instanceof RegExp)) return assert.deepEqual(found, expected, message);
      return assert.match(String(found), expected, message);
    } catch (error) {
      if (Date.now() >= end) throw error;
    }
  }
}

/**
 * Fills in another value. Over WebDriver BiDi, Firefox would add it to the email or number that a field has.
 * @param {import("playwright-core").Locator} field @param {string} value
 */
export async function put(field, value) {
  if (isFirefox) await field.fill("");
  await field.fill(value);
}

/** Until a heading is there. */
export const heading = (page, name, level = 1) => page.getByRole("heading", { name, level }).waitFor();

/** Until the focus is on an element: a page may move it after it shows the element. */
export const focused = async (locator) => locator.page().waitForFunction((element) => element === document.activeElement, await locator.elementHandle());

/** Opens the menu of downloads and chooses a format; gives the link that takes the file. */
export async function downloadAs(page, format) {
  await page.getByRole("button", { name: "Download", exact: true }).click();
  await page.getByRole("button", { name: format, exact: true }).click();
  return page.getByRole("link", { name: `Download ${format}`, exact: true });
}

/** Chooses an act of the menu of a list. */
export async function act(page, name) {
  await page.getByRole("button", { name: "More", exact: true }).click();
  await page.getByRole("button", { name, exact: true }).click();
}

/** The menu of the reader, once it is open. */
export async function readersMenu(page) {
  await page.locator(".who > .menu > button").click();
  return page.locator(".who .pop");
}

/** Signs out by the menu of the reader. */
export const signOut = async (page) => (await readersMenu(page)).getByRole("button", { name: "Sign out" }).click();

/** Uses the owner's link and signs in with it. */
export async function becomeOwner({ page }, server) {
  await page.goto(server.link);
  await page.getByLabel("Email address").fill(OWNER.email);
  await page.getByLabel("Your name").fill(OWNER.name);
  await page.getByLabel("Live mode").check();
  await choosePassword(page);
}

/** Is the owner again, whatever a test has made of their password, second factor and session. */
export async function becomeOwnerAgain({ page }, server) {
  const { url } = await server.admin("users", "reset-link", OWNER.email, "--without-second-factor");
  await page.goto(new URL(new URL(url).hash, server.origin).href);
  await choosePassword(page);
}

async function choosePassword(page) {
  await page.getByLabel("Password", { exact: true }).fill(OWNER.password);
  await page.getByRole("button", { name: "Save and sign in" }).click();
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  await settled(page);
}
