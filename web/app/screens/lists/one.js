/** One list: how far it is, what came out, its rows, and the files to take away. */
import { html, useEffect, useState } from "../../../vendor/lib.js";
import { address, get, post } from "../../api.js";
import { number, percent, time } from "../../format.js";
import { t } from "../../text.js";
import { Confirm } from "../../ui/dialog.js";
import { Select } from "../../ui/fields.js";
import { Card, Facts, Figure, Page } from "../../ui/page.js";
import { Fetched, Table, useFetched } from "../../ui/table.js";
import { State, Status, reason } from "../../ui/verdict.js";

const STATUSES = ["passed", "undeliverable", "risky", "unknown"];
const COUNTS = { passed: "numPassed", undeliverable: "numUndeliverable", risky: "numRisky", unknown: "numUnknown" };
const FORMATS = ["csv", "xlsx", "ndjson"];
const OPEN = ["queued", "processing"];
const LOOK_MS = 1_000;
const PER_PAGE = 100;

export function One({ id }) {
  const job = useFetched((signal) => get(`/jobs/${encodeURIComponent(id)}`, {}, signal), [id]);
  const counts = useFetched((signal) => get(`/batch-verify/${encodeURIComponent(id)}/status`, {}, signal), [id]);
  const [cancelling, setCancelling] = useState(false);
  const open = OPEN.includes(job.value?.status);
  // As long as it runs, how far it is is asked for each second.
  useEffect(() => {
    if (!open) return undefined;
    const timer = setTimeout(() => {
      counts.again();
      job.again();
    }, LOOK_MS);
    return () => clearTimeout(timer);
  }, [open, counts.value]);

  const cancel = open && html`<button type="button" class="button danger" onClick=${() => setCancelling(true)}>${t("lists.cancel")}</button>`;
  return html`<${Page} title=${t("lists.one")} lead=${html`<code>${id}</code>`} actions=${cancel}>
    <p><a href="#/lists">${t("lists.all")}</a></p>
    <${Fetched} from=${job} lines=${6}>${(of) => html`<${Card}>
      <${Facts} of=${[
        [t("lists.state"), html`<${State} of=${of.status} />`],
        [t("lists.source"), t(`trigger.${of.source}`)],
        [t("lists.created"), time(of.created_at)],
        [t("lists.finished"), time(of.finished_at)],
      ]} />
      <${Fetched} from=${counts}>${(found) => html`<${Progress} of=${found} />`}<//>
    <//>`}<//>
    ${job.value?.results && html`<${Card} title=${t("usage.reasons")}><${Reasons} of=${job.value.results} /><//>`}
    <${Card} title=${t("lists.files")}><${Files} id=${id} /><//>
    <${Card} title=${t("lists.results")}><${Rows} id=${id} turn=${open ? counts.value?.emailsProcessed : "closed"} /><//>
    ${cancelling && html`<${Confirm} title=${t("lists.cancel")} submit=${t("lists.cancel")} close=${() => setCancelling(false)}
      work=${() => post(`/batch-verify/${encodeURIComponent(id)}/cancel`, undefined, true).then(() => { job.again(); counts.again(); })}>
      ${t("lists.cancel_text", { n: Math.max(0, (counts.value?.numImported ?? 0) - (counts.value?.emailsProcessed ?? 0)) })}<//>`}
  <//>`;
}

function Progress({ of: counts }) {
  const { numImported: rows = 0, emailsProcessed: done = 0 } = counts;
  const share = rows > 0 ? done / rows : 0;
  return html`<div class="stack">
    <div role="progressbar" aria-label=${t("lists.progress")} aria-valuemin="0" aria-valuemax=${rows} aria-valuenow=${done}>
      <svg class="meter" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width=${share * 100} height="1" /></svg>
    </div>
    <div class="grid">
      <${Figure} label=${t("lists.done")} value=${`${number(done)} / ${number(rows)}`}>${percent(done, rows)}<//>
      ${STATUSES.map((status) => html`<${Figure} label=${html`<${Status} of=${status} />`} value=${number(counts[COUNTS[status]])}>
        ${percent(counts[COUNTS[status]] ?? 0, done)}<//>`)}
    </div>
  </div>`;
}

function Reasons({ of: { reasons, total } }) {
  const rows = Object.entries(reasons).filter(([, count]) => count > 0).sort(([, a], [, b]) => b - a);
  const columns = [
    { title: t("usage.reason"), cell: ([name]) => reason(name) },
    { title: t("usage.count"), number: true, cell: ([, count]) => number(count) },
    { title: t("usage.share"), number: true, cell: ([, count]) => percent(count, total) },
  ];
  return rows.length > 0 ? html`<${Table} caption=${t("usage.reasons")} columns=${columns} rows=${rows} id=${([name]) => name} />`
    : html`<p class="quiet">${t("evidence.none")}</p>`;
}

function Files({ id }) {
  const [status, setStatus] = useState("");
  return html`<div class="row">
    <${Select} label=${t("lists.only")} value=${status} set=${setStatus} options=${[["", t("lists.any")], ...STATUSES.map((of) => [of, t(`status.${of}`)])]} />
    ${FORMATS.map((format) => html`<a class="button" download href=${address(`/batch-verify/${encodeURIComponent(id)}/download`, { format, status })}>${t(`format.${format}`)}</a>`)}
  </div>`;
}

/** The rows, a page at a time. They are read again when more are done. */
function Rows({ id, turn }) {
  const [places, setPlaces] = useState(/** @type {(string | undefined)[]} */ ([undefined]));
  const place = places.at(-1);
  const page = useFetched((signal) => get(`/batch-verify/${encodeURIComponent(id)}/results`, { per_page: PER_PAGE, next: place }, signal), [id, place, turn]);
  const columns = [
    { title: t("lists.row"), number: true, cell: (row) => number(row.index + 1) },
    { title: t("verify.email"), cell: (row) => row.email },
    { title: t("lists.verdict"), cell: (row) => (row.processed && row.status ? html`<${Status} of=${row.status} />` : "–") },
    { title: t("usage.reason"), cell: (row) => (row.reason ? reason(row.reason) : "–") },
    { title: t("verify.meant"), cell: (row) => row.suggestion || "" },
  ];
  return html`<div class="stack">
    <${Fetched} from=${page} lines=${10}>${({ data }) => html`<${Table} caption=${t("lists.results")} columns=${columns} rows=${data} id=${(row) => row.index} />`}<//>
    <div class="row">
      <button type="button" class="button" disabled=${places.length === 1} onClick=${() => setPlaces(places.slice(0, -1))}>${t("list.back")}</button>
      <button type="button" class="button" disabled=${!page.value?.next} onClick=${() => setPlaces([...places, page.value.next])}>${t("list.on")}</button>
    </div>
  </div>`;
}
