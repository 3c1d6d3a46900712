/** One webhook: details, deliveries and actions. */
import { html, useState } from "../../../vendor/lib.js";
import { useFilter } from "../../filter.js";
import { clock } from "../../format.js";
import { get, patch, post, remove } from "../../api.js";
import { useHere } from "../../route.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Ago, Button, Card, Confirm, Empty, Fetched, Icon, Menu, Note, Page, Pages, Secret, State, toast, toastFailure, useFetched, usePages, word } from "../../ui.js";
import { Code } from "../../ui/code.js";
import { Edit } from "./edit.js";
import { Hours } from "./hours.js";
import { DeliveryState, came, isRedirect } from "./outcome.js";
import { LANGUAGES, checking } from "../../../docs/signature.js";

/** @param {{ id: string, query?: URLSearchParams }} props */
export function One({ id, query }) {
  const path = `/webhooks/${encodeURIComponent(id)}`;
  const webhook = useFetched((signal) => get(path, {}, signal), [path], "webhooks");
  const of = webhook.value;
  const filter = useFilter(["webhooks", id], query, { status: "" });
  // The server rejects the whole stream if one of its parts does not exist.
  const part = of && `deliveries:${id}`;
  const deliveries = usePages(`${path}/deliveries`, { status: filter.now.status || undefined }, part);
  const [secret, setSecret] = useState("");
  const acts = of && administrates.value && html`<${Acts} of=${of} path=${path} set=${webhook.set} rotated=${setSecret} tested=${deliveries.refresh} />`;
  return html`<${Page} title=${of?.name ?? t("webhooks.title")} above=${html`<a href="#/webhooks">${t("webhooks.title")}</a>`} heading=${of && html`<${Heading} of=${of} />`} actions=${acts}>
    <${Fetched} from=${webhook}>${() => html`
      ${secret && html`<${Card}><${Note} kind="warning" focused=${true}>${t("webhooks.rotated")}<//><${Secret} text=${secret} label=${t("webhooks.secret")} /><//>`}
      <${Hours} path=${path} part=${part} />
      <${Card} title=${t("webhooks.deliveries")}><${Deliveries} of=${deliveries} path=${path} status=${filter.now.status} set=${(status) => filter.set({ status })} /><//>
      <${Card} title=${t("webhooks.check")}>
        <p class="quiet">${t("webhooks.check_text")}</p>
        <${Code} title=${t("webhooks.check_code")} languages=${LANGUAGES} write=${(language) => checking(language, of.url)} />
      <//>`}<//>
  <//>`;
}

function Heading({ of: { name, status, url, events, last_delivery_at: last } }) {
  return html`<div class="grow"><div class="row"><h1>${name}</h1><${State} of=${status} /></div>
    <p class="meta"><code>${url}</code><span>${events.join(", ")}</span><span>${t("labelled", { name: t("webhooks.last") })} <${Ago} at=${last} /></span></p></div>`;
}

function Acts({ of: webhook, path, set, rotated, tested }) {
  const [open, setOpen] = useState("");
  const here = useHere();
  const close = () => setOpen("");
  const save = async (changed) => {
    set(await patch(path, changed));
    close();
  };
  const rotate = async () => rotated((await post(`${path}/rotate-secret`, undefined, true)).secret);
  async function test() {
    await post(`${path}/test`, undefined, true);
    toast(t("webhooks.tested"));
    tested();
  }
  const turn = webhook.status === "active" ? "disabled" : "active";
  return html`
    <${Button} work=${test}>${t("webhooks.test")}<//>
    <button type="button" class="button" onClick=${() => setOpen("edit")}><${Icon} name="pencil" />${t("team.change")}</button>
    <${Menu} mini=${true} kind="square" name=${t("lists.more")} label=${html`<${Icon} name="dots" large=${true} />`}>
      <button type="button" onClick=${() => save({ status: turn }).catch(toastFailure)}><${Icon} name=${turn === "active" ? "check" : "stop"} />${t(`webhooks.turn_${turn}`)}</button>
      <button type="button" onClick=${() => setOpen("rotate")}><${Icon} name="key" />${t("webhooks.rotate")}</button>
      <button type="button" class="bad" onClick=${() => setOpen("remove")}><${Icon} name="bin" />${t("delete")}</button>
    <//>
    ${open === "edit" && html`<${Edit} title=${t("team.change")} of=${webhook} close=${close} save=${save} />`}
    ${open === "rotate" && html`<${Confirm} title=${t("webhooks.rotate")} submit=${t("webhooks.rotate")} close=${close} work=${rotate}>${t("webhooks.rotate_text")}<//>`}
    ${open === "remove" && html`<${Confirm} title=${t("delete")} submit=${t("delete")} close=${close}
      work=${() => remove(path).then(() => here.go(["webhooks"]))}>${t("webhooks.remove_text", { name: webhook.name })}<//>`}`;
}

const STATES = ["waiting", "delivered", "exhausted", "cancelled"];

function Deliveries({ of, path, status, set }) {
  const again = async (id) => {
    await post(`${path}/deliveries/${id}/redeliver`, undefined, true);
    toast(t("webhooks.redelivered"));
    of.refresh();
  };
  const columns = [
    { title: t("timeline.at"), cell: (one) => html`<${Ago} at=${one.created_at} />` },
    { title: t("webhooks.event"), cell: (one) => html`<a href=${`#${path}/${one.id}`}><code>${one.type}</code></a>` },
    { title: t("lists.state"), cell: (one) => html`<${DeliveryState} of=${one.status} />
      ${one.status === "waiting" && one.attempts > 0 && html`<div class="tiny quiet">${t("webhooks.retry_at", { time: clock(one.next_attempt_at) })}</div>`}` },
    { title: t("response"), cell: ({ last_attempt: last }) => (last ? html`<span class="small">${last.status === null || isRedirect(last) ? came(last) : last.status}</span>` : "–") },
    { title: t("attempts"), number: true, cell: (one) => one.attempts },
    ...(administrates.value ? [{ title: t("team.do"), acts: true, cell: (one) => html`<${Button} kind="slim" work=${() => again(one.id)}>${t("webhooks.again")}<//>` }] : []),
  ];
  const empty = status ? html`<${Empty} title=${t("webhooks.no_such")} action=${html`<button type="button" class="button" onClick=${() => set("")}>${t("timeline.clear")}</button>`}>${t("webhooks.no_such_text")}<//>`
    : html`<${Empty} title=${t("webhooks.no_deliveries")}>${t("webhooks.no_deliveries_text")}<//>`;
  return html`<div class="picks" role="group" aria-label=${t("lists.state")}>
      ${["", ...STATES].map((one) => html`<button type="button" class="pick" key=${one} aria-pressed=${status === one} onClick=${() => set(one)}>${one ? word("delivery", one) : t("timeline.all")}</button>`)}
    </div>
    <${Pages} of=${of} caption=${t("webhooks.deliveries")} columns=${columns} empty=${empty} />`;
}
