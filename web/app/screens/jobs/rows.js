/** Rows of a list: filter bar, table, and details of the open row. */
import { html, useEffect, useRef, useState } from "../../../vendor/lib.js";
import { number, percent, providerName } from "../../format.js";
import { readableDomain } from "../../idn.js";
import { t } from "../../text.js";
import { Empty, Failure, Glyph, Icon, reason, STATUSES, Verdict } from "../../ui.js";
import { Virtual } from "../../ui/virtual.js";
import { useSought } from "./filter.js";
import { Panel } from "./panel.js";
import { useRows } from "./source.js";

/** @param {{ of: import("../../live.js").Progress, filter: import("./filter.js").Filtering }} props */
export function Rows({ of, filter }) {
  const rows = useRows(of, useSought(filter.now));
  const { row, at, open, shut } = useOpened(rows, filter.now);
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const close = () => {
    shut();
    /** @type {HTMLElement | null | undefined} */ (place.current?.querySelector("[role=grid]"))?.focus();
  };
  useSlash();
  const escape = (event) => event.key === "Escape" && at !== undefined && close();
  return html`<section id="rows" class="stack tight" aria-labelledby="rows-title"><h2 id="rows-title" class="hidden-text">${t("lists.results")}</h2>
    <${Filters} of=${of} filter=${filter} rows=${rows} />
    ${rows.failure ? html`<${Failure} of=${rows.failure} again=${rows.again} />` : html`<div class=${`card split ${row ? "with-panel" : ""}`} ref=${place} onKeyDown=${escape}>
      <div class="split-table"><${Virtual} caption=${t("lists.results")} columns=${columns(of)} total=${rows.total} count=${rows.count} isWhole=${rows.isWhole} row=${rows.row} want=${rows.want}
        open=${open} opened=${at}
        empty=${html`<${Empty} title=${t("lists.found_none")} action=${filter.any && html`<button type="button" class="button" onClick=${filter.clear}>${t("lists.clear")}</button>`}>${t("lists.found_none_text")}<//>`} /></div>
      ${row && html`<${Panel} key=${row.index} of=${of} row=${row} close=${close} />`}
    </div>`}
  </section>`;
}

/**
 * Open row, tracked by its own index because new matches shift its position. A row that no longer matches stays open for reading.
 * @param {ReturnType<typeof useRows>} rows @param {import("./filter.js").RowFilter} filter
 */
function useOpened(rows, filter) {
  const [index, setIndex] = useState(/** @type {number | undefined} */ (undefined));
  const last = useRef(/** @type {any} */ (undefined));
  const shut = () => setIndex(undefined);
  useEffect(shut, [filter]);
  const at = index === undefined ? undefined : rows.placeOf(index);
  const known = last.current?.index === index ? last.current : undefined;
  const row = at === undefined ? undefined : (rows.row(at) ?? known);
  last.current = row;
  // Without a filter, a row that is not loaded has its position as index.
  const open = (place) => setIndex(rows.row(place)?.index ?? place);
  return { row, at, open, shut };
}

/** Slash moves the focus to the search field, except while typing. */
function useSlash() {
  useEffect(() => {
    const press = (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.closest("input, textarea, select, dialog")) return;
      event.preventDefault();
      /** @type {HTMLElement | null} */ (document.querySelector("#rows input[type=search]"))?.focus();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}

/** Filter bar; stays visible while the table is. */
function Filters({ of, filter, rows }) {
  const { now, set, clear, any } = filter;
  const picks = ["", ...STATUSES, ...(of.over && of.processed === of.rows ? [] : ["pending"])];
  const count = (status) => (status === "" ? of.rows : status === "pending" ? of.rows - of.processed : of[status]);
  return html`<div class="filters" role="search">
    <div class="picks" role="group" aria-label=${t("lists.verdict")}>${picks.map((status) => html`<button type="button" key=${status} class=${`pick ${status}`}
      aria-pressed=${now.status === status} onClick=${() => set({ status })}>
      ${status && html`<${Glyph} of=${status} />`}${status ? t(`status.${status}`) : t("lists.any")}<span class="n">${number(count(status))}</span></button>`)}</div>
    <div class="row">
      <label class="sought"><${Icon} name="search" /><span class="hidden-text">${t("lists.search")}</span>
        <input class="input" type="search" autocomplete="off" spellcheck=${false} maxlength="320" placeholder=${t("lists.search")} value=${now.q} onInput=${(event) => set({ q: event.currentTarget.value })} /></label>
      ${chosen(of, now).map(([name, text]) => html`<span key=${name} class=${`chip on ${name === "reason" ? now.status : ""}`}>${text}
        <button type="button" aria-label=${t("lists.filter_remove", { name: text })} onClick=${() => set({ [name]: "" })}><${Icon} name="close" /></button></span>`)}
      <span class="small quiet" role="status">${rows.filtered && html`${t("lists.found", { n: rows.count ?? rows.total })} ${!rows.isWhole && rows.count === undefined && t("lists.looked", { share: percent(rows.scanned, rows.rows) })}`}</span>
      ${any && html`<button type="button" class="button plain slim" onClick=${clear}>${t("lists.clear")}</button>`}
    </div>
  </div>`;
}

/** Labels of active filters other than verdict and text. @returns {[string, string][]} */
function chosen(of, { reason: why, provider, domain }) {
  const known = of.providers.find(({ id }) => id === provider)?.name;
  const name = known ? providerName(known) : t("provider.other");
  const all = /** @type {[string, string][]} */ ([["reason", why && reason(why)], ["provider", provider && name], ["domain", readableDomain(domain)]]);
  return all.filter(([, text]) => text);
}

function columns(of) {
  const names = Object.fromEntries(of.providers.map(({ id, name }) => [id, name && providerName(name)]));
  return [
    { name: "place", title: t("lists.row"), cell: (row) => number(row.index + 1) },
    { name: "email", title: t("verify.email"), cell: (row) => row.email || "–" },
    { name: "verdict", title: t("lists.verdict"), cell: (row) => html`<${Verdict} of=${row.processed ? row.status : "pending"} />` },
    { name: "because", title: t("usage.reason"), cell: (row) => (row.reason ? reason(row.reason) : "") },
    { name: "provider", title: t("provider.provider"), cell: (row) => names[row.provider] ?? row.provider ?? row.host ?? "" },
    { name: "meant", title: t("verify.meant"), cell: (row) => row.suggestion ?? "" },
  ];
}
