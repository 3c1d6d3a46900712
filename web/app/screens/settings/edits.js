/** Organization settings as form values. */
import { patch } from "../../api.js";
import { t } from "../../text.js";
import { toast, useEdits } from "../../ui.js";

export const WORDS = ["banned_words", "role_words"];
export const COUNTS = ["retention_days", "delivery_retention_days", "rate_limit_per_minute"];

/** @typedef {{ of: any, set: (of: any) => void }} Known settings, and what shows new ones */

const words = (text) => text.split(/[\n,]/).map((word) => word.trim()).filter(Boolean);

/** Form value; word lists and numbers are text. @param {string} name @param {any} value */
const shown = (name, value) => (WORDS.includes(name) ? value.join("\n") : COUNTS.includes(name) ? String(value ?? "") : value ?? "");

/** Converts form values to API values. @param {Record<string, any>} of */
export function wire(of) {
  const value = (name, text) => (name === "time_zone" ? text || null : COUNTS.includes(name) ? (text === "" ? null : Number(text)) : WORDS.includes(name) ? words(text) : text);
  return Object.fromEntries(Object.entries(of).map(([name, text]) => [name, value(name, text)]));
}

/**
 * Form of some settings. Sends only changed ones and shows the response: other users may have changed the rest since loading.
 * @param {Known} known @param {string[]} names @param {() => void} [saved]
 */
export function useSettings({ of, set }, names, saved = () => {}) {
  const form = useEdits(Object.fromEntries(names.map((name) => [name, shown(name, of[name])])));
  const save = async (changed) => {
    set(await patch("/organization/settings", changed));
    saved();
  };
  async function send() {
    const former = wire(form.former);
    await save(wire(form.changed));
    form.sent();
    toast(t("saved"), () => save(former));
  }
  return { form, send };
}
