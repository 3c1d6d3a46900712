/** Relative time, with the exact time on hover. */
import { html, signal } from "../../vendor/lib.js";
import { ago, time } from "../format.js";
import { t } from "../text.js";

/** Changes once a minute, so that relative times are redrawn. */
const minute = signal(0);
setInterval(() => { minute.value += 1; }, 60_000);

/** @param {{ at: string | null | undefined, kind?: string }} props */
export function Ago({ at, kind }) {
  void minute.value;
  if (!at) return html`<span class=${kind}>${t("time.never")}</span>`;
  return html`<time class=${kind} datetime=${at} title=${time(at)}>${ago(at)}</time>`;
}
