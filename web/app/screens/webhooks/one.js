/** One webhook: what it is, its messages, and what can be done with both. */
import { html, useState } from "../../../vendor/lib.js";
import { get, patch, post, remove } from "../../api.js";
import { useChanges } from "../../changes.js";
import { useHere } from "../../route.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Button, Secret } from "../../ui/buttons.js";
import { Code } from "../../ui/code.js";
import { Confirm } from "../../ui/dialog.js";
import { Empty, Note } from "../../ui/notes.js";
import { Card, Facts, Page } from "../../ui/page.js";
import { Fetched, Pages, useFetched, usePages } from "../../ui/table.js";
import { Ago } from "../../ui/time.js";
import { toast } from "../../ui/toasts.js";
import { State, word } from "../../ui/verdict.js";
import { Edit } from "./edit.js";
import { DeliveryState, came, isRedirect } from "./outcome.js";
import { LANGUAGES, checking } from "./signature.js";

export function One({ id }) {
  const webhook = useFetched((signal) => get(`/webhooks/${encodeURIComponent(id)}`, {}, signal), [id]);
  useChanges("webhooks", webhook.refresh);
  return html`<${Page} title=${webhook.value?.name ?? t("webhooks.title")} above=${html`<a href="#/webhooks">${t("webhooks.title")}</a>`}>
    <${Fetched} from=${webhook}>${(of) => html`<${Webhook} of=${of} set=${webhook.set} />`}<//>
  <//>`;
}

function Webhook({ of: webhook, set }) {
  const path = `/webhooks/${webhook.id}`;
  const [status, setStatus] = useState("");
  const deliveries = usePages(`${path}/deliveries`, { status: status || undefined });
  useChanges(`deliveries:${webhook.id}`, deliveries.refresh);
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
    deliveries.refresh();
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
        [t("webhooks.last"), html`<${Ago} at=${webhook.last_delivery_at} />`],
      ]} />
      ${secret && html`<${Note} kind="warning">${t("webhooks.rotated")}<//><${Secret} text=${secret} label=${t("webhooks.secret")} />`}
    <//>
    <${Card} title=${t("webhooks.deliveries")}><${Deliveries} of=${deliveries} path=${path} status=${status} set=${setStatus} /><//>
    <${Card} title=${t("webhooks.check")}>
      <p class="quiet">${t("webhooks.check_text")}</p>
      <${Code} title=${t("webhooks.check_code")} languages=${LANGUAGES} write=${(language) => checking(language, webhook.url)} />
    <//>
    ${open === "edit" && html`<${Edit} title=${t("team.change")} of=${webhook} close=${close} save=${save} />`}
    ${open === "rotate" && html`<${Confirm} title=${t("webhooks.rotate")} submit=${t("webhooks.rotate")} close=${close} work=${rotate}>${t("webhooks.rotate_text")}<//>`}
    ${open === "remove" && html`<${Confirm} title=${t("webhooks.remove")} submit=${t("webhooks.remove")} close=${close}
      work=${() => remove(path).then(() => here.go(["webhooks"]))}>${t("webhooks.remove_text", { name: webhook.name })}<//>`}`;
}

const STATES = ["waiting", "delivered", "exhausted", "cancelled"];

function Deliveries({ of, path, status, set }) {
  const again = async (id) => {
    await post(`${path}/deliveries/${id}/redeliver`, undefined, true);
    toast(t("webhooks.redelivered"));
    of.refresh();
  };
  const place = (one) => `#${path}/${one.id}`;
  const columns = [
    { title: t("timeline.at"), cell: (one) => html`<${Ago} at=${one.created_at} />` },
    { title: t("webhooks.event"), cell: (one) => html`<a href=${place(one)}><code>${one.type}</code></a>` },
    { title: t("webhooks.state"), cell: (one) => html`<${DeliveryState} of=${one.status} />` },
    { title: t("webhooks.answer"), cell: ({ last_attempt: last }) => (last ? html`<span class="small">${last.status === null || isRedirect(last) ? came(last) : last.status}</span>` : "–") },
    { title: t("webhooks.attempts"), number: true, cell: (one) => one.attempts },
    { title: t("team.do"), cell: (one) => html`<div class="row acts">
      <a class="button slim" href=${place(one)}>${t("webhooks.look")}</a>
      ${administrates.value && html`<${Button} kind="slim" work=${() => again(one.id)}>${t("webhooks.again")}<//>`}</div>` },
  ];
  const empty = status ? html`<${Empty} title=${t("webhooks.no_such")} action=${html`<button type="button" class="button" onClick=${() => set("")}>${t("timeline.clear")}</button>`}>${t("webhooks.no_such_text")}<//>`
    : html`<${Empty} title=${t("webhooks.no_deliveries")}>${t("webhooks.no_deliveries_text")}<//>`;
  return html`<div class="picks" role="group" aria-label=${t("webhooks.state")}>
      ${["", ...STATES].map((one) => html`<button type="button" class="pick" key=${one} aria-pressed=${status === one} onClick=${() => set(one)}>${one ? word("delivery", one) : t("timeline.all")}</button>`)}
    </div>
    <${Pages} of=${of} caption=${t("webhooks.deliveries")} columns=${columns} empty=${empty} />`;
}
