/** All lists of the organization, newest first: what they are called, what came of them, how far they are. */
import { html, useState } from "../../../vendor/lib.js";
import { useChanges } from "../../changes.js";
import { number, percent } from "../../format.js";
import { t } from "../../text.js";
import { Select } from "../../ui/fields.js";
import { Icon } from "../../ui/icon.js";
import { Empty } from "../../ui/notes.js";
import { Page } from "../../ui/page.js";
import { Strip, partsOf } from "../../ui/strip.js";
import { Pages, usePages } from "../../ui/table.js";
import { Ago } from "../../ui/time.js";
import { word } from "../../ui/verdict.js";
import { nameOf } from "./head.js";

const STATES = ["queued", "processing", "completed", "cancelled"];
const SOURCES = ["api", "csv", "input", "widget", "integration"];
/** What stands for a list, by where it comes from. */
const ICONS = /** @type {const} */ ({ csv: "file", input: "copy", api: "code", zapier: "code", widget: "verify", integration: "plug" });

export function Catalogue() {
  const [status, setStatus] = useState("");
  const [source, setSource] = useState("");
  const lists = usePages("/app/lists", { status, source });
  useChanges("lists", lists.refresh);
  const add = html`<a class="button" href="#/lists/find"><${Icon} name="search" />${t("find.title")}</a><a class="button primary" href="#/lists/new"><${Icon} name="plus" />${t("lists.new")}</a>`;
  const all = [["", t("lists.any")]];
  return html`<${Page} title=${t("lists.title")} lead=${t("lists.lead")} actions=${add}>
    <section class="card catalogue">
      <div class="row">
        <${Select} label=${t("lists.state")} value=${status} set=${setStatus} options=${[...all, ...STATES.map((of) => [of, t(`state.${of}`)])]} />
        <${Select} label=${t("lists.source")} value=${source} set=${setSource} options=${[...all, ...SOURCES.map((of) => [of, t(`trigger.${of}`)])]} />
      </div>
      <${Pages} of=${lists} caption=${t("lists.title")} columns=${columns()}
        empty=${html`<${Empty} title=${t("lists.none")} action=${add}>${t("lists.none_text")}<//>`} />
    </section>
  <//>`;
}

const columns = () => [
  { title: t("lists.list"), cell: (list) => html`<div class="listed"><span class="kind"><${Icon} name=${ICONS[list.source] ?? "file"} /></span>
    <span class="grow"><a href=${`#/lists/${list.id}`}>${nameOf(list)}</a><span class="tiny quiet subtitle">${[...(list.name ? [t(`trigger.${list.source}`)] : []), ...list.tags].join(" · ")}</span></span></div>` },
  { title: t("lists.verdicts"), cell: (list) => html`<${Mix} of=${list} />` },
  { title: t("status.passed"), number: true, cell: (list) => (list.processed > 0 ? html`<b>${percent(list.passed, list.processed)}</b>` : "–") },
  { title: t("lists.rows"), number: true, cell: ({ rows }) => html`<span class="only-wide">${number(rows)}</span><span class="narrow">${t("lists.sum_rows", { n: rows })}</span>` },
  { title: t("lists.created"), cell: (list) => html`<${Ago} at=${list.created_at} />` },
];

/** What came of it, and its state where that is not the usual one. */
function Mix({ of: now }) {
  const usual = now.status === "completed";
  return html`<div class="mix"><${Strip} parts=${partsOf(now)} total=${usual ? Math.max(1, now.processed) : now.rows} />
    ${!usual && html`<span class=${`chip ${now.status === "cancelled" ? "undeliverable" : "live"}`}>${word("state", now.status)}${now.status === "processing" && ` ${percent(now.processed, now.rows)}`}</span>`}
    ${usual && now.purged_at && now.source !== "widget" && html`<span class="tiny quiet">${t("lists.rows_gone")}</span>`}</div>`;
}
