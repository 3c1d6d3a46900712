/** Lists: overview, new list, one list with results, address search. */
import { html } from "../../vendor/lib.js";
import { Catalogue } from "./jobs/catalogue.js";
import { Find } from "./jobs/find.js";
import { New } from "./jobs/new.js";
import { One } from "./jobs/one.js";

/** @param {{ parts: string[], query: URLSearchParams }} props `new`, `find`, a job ID, or nothing */
export function Screen({ parts: [id], query }) {
  if (id === "new") return html`<${New} id=${query.get("upload") ?? ""} key=${query.get("upload") ?? ""} />`;
  if (id === "find") return html`<${Find} query=${query} />`;
  return id ? html`<${One} id=${id} query=${query} />` : html`<${Catalogue} query=${query} />`;
}
