/** Notice for an address that is not probed because mail servers are unreachable. */
import { html } from "../../../vendor/lib.js";
import { WhatButton, lack, trySandbox } from "../../reach.js";
import { t } from "../../text.js";
import { Note } from "../../ui.js";

/** Replaces a verdict that would say nothing about the address. @param {{ anyway: () => void }} props */
export function Held({ anyway }) {
  return html`<div role="status"><${Note} kind="warning" title=${t("verify.held")}>
    <p>${lack()} ${t("verify.held_text")}</p>
    <div class="row held">
      <${WhatButton} /><button type="button" class="button slim" onClick=${trySandbox}>${t("mode.switch")}</button>
      <button type="button" class="button slim" onClick=${anyway}>${t("verify.anyway")}</button>
    </div>
  <//></div>`;
}
