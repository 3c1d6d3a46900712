/** Addresses that are not asked about, because their mail servers cannot be reached. */
import { html } from "../../../vendor/lib.js";
import { WhatButton, lack, trySandbox } from "../../reach.js";
import { t } from "../../text.js";
import { Note } from "../../ui.js";

/** Instead of a verdict that would say nothing of the address. @param {{ anyway: () => void }} props */
export function Held({ anyway }) {
  return html`<div role="status"><${Note} kind="warning" title=${t("verify.held")}>
    <p>${lack()} ${t("verify.held_text")}</p>
    <div class="row held">
      <${WhatButton} /><button type="button" class="button slim" onClick=${trySandbox}>${t("mode.switch")}</button>
      <button type="button" class="button slim" onClick=${anyway}>${t("verify.anyway")}</button>
    </div>
  <//></div>`;
}
