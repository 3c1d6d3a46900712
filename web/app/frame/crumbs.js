/** Breadcrumbs in the top bar. Pages set them; the frame renders them. */
import { html, signal } from "../../vendor/lib.js";
import { t } from "../text.js";

/** Breadcrumbs of the current page. */
export const trail = signal(/** @type {{ above?: unknown, title: string }} */ ({ title: "" }));

export function Crumbs() {
  const { above, title } = trail.value;
  return html`<nav class="crumbs" aria-label=${t("frame.above")}>${above}${above && html`<span aria-hidden="true">/</span>`}<span class="cut" aria-current="page">${title}</span></nav>`;
}
