/** Lists: which there are, a new one, and one with its results. */
import { html } from "../../vendor/lib.js";
import { Catalogue } from "./lists/catalogue.js";
import { New } from "./lists/new.js";
import { One } from "./lists/one.js";

/** @param {{ parts: string[], query: URLSearchParams }} props `new`, the id of one, or nothing */
export function Screen({ parts: [id], query }) {
  if (id === "new") return html`<${New} />`;
  return id ? html`<${One} id=${id} query=${query} />` : html`<${Catalogue} />`;
}
