/** Steps of a new list: file, address column, forecast. */
import { html } from "../../../../vendor/lib.js";
import { t } from "../../../text.js";
import { Icon } from "../../../ui.js";

/** @param {{ at: number }} props current step, from 0 */
export function Stages({ at }) {
  const names = [t("upload.stage_file"), t("upload.stage_column"), t("forecast.title")];
  return html`<ol class="stages">${names.map((name, n) => html`<li key=${n} class=${n < at ? "did" : undefined} aria-current=${n === at ? "step" : undefined}>
    ${n < at ? html`<${Icon} name="check" />` : html`<span aria-hidden="true">${n + 1}</span>`}${name}</li>`)}</ol>`;
}
