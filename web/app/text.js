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

/** The language that the reader chose, or the first of the browser's that there is. */
export function language() {
  const wanted = [localStorage.getItem(KEPT), ...navigator.languages].filter(Boolean);
  return wanted.map((tag) => String(tag).slice(0, 2).toLowerCase()).find((tag) => tag in LANGUAGES) ?? "en";
}

/** @param {string} tag one of {@link NAMES} */
export async function speak(tag) {
  spoken.value = { language: tag, messages: (await LANGUAGES[tag]()).default };
  document.documentElement.lang = tag;
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

function plural(message, tag, n) {
  return message[new Intl.PluralRules(tag).select(n)] ?? message.other;
}

function written(value) {
  return typeof value === "number" ? value.toLocaleString(locale()) : String(value);
}

/** Whether there is a text of this name: for words of the API that may be newer than this page. */
export const says = (name) => name in spoken.value.messages;
