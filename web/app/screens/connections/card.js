/** Connection card: platform, latest verdicts and state. */
import { html } from "../../../vendor/lib.js";
import { get } from "../../api.js";
import { sentence, time } from "../../format.js";
import { link } from "../../route.js";
import { t, woven } from "../../text.js";
import { Ago, Failure, partsOf, Skeleton, Strip, useFetched } from "../../ui.js";
import { goes, useRuns, waits } from "./live.js";
import { Monogram } from "./platform.js";

/** Recent runs searched for one that needs confirmation. */
const RUNS = 5;

export function ConnectionCard({ platform, of }) {
  const runs = useRuns(of.type, of.id, RUNS);
  const rows = runs.value?.rows ?? [];
  const last = rows.find((run) => run.rows > 0);
  const contacts = last && t("connections.contacts", { n: last.rows });
  return html`<div class="card compact linked">
    <div class="named"><${Monogram} type=${of.type} name=${platform.name} />
      <div class="grow"><h2><a href=${link(["connections", of.type, of.id])}>${of.name}</a></h2>
        <p class="quiet small">${[platform.name, contacts].filter(Boolean).join(" · ")}</p></div></div>
    <${LastVerdicts} key=${last?.id} of=${last} />
    ${runs.failure !== undefined ? html`<${Failure} of=${runs.failure} again=${runs.again} />`
      : runs.value === undefined ? html`<${Skeleton} lines=${2} />` : html`<${ConnectionState} of=${of} runs=${rows} />`}
  </div>`;
}

/** Verdicts of the last run, if known. */
function LastVerdicts({ of }) {
  const known = useFetched((signal) => (of && !goes(of) ? get(`/app/jobs/${of.id}/progress`, {}, signal) : Promise.resolve(undefined)), [of?.id, of?.state]);
  return known.value?.rows > 0 && html`<${Strip} parts=${partsOf(known.value)} total=${known.value.rows} />`;
}

/** State badge with details. */
export function ConnectionState({ of, runs }) {
  const [kind, word, more] = state(of, runs);
  return html`<div class="connection-state" role="status"><span class=${`badge ${kind}`}>${word}</span><p class="quiet small">${more}</p></div>`;
}

/** @returns {[string, string, unknown]} badge kind, label, explanation */
function state(of, runs) {
  const gone = of.disconnected_at;
  if (of.disconnected_reason === "credential") return ["bad", t("connections.refused"), t("connections.refused_at", { at: time(gone) })];
  if (gone) return ["", t("connections.disconnected"), t("connections.disconnected_at", { at: time(gone) })];
  const [going, waiting, last] = [runs.find(goes), runs.find(waits), runs[0]];
  if (going) return ["", t("connections.runs_now"), t(`run.${going.state}`)];
  if (waiting) return ["warn", t("connections.waits"), t("connections.waits_for", { n: waiting.actions.planned })];
  if (!last) return ["", t("connections.new"), t("connections.new_text")];
  if (last.state === "failed") return ["bad", t("connections.failed"), sentence(last.fault ?? "")];
  if (last.state === "cancelled") return ["", t("run.cancelled"), woven("ended.cancelled", { at: html`<${Ago} at=${last.finished_at} />` })];
  return ["good", t("connections.fine"), woven("connections.fine_text", { when: html`<${Ago} at=${last.finished_at ?? last.created_at} />` })];
}
