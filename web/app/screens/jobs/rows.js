/** Rows of a list: filter bar, table, and details of the open row. */
import { html, useEffect, useRef, useState } from "../../../vendor/lib.js";
import { get } from "../../api.js";
import { number, providerName } from "../../format.js";
import { readableAddress, readableDomain } from "../../idn.js";
import { go, open as opens, shut as shuts } from "../../route.js";
import { t } from "../../text.js";
import { Empty, Failure, Glyph, Icon, reason, STATUSES, useFetched, Verdict } from "../../ui.js";
import { Virtual } from "../../ui/virtual.js";
import { Download } from "./download.js";
import { holdRows } from "./filter.js";
import { Panel } from "./panel.js";
import { useRows } from "./source.js";

/**
 * @param {{ of: import("../../live.js").Progress, filter: import("./filter.js").Filtering, count: number | undefined, row: string }} props
 *   `row`: number of the open row, in the URL
 */
export function Rows({ of, filter, count, row: given }) {
  const rows = useRows(of, filter.now);
  const { row, at, open, shut } = useOpened(of, rows, filter.now, given);
  useEffect(() => (filter.any || given || history.state?.first > 0 ? holdRows() : undefined), []);
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const close = () => {
    shut();
    /** @type {HTMLElement | null | undefined} */ (place.current?.querySelector("[role=grid]"))?.focus();
  };
  const escape = (event) => event.key === "Escape" && at !== undefined && close();
  return html`<section id="rows" class="stack tight" aria-labelledby="rows-title"><h2 id="rows-title" class="hidden-text">${t("lists.results")}</h2>
    <${Filters} of=${of} filter=${filter} count=${rows.isWhole ? rows.total : count} />
    ${rows.failure ? html`<${Failure} of=${rows.failure} again=${rows.again} />` : html`<div class=${`card split ${row ? "with-panel" : ""}`} ref=${place} onKeyDown=${escape}>
      <div class="split-table"><${Virtual} caption=${t("lists.results")} columns=${columns(of)} total=${rows.total} count=${filter.any ? count : undefined} isWhole=${rows.isWhole} row=${rows.row} want=${rows.want}
        open=${open} opened=${at}
        empty=${html`<${Empty} title=${t("lists.found_none")} action=${filter.any && html`<button type="button" class="button" onClick=${filter.clear}>${t("lists.clear")}</button>`}>${t("lists.found_none_text")}<//>`} /></div>
      ${row && html`<${Panel} key=${row.index} of=${of} row=${row} close=${close} />`}
    </div>`}
  </section>`;
}

/** Delay between the last move to another row and the change of the URL: browsers limit such changes. */
const NOTED_MS = 200;

/**
 * Open row, tracked by its own index because new matches shift its position. A row that no longer matches stays open for reading;
 * one that the table has not loaded, as after a reload, is fetched.
 * @param {import("../../live.js").Progress} of @param {ReturnType<typeof useRows>} rows
 * @param {import("./filter.js").RowFilter} filter @param {string} given number of the row
 */
function useOpened({ id, rows: whole }, rows, filter, given) {
  const place = ["lists", id];
  const [index, setIndex] = useState(() => indexOf(given, whole));
  // Row in the URL, also one that is about to be there: moving through many rows changes it only in the end.
  const noted = useRef(given);
  useEffect(() => {
    if (given === noted.current) return;
    noted.current = given;
    setIndex(indexOf(given, whole));
  }, [given]);
  useEffect(() => {
    const row = index === undefined ? "" : String(index + 1);
    if (row === noted.current) return undefined;
    const timer = setTimeout(() => {
      noted.current = row;
      go(place, { ...filter, row }, true);
    }, NOTED_MS);
    return () => clearTimeout(timer);
  }, [index]);
  const last = useRef(/** @type {any} */ (undefined));
  const at = index === undefined ? undefined : rows.placeOf(index);
  const known = last.current?.index === index ? last.current : undefined;
  const loaded = at === undefined ? undefined : (rows.row(at) ?? known);
  const isMissing = index !== undefined && loaded === undefined;
  const one = useFetched((signal) => (isMissing ? get(`/app/jobs/${encodeURIComponent(id)}/rows`, { after: index, per_page: 1 }, signal) : Promise.resolve(undefined)), [id, isMissing && index]);
  const row = loaded ?? one.value?.data[0];
  last.current = row;
  const open = (position) => {
    // Without a filter, a row that is not loaded has its position as index.
    const next = rows.row(position)?.index ?? position;
    setIndex(next);
    if (index !== undefined) return;
    noted.current = String(next + 1);
    opens(place, { ...filter, row: noted.current });
  };
  const shut = () => {
    noted.current = "";
    setIndex(undefined);
    shuts(place, filter);
  };
  return { row, at, open, shut };
}

/** @param {string} given @param {number} rows */
const indexOf = (given, rows) => (Number(given) >= 1 && Number(given) <= rows ? Number(given) - 1 : undefined);

/** Filter bar; stays visible while the table is. @param {{ of: any, filter: import("./filter.js").Filtering, count: number | undefined }} props */
function Filters({ of, filter, count: found }) {
  const { now, set, clear, any, text, type } = filter;
  const picks = ["", ...STATUSES, ...(of.over && of.processed === of.rows ? [] : ["pending"])];
  const count = (status) => (status === "" ? of.rows : status === "pending" ? of.rows - of.processed : of[status]);
  return html`<div class="filters" role="search">
    <div class="picks" role="group" aria-label=${t("lists.verdict")}>${picks.map((status) => html`<button type="button" key=${status} class=${`pick ${status}`}
      aria-pressed=${now.status === status} onClick=${() => set({ status })}>
      ${status && html`<${Glyph} of=${status} />`}${status ? t(`status.${status}`) : t("lists.any")}<span class="n">${number(count(status))}</span></button>`)}</div>
    <label class="sought"><${Icon} name="search" /><span class="hidden-text">${t("lists.search")}</span>
      <input class="input" type="search" autocomplete="off" spellcheck=${false} maxlength="320" placeholder=${t("lists.search")} value=${text} onInput=${(event) => type(event.currentTarget.value)} /></label>
    <div class=${any ? "matches" : undefined}><p role="status">${any && html`<b>${found === undefined ? t("lists.counting") : t("lists.found", { n: found })}</b>`}</p>
      ${any && html`${chosen(of, now).map(([name, label]) => html`<span key=${name} class=${`chip on ${["reason", "status"].includes(name) ? now.status : ""}`}><span class="cut">${label}</span>
        <button type="button" aria-label=${t("lists.filter_remove", { name: label })} onClick=${() => set({ [name]: "" })}><${Icon} name="close" /></button></span>`)}
      <button type="button" class="button plain slim" onClick=${clear}>${t("lists.clear")}</button>
      ${now.status !== "pending" && html`<${Download} of=${of} filter=${filter} count=${found} these=${true} />`}`}</div>
  </div>`;
}

/** Labels of active filters; a reason implies its verdict. @returns {[string, string][]} */
function chosen(of, { q, status, reason: why, provider, domain }) {
  const known = of.providers.find(({ id }) => id === provider)?.name;
  const name = known ? providerName(known) : t("provider.other");
  const all = /** @type {[string, string][]} */ ([
    ["q", q && t("lists.contains", { text: q })], why ? ["reason", reason(why)] : ["status", status && t(`status.${status}`)],
    ["provider", provider && name], ["domain", readableDomain(domain)],
  ]);
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
    { name: "meant", title: t("verify.meant"), cell: (row) => readableAddress(row.suggestion ?? "") },
  ];
}
