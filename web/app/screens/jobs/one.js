/** One list: how far it is, what it costs, what came out, its rows, and the files to take away. */
import { html, useEffect, useState } from "../../../vendor/lib.js";
import { address, get, offered, post } from "../../api.js";
import { number, percent, time } from "../../format.js";
import { useProgress } from "../../live.js";
import { t } from "../../text.js";
import { Bars } from "../../ui/bars.js";
import { Confirm } from "../../ui/dialog.js";
import { Check, Select } from "../../ui/fields.js";
import { Note } from "../../ui/notes.js";
import { Card, Facts, Figure, Page } from "../../ui/page.js";
import { Fetched, useFetched } from "../../ui/table.js";
import { toast, toastFailure } from "../../ui/toasts.js";
import { State, Status, reason } from "../../ui/verdict.js";
import { Rows } from "./rows.js";

const STATUSES = ["passed", "undeliverable", "risky", "unknown"];
/** The source of what sums up a day of the widget: no rows of it are kept. */
const WIDGET = "widget";
const FORMATS = ["csv", "xlsx", "ndjson"];

/** @param {{ id: string, query?: URLSearchParams }} props */
export function One({ id, query }) {
  const progress = useProgress(id);
  const [cancelling, setCancelling] = useState(false);
  const [cancelled, setCancelled] = useState(/** @type {{ before: number } | undefined} */ (undefined));
  useTold(progress.value, cancelled, () => setCancelled(undefined));
  const of = progress.value;
  const open = of && !of.over;

  async function cancel() {
    const before = of?.credits?.returned ?? 0;
    await post(`/batch-verify/${encodeURIComponent(id)}/cancel`, undefined, true);
    setCancelled({ before });
  }

  const stop = open && html`<button type="button" class="button danger" onClick=${() => setCancelling(true)}>${t("lists.cancel")}</button>`;
  return html`<${Page} title=${t("lists.one")} lead=${html`<code>${id}</code>`} actions=${stop}>
    <p><a href="#/lists">${t("lists.all")}</a></p>
    <${Fetched} from=${progress} lines=${10}>${(value) => html`<${Known} of=${value} query=${query} />`}<//>
    ${cancelling && of && html`<${Confirm} title=${t("lists.cancel")} submit=${t("lists.cancel")} close=${() => setCancelling(false)} work=${cancel}>
      ${t("lists.cancel_text", { n: of.rows - of.processed })} ${of.credits && t("lists.cancel_credits", { n: of.credits.set_aside })}<//>`}
  <//>`;
}

/**
 * Tells, once a list that was cancelled here is over, how many credits came back with that. It may have been completed meanwhile.
 * @param {import("../../live.js").Progress | undefined} of @param {{ before: number } | undefined} cancelled @param {() => void} done
 */
function useTold(of, cancelled, done) {
  useEffect(() => {
    if (!of?.over || !cancelled) return;
    done();
    if (of.status === "cancelled") toast(t("lists.returned", { n: Math.max(0, (of.credits?.returned ?? 0) - cancelled.before) }));
  }, [of?.over, cancelled]);
}

function Known({ of, query }) {
  return html`
    <${Card}>
      <div class="columns">
        <${Facts} of=${[
          [t("lists.state"), html`<${State} of=${of.status} />`],
          [t("lists.source"), t(`trigger.${of.source}`)],
          [t("lists.created"), time(of.created_at)],
          [t("lists.finished"), time(of.finished_at)],
        ]} />
        ${of.credits && html`<${Facts} of=${[
          [t("lists.spent"), number(of.credits.spent)],
          [t("lists.set_aside"), number(of.credits.set_aside)],
          [t("lists.given_back"), number(of.credits.returned)],
        ]} />`}
      </div>
      <${Meter} of=${of} />
    <//>
    ${of.processed > 0 && html`<${Charts} of=${of} />`}
    ${of.purged_at ? html`<${Note}>${of.source === WIDGET ? t("lists.widget_day") : t("lists.purged", { at: time(of.purged_at) })}<//>` : html`
      <${Card} title=${t("lists.files")}><${Files} of=${of} /><//>
      <${Card} title=${t("lists.results")}><${Rows} of=${of} query=${query} /><//>`}`;
}

function Meter({ of: { rows, processed, ...counts } }) {
  const share = rows > 0 ? processed / rows : 0;
  return html`<div class="stack">
    <div role="progressbar" aria-label=${t("lists.progress")} aria-valuemin="0" aria-valuemax=${rows} aria-valuenow=${processed}>
      <svg class="meter" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width=${share * 100} height="1" /></svg>
    </div>
    <div class="grid">
      <${Figure} label=${t("lists.done")} value=${`${number(processed)} / ${number(rows)}`}>${percent(processed, rows)}<//>
      ${STATUSES.map((status) => html`<${Figure} label=${html`<${Status} of=${status} />`} value=${number(counts[status])}>
        ${percent(counts[status], processed)}<//>`)}
    </div>
  </div>`;
}

/** What came out so far, by verdict, by reason and by mail provider. */
function Charts({ of }) {
  const largest = (a, b) => b.count - a.count;
  const statuses = STATUSES.map((status) => ({ key: status, label: html`<${Status} of=${status} />`, count: of[status], parts: [[status, of[status]]] }));
  const reasons = Object.entries(of.reasons).map(([name, count]) => ({ key: name, label: reason(name), count }));
  const providers = of.providers.map(({ id, name, processed, ...counts }) => ({
    key: id ?? "",
    label: name ?? t("provider.other"),
    count: processed,
    parts: STATUSES.map((status) => [status, counts[status]]),
    note: percent(counts.unknown, processed),
  }));
  return html`<div class="columns">
    <${Card} title=${t("lists.verdicts")}><${Bars} caption=${t("lists.verdicts")} of=${t("lists.verdict")} bars=${statuses} total=${of.processed} /><//>
    <${Card} title=${t("usage.reasons")}><${Bars} caption=${t("usage.reasons")} of=${t("usage.reason")} bars=${reasons.sort(largest)} total=${of.processed} /><//>
    <${Card} title=${t("provider.title")}><${Bars} caption=${t("provider.title")} of=${t("provider.provider")} bars=${providers.sort(largest)}
      total=${of.processed} note=${t("status.unknown")} /><//>
  </div>`;
}

function Files({ of }) {
  const [status, setStatus] = useState("");
  const [why, setWhy] = useState("");
  const [provider, setProvider] = useState("");
  const [own, setOwn] = useState(true);
  // A list that was made of a file can be taken away with the file's columns, as long as that is kept.
  const uploads = useFetched((signal) => (of.source === "csv" ? get("/app/uploads", { job: of.id }, signal) : Promise.resolve({ data: [] })), [of.source, of.id]);
  const kept = uploads.value?.data.length > 0;
  const columns = kept && own ? "original" : "";
  const options = (list, text) => [["", t("lists.any")], ...list.map((one) => [one, text(one)])];
  const providers = of.providers.map(({ id, name }) => [id ?? "other", name ?? t("provider.other")]);
  const path = `/batch-verify/${encodeURIComponent(of.id)}/download`;
  const query = (format) => ({ format, status, reason: why, provider, columns });
  const take = (format) => async (event) => {
    event.preventDefault();
    try {
      await offered(path, query(format));
      save(address(path, query(format)));
    } catch (failure) {
      toastFailure(failure);
    }
  };
  return html`<div class="row">
    <${Select} label=${t("lists.only")} value=${status} set=${setStatus} options=${options(STATUSES, (one) => t(`status.${one}`))} />
    <${Select} label=${t("usage.reason")} value=${why} set=${setWhy} options=${options(Object.keys(of.reasons), reason)} />
    <${Select} label=${t("provider.provider")} value=${provider} set=${setProvider} options=${[["", t("lists.any")], ...providers]} />
    ${FORMATS.map((format) => html`<a class="button" download href=${address(path, query(format))} onClick=${take(format)}>${t(`format.${format}`)}</a>`)}
    ${kept && html`<${Check} label=${t("lists.own_columns")} checked=${own} set=${setOwn} />`}
  </div>`;
}

/** Has the browser fetch a file, as a link does. @param {string} from */
function save(from) {
  const link = document.createElement("a");
  link.href = from;
  link.download = "";
  link.click();
}
