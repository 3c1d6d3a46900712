/** Webhooks: endpoints, subscriptions and deliveries. */
import { html } from "../../vendor/lib.js";
import { Catalogue } from "./webhooks/catalogue.js";
import { Delivery } from "./webhooks/delivery.js";
import { One } from "./webhooks/one.js";

/** @param {{ parts: string[], query: URLSearchParams }} props webhook ID with an optional delivery ID; or nothing */
export function Screen({ parts: [id, delivery], query }) {
  if (delivery) return html`<${Delivery} id=${id} delivery=${delivery} />`;
  return id ? html`<${One} id=${id} query=${query} />` : html`<${Catalogue} />`;
}
