/**
 * Browser users whose pages are monitored for forbidden events.
 *
 * These are console errors (including policy violations), exceptions, script dialogs, and requests to other origins.
 */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { chromium, firefox } from "playwright-core";
import { slow } from "./slowed.mjs";

export const SCREENS = fileURLToPath(new URL("../../../target/screens/", import.meta.url));
export const OWNER = { email: "owner@example.com", name: "Ada Lovelace", password: "twelve wise words are enough" };
/** Names that some steps enter. */
export const sample = { file: "people.csv", column: "Name", list: "Customers" };
export const WIDTHS = [360, 1440];
export const SCHEMES = /** @type {const} */ (["light", "dark"]);

mkdirSync(SCREENS, { recursive: true });

/** Debian's Chromium, without its sandbox, which needs privileges that containers lack. */
const launchChromium = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

/** Debian's Firefox over WebDriver BiDi: Playwright's own build is a different browser. */
const launchFirefox = () => firefox.launch({
  channel: "moz-firefox",
  executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
  // The downloads panel would open over the page and capture keys.
  firefoxUserPrefs: { "browser.download.alwaysOpenPanel": false },
});

export const isFirefox = process.env.BROWSER === "firefox";
export const launch = () => (isFirefox ? launchFirefox() : launchChromium());

/** Reason to skip a test: WebDriver BiDi, which drives Firefox, lacks a feature. @param {string} thing */
export const notByBiDi = (thing) => isFirefox && `Firefox is not given ${thing} by tests`;

/** Page timeout; generous, because the machine may be busy. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 50;

/** All readers, in order of creation. @type {Awaited<ReturnType<typeof newReader>>[]} */
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
    /**
     * Restarts with browser storage only.
     * @param {import("playwright-core").BrowserContextOptions["storageState"]} storageState
     */
    async again(storageState) {
      const before = reader.context;
      Object.assign(reader, await open(storageState));
      // Firefox would exit with its last window.
      await before.close();
    },
    /** Navigates and waits until the page is complete. */
    async go(place) {
      // A location that differs only after `#`, or not at all, would keep the page.
      await reader.page.goto("about:blank");
      await reader.page.goto(`${server.origin}/#/${place}`);
      await settled(reader.page);
    },
    /** Asserts that no forbidden event has occurred since the last call. @param {RegExp} [except] messages to ignore */
    nothingWrong: (except) => assert.deepEqual(wrong.splice(0).filter((one) => !except?.test(one)), []),
  };
  readers.push(reader);
  return reader;
}

function watch(page, origin, wrong) {
  page.on("console", (message) => {
    // The page reports error responses; the browser logs them as well.
    const refused = message.text().startsWith("Failed to load resource") && message.location().url.startsWith(`${origin}/app/`);
    if (["error", "warning"].includes(message.type()) && !refused) wrong.push(`console: ${message.text()}`);
  });
  page.on("pageerror", ({ message }) => {
    // Firefox logs every event stream that was rejected or closed with its page.
    if (!(isFirefox && /connection to .*\/app\//.test(message))) wrong.push(`exception: ${message}`);
  });
  page.on("dialog", (dialog) => {
    // Of pages with unsaved edits, which tests leave.
    if (dialog.type() === "beforeunload") return dialog.accept();
    wrong.push(`dialog: ${dialog.message()}`);
    return dialog.dismiss();
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && !["data:", "blob:"].includes(url.protocol)) wrong.push(`request: ${url}`);
  });
}

/** Takes a screenshot, in Chromium only: Playwright injects a style, which the content security policy forbids in Firefox. */
export async function picture(page, name, options = {}) {
  if (!isFirefox) await page.screenshot({ path: `${SCREENS}${name}.png`, ...options });
}

/** Waits for the screen's module and its requests. */
export async function settled(page) {
  await page.locator("main").waitFor();
  await page.waitForFunction(() => !document.querySelector(".skeleton, [aria-busy=true]"));
}

/**
 * Waits until a value read from the page matches; after a timeout, reports the difference. Use it for anything that may follow a
 * click with delay.
 * @param {() => Promise<unknown> | unknown} read
 * @param {unknown} expected value, or a pattern to match
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
 * Replaces a field's value. With WebDriver BiDi, Firefox appends to email and number fields.
 * @param {import("playwright-core").Locator} field @param {string} value
 */
export async function put(field, value) {
  if (isFirefox) await field.fill("");
  await field.fill(value);
}

/** Waits for a heading. */
export const heading = (page, name, level = 1) => page.getByRole("heading", { name, level }).waitFor();

/** Waits for the focus: a page may move it after it shows the element. */
export const focused = async (locator) => locator.page().waitForFunction((element) => element === document.activeElement, await locator.elementHandle());

/** Opens the download menu and chooses a format; returns the download link. */
export async function downloadAs(page, format) {
  await page.getByRole("button", { name: /^Download( [\d,]+ rows?)?$/ }).click();
  await page.getByRole("button", { name: format, exact: true }).click();
  return page.getByRole("link", { name: new RegExp(`^Download .*${format}$`) });
}

/** Chooses an action from the menu of a list. */
export async function act(page, name) {
  await page.getByRole("button", { name: "More", exact: true }).click();
  await page.getByRole("button", { name, exact: true }).click();
}

/** Opens the user menu and returns it. */
export async function readersMenu(page) {
  await page.locator(".who > .menu > button").click();
  return page.locator(".who .pop");
}

/** Signs out through the user menu. */
export const signOut = async (page) => (await readersMenu(page)).getByRole("button", { name: "Sign out" }).click();

/** Follows the owner's link and signs in. */
export async function becomeOwner({ page }, server) {
  await page.goto(server.link);
  await page.getByLabel("Email address").fill(OWNER.email);
  await page.getByLabel("Your name").fill(OWNER.name);
  await page.getByLabel("Live mode").check();
  await choosePassword(page);
}

/** Restores the owner's password, two-factor state and session after a test. */
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
