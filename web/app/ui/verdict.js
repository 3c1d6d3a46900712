/** How verdicts, reasons and states of lists look everywhere. */
import { html } from "../../vendor/lib.js";
import { says, t } from "../text.js";

/** @param {{ of: string }} props one of passed, undeliverable, risky, unknown */
export function Status({ of }) {
  return html`<span class=${`badge ${of}`}>${word("status", of)}</span>`;
}

const KINDS = { completed: "good", active: "good", processing: "warn", queued: "", cancelled: "bad", disabled: "bad" };

/** The state of a job, a person, a webhook. */
export function State({ of }) {
  return html`<span class=${`badge ${KINDS[of] ?? ""}`}>${word("state", of)}</span>`;
}

export const reason = (name) => word("reason", name);

/** A word of the API in the reader's language; one that is newer than this page stands for itself. */
function word(group, name) {
  const text = `${group}.${name}`;
  return says(text) ? t(text) : name;
}
