/** Question before unsaved edits are lost. */
import { html } from "../../vendor/lib.js";
import { t } from "../text.js";
import { leave, leaving } from "../unsent.js";
import { Dialog } from "../ui.js";

export function Leaving() {
  if (leaving.value === undefined) return null;
  const stay = () => { leaving.value = undefined; };
  return html`<${Dialog} title=${t("unsaved.title")} close=${stay}>
    <p>${t("unsaved.text")}</p>
    <div class="row end"><button type="button" class="button danger" onClick=${leave}>${t("unsaved.leave")}</button>
      <button type="button" class="button primary" autofocus onClick=${stay}>${t("unsaved.stay")}</button></div>
  <//>`;
}
