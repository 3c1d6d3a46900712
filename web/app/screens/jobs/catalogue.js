/** All lists of the organization, newest first: name, verdicts, progress. */
import { html } from "../../../vendor/lib.js";
import { number, percent } from "../../format.js";
import { useFilter } from "../../filter.js";
import { t } from "../../text.js";
import { Ago, Empty, Icon, Page, Pages, partsOf, Select, Strip, usePages, word } from "../../ui.js";
import { DropPage, FileButton } from "./new/drop.js";
import { nameOf } from "./name.js";

const STATES = ["queued", "processing", "completed", "cancelled"];
const SOURCES = ["api", "csv", "input", "widget", "integration"];
/** Icon of a list by source. */
const ICONS = /** @type {const} */ ({ csv: "file", input: "copy", api: "code", zapier: "code", widget: "verify", integration: "plug" });

const NOTHING = { q: "", tag: "", status: "", source: "" };

/** @param {{ query?: URLSearchParams }} props */
export function Catalogue({ query }) {
  const { now, set, clear, any, text, type } = useFilter(["lists"], query, NOTHING);
  const lists = usePages("/app/lists", now, "lists");
  const add = html`<a class="button" href="#/lists/find"><${Icon} name="search" />${t("find.title")}</a><a class="button primary" href="#/lists/new"><${Icon} name="plus" />${t("lists.new")}</a>`;
  const all = html`<button type="button" class="button" onClick=${clear}>${t("lists.clear")}</button>`;
  return html`<${DropPage} /><${Page} title=${t("lists.title")} lead=${t("lists.lead")} actions=${add}>
    <div class="drop-line"><${Icon} name="download" large=${true} /><span class="grow"><b>${t("upload.drop_anywhere")}</b><br /><span class="small quiet" id="list-file-hint">${t("upload.hint")}</span></span>
      <${FileButton} kind="slim" /></div>
    <section class="card catalogue">
      <${Filters} filter=${now} set=${set} text=${text} type=${type} />
      <${Pages} of=${lists} caption=${t("lists.title")} columns=${columns((tag) => set({ tag }))}
        empty=${any ? html`<${Empty} title=${t("lists.found_none")} action=${all}>${t("lists.found_none_lists")}<//>`
          : html`<${Empty} title=${t("lists.none")} action=${add}>${t("lists.none_text")}<//>`} />
    </section>
  <//>`;
}

function Filters({ filter, set, text, type }) {
  const all = [["", t("lists.any")]];
  return html`<div class="row" role="search">
    <label class="sought"><${Icon} name="search" /><span class="hidden-text">${t("lists.search_lists")}</span>
      <input class="input" type="search" autocomplete="off" maxlength="200" placeholder=${t("lists.search_lists")} value=${text} onInput=${(event) => type(event.currentTarget.value)} /></label>
    ${filter.tag && html`<span class="chip on">${filter.tag}<button type="button" aria-label=${t("lists.filter_remove", { name: filter.tag })} onClick=${() => set({ tag: "" })}><${Icon} name="close" /></button></span>`}
    <${Select} label=${t("lists.state")} value=${filter.status} set=${(status) => set({ status })} options=${[...all, ...STATES.map((of) => [of, t(`state.${of}`)])]} />
    <${Select} label=${t("lists.source")} value=${filter.source} set=${(source) => set({ source })} options=${[...all, ...SOURCES.map((of) => [of, t(`trigger.${of}`)])]} />
  </div>`;
}

/** @param {(tag: string) => void} choose */
const columns = (choose) => [
  { title: t("lists.list"), cell: (list) => html`<div class="listed"><span class="kind"><${Icon} name=${ICONS[list.source] ?? "file"} /></span>
    <span class="grow"><a href=${`#/lists/${list.id}`}>${nameOf(list)}</a><span class="tiny quiet subtitle">${(list.name || list.source_integration) && html`<span>${t(`trigger.${list.source}`)}</span>`}
      ${list.tags.map((tag) => html`<button type="button" key=${tag} class="chip line" onClick=${() => choose(tag)}>${tag}</button>`)}</span></span></div>` },
  { title: t("lists.verdicts"), cell: (list) => html`<${Mix} of=${list} />` },
  { title: t("status.passed"), number: true, cell: (list) => (list.processed > 0 ? html`<b>${percent(list.passed, list.processed)}</b>` : "–") },
  { title: t("lists.rows"), number: true, cell: ({ rows }) => html`<span class="only-wide">${number(rows)}</span><span class="narrow">${t("lists.sum_rows", { n: rows })}</span>` },
  { title: t("lists.created"), cell: (list) => html`<${Ago} at=${list.created_at} />` },
];

/** Verdict distribution, and any state other than completed. */
function Mix({ of: now }) {
  const usual = now.status === "completed";
  return html`<div class="mix"><${Strip} parts=${partsOf(now)} total=${usual ? Math.max(1, now.processed) : now.rows} />
    ${!usual && html`<span class=${`chip ${now.status === "cancelled" ? "undeliverable" : "live"}`}>${word("state", now.status)}${now.status === "processing" && ` ${percent(now.processed, now.rows)}`}</span>`}
    ${usual && now.purged_at && now.source !== "widget" && html`<span class="tiny quiet">${t("lists.rows_gone")}</span>`}</div>`;
}
