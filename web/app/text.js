/**
 * Texts of the dashboard, in the user's language.
 *
 * Each language is a module in `messages/`, loaded on demand. A text is a string with `{names}`, or an object with one string per
 * plural form of the language (`{ one: "{n} row", other: "{n} rows" }`, selected by `n`). A test checks that every language has
 * the names of the English module.
 */
import { signal } from "../vendor/lib.js";

const LANGUAGES = {
  en: () => import("../messages/en.js"),
  de: () => import("../messages/de.js"),
  fr: () => import("../messages/fr.js"),
  es: () => import("../messages/es.js"),
};

/** Language names, each in its own language. */
export const NAMES = { en: "English", de: "Deutsch", fr: "Français", es: "Español" };

const KEPT = "probity.language";

/** @typedef {string | Record<string, string>} Message */

const spoken = signal({ language: "en", messages: /** @type {Record<string, Message>} */ ({}) });

/** Account language; used in browsers where the user has not chosen one. */
let adopted = /** @type {string | undefined} */ (undefined);

/** Language chosen in this browser, the account language, or the first supported browser language; `undefined` if none. */
export function wanted() {
  const tags = [localStorage.getItem(KEPT), adopted, ...navigator.languages].filter(Boolean);
  return tags.map((tag) => String(tag).slice(0, 2).toLowerCase()).find((tag) => tag in LANGUAGES);
}

/** Language of the pages. */
export const language = () => wanted() ?? "en";

/** Counter of language switches: of two parallel loads, the later one applies. */
let asked = 0;

/** @param {string} tag one of {@link NAMES} */
export async function speak(tag) {
  const mine = ++asked;
  const messages = (await LANGUAGES[tag]()).default;
  if (mine !== asked) return;
  spoken.value = { language: tag, messages };
  document.documentElement.lang = tag;
}

/** Applies the account language from the server. @param {string | null} tag */
export function adopt(tag) {
  const before = language();
  adopted = tag ?? undefined;
  // If its texts cannot be loaded, the page stays unchanged.
  if (language() !== before) speak(language()).catch(() => {});
}

/** @param {string} tag */
export async function choose(tag) {
  localStorage.setItem(KEPT, tag);
  await speak(tag);
}

/** Locale for dates and numbers: the browser's variant of the language, if it has one (`en-GB`). */
export function locale() {
  const tag = spoken.value.language;
  return navigator.languages.find((wanted) => wanted.toLowerCase().startsWith(tag)) ?? tag;
}

/**
 * Text with its `{names}` replaced; numbers are formatted for the locale.
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
 * Text with page elements, such as links, in place of its `{names}`; `undefined` if one is missing.
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

/** True if a text exists. API values may be newer than this page. */
export const says = (name) => name in spoken.value.messages;
