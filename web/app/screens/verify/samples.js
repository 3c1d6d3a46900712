/** Sandbox addresses to try, one per kind of verdict. */
import { html } from "../../../vendor/lib.js";
import { t } from "../../text.js";
import { Glyph } from "../../ui.js";

/** @type {[verdict: string, email: string][]} */
const SAMPLES = [
  ["passed", "valid@sandbox.test"],
  ["undeliverable", "nonexistent@sandbox.test"],
  ["undeliverable", "inbox_full@sandbox.test"],
  ["risky", "disposable@sandbox.test"],
  ["risky", "info@sandbox.test"],
  ["unknown", "anybody@catchall.sandbox.test"],
  ["unknown", "somebody@blocked.sandbox.test"],
];

/** @param {{ take: (email: string) => void, busy: boolean }} props */
export function Samples({ take, busy }) {
  return html`<div class="samples">
    <p class="quiet small" id="samples">${t("samples.title")}</p>
    <ul aria-labelledby="samples">${SAMPLES.map(([verdict, email]) => html`<li key=${email}>
      <button type="button" class="sample" disabled=${busy} onClick=${() => take(email)}><${Glyph} of=${verdict} />${email}</button></li>`)}</ul>
  </div>`;
}
