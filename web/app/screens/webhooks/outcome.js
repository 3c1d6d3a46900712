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

/** Explanation of an attempt's outcome. @param {{ status: number | null, error: string | null }} attempt */
export function came({ status, error }) {
  if (status === null) return t(error === UNMADE ? "came.unmade" : "came.unreached");
  const kind = status === 410 ? "gone" : status === 429 ? "busy" : status < 200 ? "odd" : ["accepted", "redirect", "refused", "broken"][Math.floor(status / 100) - 2] ?? "odd";
  return t(`came.${kind}`, { status: String(status) });
}
