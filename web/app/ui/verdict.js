/** Display of verdicts, reasons and list states. */
import { html } from "../../vendor/lib.js";
import { testing } from "../mode.js";
import { says, t } from "../text.js";
import { Glyph, Icon } from "./icon.js";

/** Verdict with its glyph. @param {{ of: string }} props passed, undeliverable, risky, unknown or pending */
export function Verdict({ of }) {
  return html`<span class=${`verdict-word ${of}`}><${Glyph} of=${of} />${word("status", of)}</span>`;
}

/** True for sandbox addresses, which work in live mode too. @param {string} email */
export const isSample = (email) => /@([a-z0-9-]+\.)*sandbox\.test\.?$/i.test(email);

/** Mark of a verdict that no mail server gave. @param {{ of: { email: string, evidence?: { source: string } } }} props */
export function Sandboxed({ of: { email, evidence } }) {
  if (!testing.value && !isSample(email) && evidence?.source !== "sandbox") return null;
  return html`<span class="chip test"><${Icon} name="flask" />${t("verify.sandboxed")}</span>`;
}

const REASONS = {
  passed: ["valid"],
  risky: ["spam", "complained", "bounced", "blacklisted", "disposable", "banned_words", "role_based", "available"],
  unknown: ["accept_all", "failed_exchange", "unverified"],
  undeliverable: ["invalid", "illegitimate", "nonexistent", "deactivated", "inbox_full"],
};

/** Verdict by reason. @type {Record<string, string>} */
export const STATUS_OF = Object.fromEntries(Object.entries(REASONS).flatMap(([status, reasons]) => reasons.map((name) => [name, status])));

/** Checks that can ignore a reason or act on it, by API name; those of each preset come first. */
export const CHECKS = [
  "nonexistent", "deactivated", "bounced", "complainers", "inbox_full", "spam", "disposable", "banned_words", "role_based", "accept_all",
  "failed_exchange", "unverified",
];

/** Reason of a check; all but one share their name. @param {string} check */
export const reasonOf = (check) => (check === "complainers" ? "complained" : check);

/** @type {Record<string, string>} */
const KINDS = { completed: "good", active: "good", processing: "warn", queued: "", cancelled: "bad", disabled: "bad" };

/** State of a job, team member or webhook. @param {{ of: string }} props */
export function State({ of }) {
  return html`<span class=${`badge ${KINDS[of] ?? ""}`}>${word("state", of)}</span>`;
}

/** @param {string} name */
export const reason = (name) => word("reason", name);

/**
 * API value in the user's language; a value newer than this page is shown unchanged.
 * @param {string} group group of the value, such as `reason`
 * @param {string} name
 */
export function word(group, name) {
  const text = `${group}.${name}`;
  return says(text) ? t(text) : name;
}

/** @param {boolean | null | undefined} value */
export const yes = (value) => (value === null || value === undefined ? "–" : value ? t("yes") : t("no"));
