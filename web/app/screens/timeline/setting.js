/** A setting of an event by its name, and its values before and after, in the reader's words. */
import { html } from "../../../vendor/lib.js";
import { number } from "../../format.js";
import { says, t } from "../../text.js";
import { reason, reasonOf, word } from "../../ui.js";

/** Entries of two lists that are shown whole. */
const FEW = 20;

/** What the words of a setting are called. @type {Record<string, (word: string) => string>} */
const WORDS = {
  "organization.ignored_reasons": (name) => reason(reasonOf(name)),
  "organization.ignored_statuses": (name) => word("status", name),
  "connection.checks": (name) => reason(reasonOf(name)),
  "connection.action": (name) => word("action", name),
  "connection.aggressiveness": (name) => word("strict", name),
};

/** @param {string} setting */
export function settingName(setting) {
  const name = setting.replaceAll(".", "_");
  return says(`setting.${name}`) ? t(`setting.${name}`) : html`<code>${setting}</code>`;
}

/** @param {{ of: any }} props the event; nothing where the values are not kept */
export function SettingValues({ of: { setting, before, after } }) {
  const [was, is] = apart(before, after).map((value) => shown(setting, value));
  return was !== is && html`<p class="small change"><span class="hidden-text">${t("did.before")} </span><span class="was">${was}</span>${" "}
    <span aria-hidden="true">→ </span><span class="hidden-text">${t("did.after")} </span><span>${is}</span></p>`;
}

/** Of lists that are long, what one has and the other has not; all else as it is. */
function apart(before, after) {
  if (before?.removed || after?.added) return [before?.removed ?? before, after?.added ?? after];
  if (!Array.isArray(before) || !Array.isArray(after) || before.length + after.length <= FEW) return [before, after];
  return [before.filter((one) => !after.includes(one)), after.filter((one) => !before.includes(one))];
}

/** @param {string} setting @param {unknown} value @returns {string} */
function shown(setting, value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? t("yes") : t("no");
  if (typeof value === "number") return number(value);
  if (Array.isArray(value)) return value.map((one) => shown(setting, one)).join(", ") || "–";
  return (WORDS[setting] ?? String)(String(value));
}
