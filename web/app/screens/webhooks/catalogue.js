/** Table of the organization's webhooks. */
import { html, useState } from "../../../vendor/lib.js";
import { post } from "../../api.js";
import { go } from "../../route.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Ago, Card, Empty, Note, Page, Pages, State, usePages } from "../../ui.js";
import { Edit } from "./edit.js";
import { First } from "./first.js";

export function Catalogue() {
  const webhooks = usePages("/webhooks", {}, "webhooks");
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState(/** @type {any} */ (undefined));
  const may = administrates.value;
  const add = may && html`<button type="button" class="button primary" onClick=${() => setAdding(true)}>${t("webhooks.new")}</button>`;
  const columns = [
    { title: t("name"), cell: (one) => html`<a href=${`#/webhooks/${one.id}`}>${one.name}</a><div class="quiet small">${one.url}</div>` },
    { title: t("webhooks.events"), cell: (one) => html`<span class="small">${one.events.join(", ")}</span>` },
    { title: t("lists.state"), cell: (one) => html`<${State} of=${one.status} />` },
    { title: t("webhooks.last"), cell: (one) => html`<${Ago} at=${one.last_delivery_at} />` },
  ];
  async function create(webhook) {
    setMade(await post("/webhooks", webhook, true));
    setAdding(false);
    webhooks.again();
  }
  return html`<${Page} title=${t("webhooks.title")} lead=${t("webhooks.lead")} actions=${add}>
    ${!may && html`<${Note}>${t("team.only_administrators")}<//>`}
    <${Card}><${Pages} of=${webhooks} caption=${t("webhooks.title")} columns=${columns}
      empty=${html`<${Empty} title=${t("webhooks.none")} action=${add}>${t("webhooks.none_text")}<//>`} /><//>
    ${adding && html`<${Edit} title=${t("webhooks.new")} close=${() => setAdding(false)} save=${create} />`}
    ${made && html`<${First} of=${made} close=${() => go(["webhooks", made.id])} />`}
  <//>`;
}
