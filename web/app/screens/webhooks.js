/** Webhooks: who is told of what, and what became of it. */
import { html } from "../../vendor/lib.js";
import { Catalogue } from "./webhooks/catalogue.js";
import { One } from "./webhooks/one.js";

/** @param {{ parts: string[] }} props the id of one, or nothing */
export function Screen({ parts: [id] }) {
  return id ? html`<${One} id=${id} />` : html`<${Catalogue} />`;
}
