/** Changed setting with its old and new values, in the user's language. */
import { html } from "../../../vendor/lib.js";
import { number } from "../../format.js";
import { says, t } from "../../text.js";
import { reason, reasonOf, word } from "../../ui.js";

/** Maximum length of lists shown in full. */
const FEW = 20;

/** Text names for the values of a setting. @type {Record<string, (word: string) => string>} */
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

/** @param {{ of: any }} props event; renders nothing if it has no values */
export function SettingValues({ of: { setting, before, after } }) {
  const [was, is] = apart(before, after).map((value) => shown(setting, value));
  return was !== is && html`<p class="small change"><span class="hidden-text">${t("did.before")} </span><span class="was">${was}</span>${" "}
    <span aria-hidden="true">→ </span><span class="hidden-text">${t("did.after")} </span><span>${is}</span></p>`;
}

/** Differences of two long lists; other values unchanged. */
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
