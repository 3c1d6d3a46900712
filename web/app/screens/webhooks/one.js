/** One webhook: what it is, its messages, and what can be done with both. */
import { html, useState } from "../../../vendor/lib.js";
import { get, patch, post, remove } from "../../api.js";
import { ago, time } from "../../format.js";
import { useHere } from "../../route.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Button, Secret } from "../../ui/buttons.js";
import { Confirm, Dialog } from "../../ui/dialog.js";
import { Empty, Note } from "../../ui/notes.js";
import { Card, Facts, Page } from "../../ui/page.js";
import { Fetched, Pages, useFetched, usePages } from "../../ui/table.js";
import { toast } from "../../ui/toasts.js";
import { State, word } from "../../ui/verdict.js";
import { Edit } from "./edit.js";

export function One({ id }) {
  const webhook = useFetched((signal) => get(`/webhooks/${encodeURIComponent(id)}`, {}, signal), [id]);
  return html`<${Page} title=${webhook.value?.name ?? t("webhooks.title")}>
    <p><a href="#/webhooks">${t("webhooks.all")}</a></p>
    <${Fetched} from=${webhook}>${(of) => html`<${Webhook} of=${of} set=${webhook.set} />`}<//>
  <//>`;
}

function Webhook({ of: webhook, set }) {
  const path = `/webhooks/${webhook.id}`;
  const deliveries = usePages(`${path}/deliveries`);
  const [open, setOpen] = useState("");
  const [secret, setSecret] = useState("");
  const here = useHere();
  const close = () => setOpen("");

  async function save(changed) {
    set(await patch(path, changed));
    close();
  }
  async function rotate() {
    setSecret((await post(`${path}/rotate-secret`, undefined, true)).secret);
  }
  async function test() {
    await post(`${path}/test`, undefined, true);
    toast(t("webhooks.tested"));
    deliveries.again();
  }

  const turn = webhook.status === "active" ? "disabled" : "active";
  const acts = administrates.value && html`
    <${Button} kind="slim" work=${test}>${t("webhooks.test")}<//>
    <button type="button" class="button slim" onClick=${() => setOpen("edit")}>${t("team.change")}</button>
    <${Button} kind="slim" work=${() => save({ status: turn })}>${t(`webhooks.turn_${turn}`)}<//>
    <button type="button" class="button slim" onClick=${() => setOpen("rotate")}>${t("webhooks.rotate")}</button>
    <button type="button" class="button danger slim" onClick=${() => setOpen("remove")}>${t("webhooks.remove")}</button>`;
  return html`
    <${Card} title=${t("webhooks.what")} actions=${acts}>
      <${Facts} of=${[
        [t("webhooks.url"), html`<code>${webhook.url}</code>`],
        [t("webhooks.events"), webhook.events.join(", ")],
        [t("webhooks.state"), html`<${State} of=${webhook.status} />`],
        [t("webhooks.last"), ago(webhook.last_delivery_at)],
      ]} />
      ${secret && html`<${Note} kind="warning">${t("webhooks.rotated")}<//><${Secret} text=${secret} label=${t("webhooks.secret")} />`}
    <//>
    <${Card} title=${t("webhooks.deliveries")}><${Deliveries} of=${deliveries} path=${path} /><//>
    ${open === "edit" && html`<${Edit} title=${t("team.change")} of=${webhook} close=${close} save=${save} />`}
    ${open === "rotate" && html`<${Confirm} title=${t("webhooks.rotate")} submit=${t("webhooks.rotate")} close=${close} work=${rotate}>${t("webhooks.rotate_text")}<//>`}
    ${open === "remove" && html`<${Confirm} title=${t("webhooks.remove")} submit=${t("webhooks.remove")} close=${close}
      work=${() => remove(path).then(() => here.go(["webhooks"]))}>${t("webhooks.remove_text", { name: webhook.name })}<//>`}`;
}

function Deliveries({ of, path }) {
  const [looking, setLooking] = useState(/** @type {any} */ (undefined));
  const again = async (id) => {
    await post(`${path}/deliveries/${id}/redeliver`, undefined, true);
    toast(t("webhooks.redelivered"));
    of.again();
  };
  const columns = [
    { title: t("timeline.at"), cell: (one) => time(one.created_at) },
    { title: t("webhooks.event"), cell: (one) => html`<code>${one.type}</code>` },
    { title: t("webhooks.state"), cell: (one) => word("delivery", one.status) },
    { title: t("webhooks.answer"), cell: ({ last_attempt: last }) => (last ? (last.status ?? last.error) : "–") },
    { title: t("webhooks.attempts"), number: true, cell: (one) => one.attempts },
    { title: t("team.do"), cell: (one) => html`<div class="row">
      <button type="button" class="button slim" onClick=${() => setLooking(one)}>${t("webhooks.look")}</button>
      ${administrates.value && html`<${Button} kind="slim" work=${() => again(one.id)}>${t("webhooks.again")}<//>`}</div>` },
  ];
  return html`<${Pages} of=${of} caption=${t("webhooks.deliveries")} columns=${columns}
      empty=${html`<${Empty} title=${t("webhooks.no_deliveries")}>${t("webhooks.no_deliveries_text")}<//>`} />
    ${looking && html`<${Dialog} title=${looking.type} close=${() => setLooking(undefined)}><${Delivery} of=${looking} /><//>`}`;
}

function Delivery({ of: { request, last_attempt: last, earlier_attempts: earlier, next_attempt_at: next } }) {
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`).join("\n");
  return html`<${Facts} of=${[
      [t("webhooks.url"), html`<code>${request.url}</code>`],
      [t("lists.list"), request.job_id ? html`<a href=${`#/lists/${request.job_id}`}>${request.job_id}</a>` : "–"],
      [t("webhooks.next"), time(next)],
    ]} />
    <pre class="code" tabindex="0">${headers}</pre>
    ${last && html`<h3>${t("webhooks.attempts")}</h3>`}
    ${[last, ...earlier].filter(Boolean).map((one) => html`<${Attempt} of=${one} url=${request.url} />`)}`;
}

/** What one attempt came to; where it went elsewhere than the message goes now, that is said. */
function Attempt({ of, url }) {
  const came = [time(of.at), of.took_ms === null ? null : t("webhooks.took_ms", { ms: of.took_ms }), of.url === url ? null : of.url];
  return html`<section class="stack">
    <p>${came.filter(Boolean).join(" · ")}</p>
    <pre class="code" tabindex="0">${[of.status ?? of.error, of.answer].filter(Boolean).join("\n")}</pre>
  </section>`;
}
