/** The last 20 verdicts, available without another request. */
import { html } from "../../../vendor/lib.js";
import { t } from "../../text.js";
import { Ago, Glyph, word } from "../../ui.js";
import { forgetPast, past } from "./question.js";

/** @param {{ open: (of: import("./question.js").Answered) => void, current?: string }} props */
export function Past({ open, current }) {
  const all = past();
  if (all.length === 0) return null;
  return html`<section class="card bare" aria-labelledby="past-title">
    <header><h2 id="past-title">${t("past.title")}</h2>
      <button type="button" class="button plain slim" onClick=${forgetPast}>${t("past.clear")}</button></header>
    <ul class="past">${all.map((of) => html`<li key=${of.email}>
      <button type="button" aria-current=${of.email === current ? "true" : undefined} onClick=${() => open(of)}>
        <span><${Glyph} of=${of.verdict.status} /><span class="hidden-text">${word("status", of.verdict.status)} </span></span><span class="cut">${of.email}</span>
        <${Ago} kind="tiny quiet" at=${of.at} /></button></li>`)}</ul>
    <p class="quiet small foot">${t("past.text")}</p>
  </section>`;
}
