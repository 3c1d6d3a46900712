/** Connections: overview, creation, and one connection with runs, review, rules and settings. */
import { html } from "../../vendor/lib.js";
import { Catalogue } from "./connections/catalogue.js";
import { Connect } from "./connections/connect.js";
import { One } from "./connections/one.js";

/** @param {{ parts: string[], query: URLSearchParams }} props platform and `new` or a connection ID; or nothing */
export function Screen({ parts: [type, id], query }) {
  if (type && id === "new") return html`<${Connect} type=${type} />`;
  return type && id ? html`<${One} type=${type} id=${id} query=${query} />` : html`<${Catalogue} />`;
}
