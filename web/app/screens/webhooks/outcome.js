/** Outcome of a delivery and of its attempts. */
import { html } from "../../../vendor/lib.js";
import { t } from "../../text.js";
import { word } from "../../ui.js";

const KINDS = { waiting: "warn", delivered: "good", exhausted: "bad", cancelled: "" };

/** @param {{ of: string }} props */
export function DeliveryState({ of }) {
  return html`<span class=${`badge ${KINDS[of] ?? ""}`}>${word("delivery", of)}</span>`;
}

/** @param {{ status: number | null }} attempt */
export const isAccepted = ({ status }) => status !== null && status >= 200 && status < 300;

/** API error if no request could be created: `PUBLIC_UNMADE` in `crates/contract/src/published/webhooks/failure.rs`. */
const UNMADE = "the message could not be created";

/** @param {{ status: number | null }} attempt */
export const isRedirect = ({ status }) => status !== null && status >= 300 && status < 400;

/** @typedef {{ status: number | null, error: string | null }} Attempt */

/** @param {Attempt} attempt */
function kindOf({ status, error }) {
  if (status === null) return error === UNMADE ? "unmade" : "unreached";
  if (status === 410) return "gone";
  if (status === 429) return "busy";
  return ["accepted", "redirect", "refused", "broken"][Math.floor(status / 100) - 2] ?? "odd";
}

/** Refusals whose cause is likely the same everywhere. @type {Record<number, string>} */
const REFUSED = { 401: "denied", 403: "denied", 404: "missing", 405: "missing" };

/** Outcome of an attempt. @param {Attempt} attempt */
export const came = (attempt) => t(`came.${kindOf(attempt)}`, { status: String(attempt.status) });

/** What is wrong after a failed attempt, and what to do. @param {Attempt} attempt */
export function wrong(attempt) {
  const kind = REFUSED[attempt.status ?? 0] ?? kindOf(attempt);
  return t(`wrong.${kind}`);
}
