/** A time as how long ago it was, with the exact one to be seen when pointed at. */
import { html } from "../../vendor/lib.js";
import { ago, time } from "../format.js";
import { t } from "../text.js";

/** @param {{ at: string | null | undefined, kind?: string }} props */
export function Ago({ at, kind }) {
  if (!at) return html`<span class=${kind}>${t("time.never")}</span>`;
  return html`<time class=${kind} datetime=${at} title=${time(at)}>${ago(at)}</time>`;
}
