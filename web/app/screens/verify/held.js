/** Addresses that are not asked about, because their mail servers cannot be reached. */
import { html, useState } from "../../../vendor/lib.js";
import { WhatToDo, lack, trySandbox } from "../../reach.js";
import { t } from "../../text.js";
import { Note } from "../../ui/notes.js";

/** Instead of a verdict that would say nothing of the address. @param {{ anyway: () => void }} props */
export function Held({ anyway }) {
  const [open, setOpen] = useState(false);
  return html`<div role="status"><${Note} kind="warning" title=${t("verify.held")}>
    <p>${lack()} ${t("verify.held_text")}</p>
    <div class="row held">
      <button type="button" class="button slim" onClick=${() => setOpen(true)}>${t("reach.what")}</button>
      <button type="button" class="button slim" onClick=${trySandbox}>${t("mode.switch")}</button>
      <button type="button" class="button slim" onClick=${anyway}>${t("verify.anyway")}</button>
    </div>
    ${open && html`<${WhatToDo} close=${() => setOpen(false)} />`}
  <//></div>`;
}
