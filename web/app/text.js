/**
 * What the dashboard says, in the reader's language.
 *
 * The texts stand in `messages/`, one module a language, fetched when it is needed. A text is a string with `{names}`, or one
 * for each plural form of the language (`{ one: "{n} row", other: "{n} rows" }`, chosen by `n`). A language's module has the
 * same names as the English one; a test compares them.
 */
import { signal } from "../vendor/lib.js";

const LANGUAGES = {
  en: () => import("../messages/en.js"),
  de: () => import("../messages/de.js"),
  fr: () => import("../messages/fr.js"),
  es: () => import("../messages/es.js"),
};

/** The languages by the names that their speakers give them. */
export const NAMES = { en: "English", de: "Deutsch", fr: "Français", es: "Español" };

const KEPT = "probity.language";

/** @typedef {string | Record<string, string>} Message */

const spoken = signal({ language: "en", messages: /** @type {Record<string, Message>} */ ({}) });

/** What the reader is written to in, wherever they chose it: a browser in which they chose none speaks it too. */
let adopted = /** @type {string | undefined} */ (undefined);

/** The language that the reader chose here, or elsewhere, or the first of the browser's that there is. `undefined`: there is none. */
export function wanted() {
  const tags = [localStorage.getItem(KEPT), adopted, ...navigator.languages].filter(Boolean);
  return tags.map((tag) => String(tag).slice(0, 2).toLowerCase()).find((tag) => tag in LANGUAGES);
}

/** The language of the pages. */
export const language = () => wanted() ?? "en";

/** Counts what was to be spoken: of two languages whose texts are fetched at a time, the later is. */
let asked = 0;

/** @param {string} tag one of {@link NAMES} */
export async function speak(tag) {
  const mine = ++asked;
  const messages = (await LANGUAGES[tag]()).default;
  if (mine !== asked) return;
  spoken.value = { language: tag, messages };
  document.documentElement.lang = tag;
}

/** Takes over what the server knows of the reader's language. @param {string | null} tag */
export function adopt(tag) {
  const before = language();
  adopted = tag ?? undefined;
  // Where its texts cannot be had, the page stays as it is.
  if (language() !== before) speak(language()).catch(() => {});
}

/** @param {string} tag */
export async function choose(tag) {
  localStorage.setItem(KEPT, tag);
  await speak(tag);
}

/** The language that is spoken, for dates and numbers. The browser's variant of it where it has one (`en-GB`). */
export function locale() {
  const tag = spoken.value.language;
  return navigator.languages.find((wanted) => wanted.toLowerCase().startsWith(tag)) ?? tag;
}

/**
 * A text by its name, its `{names}` filled in. Numbers are written as the language does.
 * @param {string} name
 * @param {Record<string, unknown>} [values]
 */
export function t(name, values = {}) {
  const { language: tag, messages } = spoken.value;
  const message = messages[name];
  if (message === undefined) return name;
  const form = typeof message === "string" ? message : plural(message, tag, Number(values.n));
  return form.replace(/\{(\w+)\}/g, (whole, key) => (key in values ? written(values[key]) : whole));
}

/**
 * A text whose `{names}` are parts of a page, such as links; `undefined` where one of them is not given.
 * @param {string} name
 * @param {Record<string, unknown>} parts
 * @returns {unknown[] | undefined}
 */
export function woven(name, parts) {
  const message = spoken.value.messages[name];
  if (typeof message !== "string") return undefined;
  const pieces = message.split(/\{(\w+)\}/);
  const whole = pieces.map((piece, n) => (n % 2 === 1 ? parts[piece] : piece));
  return whole.includes(undefined) ? undefined : whole;
}

function plural(message, tag, n) {
  return message[new Intl.PluralRules(tag).select(n)] ?? message.other;
}

function written(value) {
  return typeof value === "number" ? value.toLocaleString(locale()) : String(value);
}

/** Whether there is a text of this name: for words of the API that may be newer than this page. */
export const says = (name) => name in spoken.value.messages;
