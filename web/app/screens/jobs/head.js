/** List heading with actions: rename, tag, cancel, verify again, delete. */
import { html, useEffect, useRef, useState } from "../../../vendor/lib.js";
import { ask, get, patch, post, remove } from "../../api.js";
import { number } from "../../format.js";
import { link, useHere } from "../../route.js";
import { t } from "../../text.js";
import { Ago, Confirm, Icon, Menu, telling, toast, toastFailure, useFetched, word } from "../../ui.js";
import { ShareDialog } from "../shared/link.js";
import { Download } from "./download.js";
import { nameOf } from "./name.js";

const path = (of) => `/app/jobs/${encodeURIComponent(of.id)}`;

/** @param {{ of: import("../../live.js").Progress, changed: (of: any) => void }} props */
export function Heading({ of, changed }) {
  const [renaming, setRenaming] = useState(false);
  return html`<div class="grow">
    <div class="row">
      ${renaming ? html`<${Rename} of=${of} changed=${changed} close=${() => setRenaming(false)} />` : html`<h1>${nameOf(of)}</h1>
        <button type="button" class="button plain square" aria-label=${t("lists.rename")} title=${t("lists.rename")} onClick=${() => setRenaming(true)}><${Icon} name="pencil" /></button>`}
      <${Standing} of=${of} />
      <${Tags} of=${of} changed=${changed} />
    </div>
    <p class="meta"><span>${t(`trigger.${of.source}`)}</span><${Ago} at=${of.created_at} />
      <span>${t("lists.sum_rows", { n: of.rows })}</span>
      ${of.finished_at && of.started_at && html`<span>${t("lists.took", { time: took(of) })}</span>`}</p>
  </div>`;
}

/** Duration with the time that the list waited, rounded. */
function took({ created_at: from, finished_at: to }) {
  const seconds = Math.max(0, (Date.parse(to) - Date.parse(from)) / 1000);
  const [value, unit] = seconds < 90 ? [Math.max(1, seconds), "second"] : seconds < 5_400 ? [seconds / 60, "minute"] : [seconds / 3_600, "hour"];
  return Math.round(value).toLocaleString(document.documentElement.lang, { style: "unit", unit, unitDisplay: "long" });
}

/** State badge. */
function Standing({ of }) {
  const running = !of.over;
  return html`<span class=${`chip ${running ? "live" : of.status === "cancelled" ? "undeliverable" : "line"}`}>
    ${running && html`<span class="dot pulse"></span>`}${word("state", of.status)}</span>`;
}

function Rename({ of, changed, close }) {
  const [name, setName] = useState(nameOf(of));
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => field.current?.select(), []);
  const send = telling(async () => {
    const save = (name) => patch(path(of), { name }).then(changed);
    await save(name.trim() || null);
    toast(t("saved"), () => save(of.name));
    close();
  });
  return html`<form class="row rename" onSubmit=${send} onKeyDown=${(event) => event.key === "Escape" && close()}>
    <h1 class="hidden-text">${nameOf(of)}</h1>
    <input class="input" ref=${field} aria-label=${t("lists.name")} maxlength="200" value=${name} onInput=${(event) => setName(event.currentTarget.value)} />
    <button class="button primary">${t("save")}</button><button type="button" class="button plain" onClick=${close}>${t("dialog.cancel")}</button></form>`;
}

function Tags({ of, changed }) {
  const [adding, setAdding] = useState(false);
  const [tag, setTag] = useState("");
  const latest = useRef(of);
  latest.current = of;
  const set = async (tags) => changed(await patch(path(of), { tags }));
  async function drop(name) {
    await set(of.tags.filter((other) => other !== name));
    toast(t("lists.tag_removed", { tag: name }), () => set([...latest.current.tags, name]));
  }
  const add = telling(async () => {
    if (tag.trim()) await set([...of.tags, tag.trim()]);
    setTag("");
    setAdding(false);
  });
  return html`${of.tags.map((name) => html`<span key=${name} class="chip line">${name}<button type="button" aria-label=${t("lists.tag_remove", { tag: name })}
      onClick=${() => drop(name).catch(toastFailure)}><${Icon} name="close" /></button></span>`)}
    ${adding ? html`<form class="row" onSubmit=${add} onKeyDown=${(event) => event.key === "Escape" && setAdding(false)}>
      <input class="input tag-field" aria-label=${t("lists.tag")} placeholder=${t("lists.tag")} maxlength="40" value=${tag} onInput=${(event) => setTag(event.currentTarget.value)}
        ref=${(field) => field?.focus()} /></form>`
      : html`<button type="button" class="button plain square" aria-label=${t("lists.tag_add")} title=${t("lists.tag_add")} onClick=${() => setAdding(true)}><${Icon} name="tag" /></button>`}`;
}

/** Requests an email on completion, if a mail relay is configured. */
function MailButton({ of }) {
  const mail = useFetched((signal) => get(`${path(of)}/mail`, {}, signal), [of.id]);
  if (!mail.value?.possible) return null;
  const asked = mail.value.requested;
  const change = () => ask(asked ? "DELETE" : "PUT", `${path(of)}/mail`).then(mail.set, toastFailure);
  return html`<button type="button" class="button wide" aria-pressed=${asked} onClick=${change}><${Icon} name="bell" />${asked ? t("lists.mail_asked") : t("lists.mail")}</button>`;
}

/** @param {{ of: import("../../live.js").Progress, filter: any, count: number | undefined, readable: boolean, metered: boolean, cancelled: () => void }} props */
export function Actions({ of, filter, count, readable, metered, cancelled }) {
  const [asking, setAsking] = useState("");
  const here = useHere();
  const close = () => setAsking("");
  async function again() {
    const { id } = await post(`${path(of)}/verify-unknown`);
    toast(t("lists.again_started"));
    here.go(["lists", id]);
  }
  async function erase() {
    await remove(path(of));
    toast(t("lists.deleted"));
    here.go(["lists"]);
  }
  const stop = async () => {
    cancelled();
    await post(`/batch-verify/${encodeURIComponent(of.id)}/cancel`, undefined, true);
  };
  const canRepeat = of.over && readable && of.unknown > 0;
  const canDelete = of.over && !["integration", "widget"].includes(of.source);
  return html`<div class="row list-acts">
    ${!of.over && html`<${MailButton} of=${of} />`}
    ${readable && html`<div class="wide"><${Download} of=${of} filter=${filter} count=${count} /></div>`}
    <${Menu} mini=${true} kind="square" name=${t("lists.more")} label=${html`<${Icon} name="dots" large=${true} />`}>
      ${canRepeat && html`<button type="button" onClick=${() => setAsking("again")}><${Icon} name="retry" />${t("lists.verify_unknown", { n: of.unknown })}</button>`}
      ${!of.over && html`<button type="button" onClick=${() => setAsking("stop")}><${Icon} name="stop" />${t("lists.cancel")}</button>`}
      <button type="button" onClick=${() => setAsking("share")}><${Icon} name="people" />${t("share.title")}</button>
      <a href=${link(["report", of.id])}><${Icon} name="file" />${t("report.print")}</a>
      ${canDelete && html`<button type="button" class="bad" onClick=${() => setAsking("delete")}><${Icon} name="bin" />${t("lists.delete")}</button>`}
    <//>
    ${asking === "share" && html`<${ShareDialog} of=${of} close=${close} />`}
    ${asking === "stop" && html`<${Confirm} title=${t("lists.cancel")} submit=${t("lists.cancel")} close=${close} work=${stop}>
      ${t("lists.cancel_text", { n: of.rows - of.processed })} ${metered && of.credits && t("lists.cancel_credits", { n: of.credits.set_aside })}<//>`}
    ${asking === "again" && html`<${Confirm} title=${t("lists.verify_unknown", { n: of.unknown })} submit=${t("lists.again_submit", { n: number(of.unknown) })} close=${close} work=${again}>
      ${t("lists.again_text")}<//>`}
    ${asking === "delete" && html`<${Confirm} title=${t("lists.delete")} submit=${t("lists.delete")} close=${close} work=${erase}>${t("lists.delete_text")}<//>`}
  </div>`;
}
