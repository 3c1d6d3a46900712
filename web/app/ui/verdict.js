/** How verdicts, reasons and states of lists look everywhere. */
import { html } from "../../vendor/lib.js";
import { says, t } from "../text.js";
import { Glyph } from "./icon.js";

/** A glyph and the word. @param {{ of: string }} props one of passed, undeliverable, risky, unknown, pending */
export function Verdict({ of }) {
  return html`<span class=${`verdict-word ${of}`}><${Glyph} of=${of} />${word("status", of)}</span>`;
}

const REASONS = {
  passed: ["valid"],
  risky: ["spam", "complained", "bounced", "blacklisted", "disposable", "banned_words", "role_based", "available"],
  unknown: ["accept_all", "failed_exchange", "unverified"],
  undeliverable: ["invalid", "illegitimate", "nonexistent", "deactivated", "inbox_full"],
};

/** The verdict of each reason. @type {Record<string, string>} */
export const STATUS_OF = Object.fromEntries(Object.entries(REASONS).flatMap(([status, reasons]) => reasons.map((name) => [name, status])));

/** The checks that a reason may be ignored by, or acted upon, by their names in the API; those of each preset come first. */
export const CHECKS = [
  "nonexistent", "deactivated", "bounced", "complainers", "inbox_full", "spam", "disposable", "banned_words", "role_based", "accept_all",
  "failed_exchange", "unverified",
];

/** The reason that a check is for: all but one have its name. @param {string} check */
export const reasonOf = (check) => (check === "complainers" ? "complained" : check);

/** @type {Record<string, string>} */
const KINDS = { completed: "good", active: "good", processing: "warn", queued: "", cancelled: "bad", disabled: "bad" };

/** The state of a job, a person, a webhook. @param {{ of: string }} props */
export function State({ of }) {
  return html`<span class=${`badge ${KINDS[of] ?? ""}`}>${word("state", of)}</span>`;
}

/** @param {string} name */
export const reason = (name) => word("reason", name);

/**
 * A word of the API in the reader's language; one that is newer than this page stands for itself.
 * @param {string} group what the word is of, such as `reason`
 * @param {string} name
 */
export function word(group, name) {
  const text = `${group}.${name}`;
  return says(text) ? t(text) : name;
}

/** @param {boolean | null | undefined} value */
export const yes = (value) => (value === null || value === undefined ? "–" : value ? t("yes") : t("no"));
