/** One run: progress, planned or completed actions with examples, and its confirmation. */
import { html, useEffect, useRef } from "../../../vendor/lib.js";
import { get, post } from "../../api.js";
import { number, percent, sentence, time } from "../../format.js";
import { readableAddress } from "../../idn.js";
import { useProgress } from "../../live.js";
import { link } from "../../route.js";
import { administrates } from "../../session.js";
import { t, woven } from "../../text.js";
import { Ago, Button, Card, Fetched, Note, partsOf, reason, STATUS_OF, STATUSES, Strip, Table, toast, useFetched, word } from "../../ui.js";
import { named } from "../timeline/names.js";
import { Who } from "../timeline/sentence.js";
import { goes, held, waits } from "./live.js";
import { described } from "./platform.js";
import { Ground } from "./review.js";

/** Maximum number of planned actions loaded as examples. */
const EXAMPLES = 20;

/** @param {import("./one.js").Known & { run: import("./live.js").Run }} props */
export function RunPanel({ run, ...known }) {
  if (run.state === "reading") return html`<${Going} run=${run} ...${known}><p class="big">${t("connections.read", { n: run.contacts })}</p><//>`;
  if (run.state === "verifying") return html`<${Going} run=${run} ...${known}><${Verifying} run=${run} /><//>`;
  return html`<${Decided} run=${run} ...${known} />`;
}

/** Run in progress, with a button that stops it. */
function Going({ run, path, again, platform, children }) {
  return html`<section class="card" aria-labelledby="run">
    <div class="row apart"><h2 id="run">${t(`run.${run.state}`)}</h2><${Stop} run=${run} path=${path} again=${again} /></div>
    ${children}
    ${run.waits_until && html`<p class="quiet small">${waiting(run, platform)}</p>`}
    <p class="quiet small">${run.dry_run ? t("connections.only_looks") : when("connections.started", run.created_at)}</p>
  </section>`;
}

/** @param {string} name text with a time @param {string} at */
const when = (name, at) => woven(name, { at: html`<${Ago} at=${at} />` });

/** Reason for a wait: a failed call, or a delay that the platform requires. */
function waiting({ fault, waits_until }, platform) {
  const at = time(waits_until);
  return fault ? t("connections.repeats", { fault: sentence(fault), at }) : t("connections.pause", { platform: platform.name, at });
}

function Stop({ run, path, again }) {
  if (!administrates.value) return null;
  const stop = async () => {
    await post(`${path}/runs/${run.id}/cancel`, undefined, true);
    again();
  };
  return html`<${Button} kind="slim" work=${stop}>${t("connections.stop")}<//>`;
}

/** Live verdicts of the run's job. */
function Verifying({ run }) {
  const { value } = useProgress(run.id);
  const processed = value?.processed ?? 0;
  const rows = value?.rows || run.rows;
  return html`<p class="big">${t("connections.verified_of", { n: processed, rows })}</p>
    ${rows > 0 && html`<${Strip} parts=${partsOf(value ?? {})} total=${rows} />`}
    <p class="quiet small">${STATUSES.map((status) => `${t(`status.${status}`)} ${number(value?.[status])}`).join(" · ")}</p>`;
}

/** Verified run: planned, running or completed actions. */
function Decided({ run, path, platform, of, again }) {
  const detail = useDetail(run, path);
  const { value: progress } = useFetched((signal) => (run.rows > 0 ? get(`/app/jobs/${run.id}/progress`, {}, signal) : Promise.resolve(undefined)), [run.id]);
  return html`<${Fetched} from=${detail} lines=${6}>${({ counts, examples, confirmed_by: by }) => html`
    <section class="card run-panel" aria-labelledby="run">
      <div class="stack">
        <p class="quiet">${said(run)}</p>
        <h2 class="big" id="run"><${Headline} run=${run} counts=${counts} of=${of} /></h2>
        <${Bar} run=${run} />
        <p class="quiet small"><${Rest} run=${run} counts=${counts} progress=${progress} /></p>
        ${by && html`<p class="quiet small"><${ConfirmedBy} of=${by} at=${run.confirmed_at} /></p>`}
        ${run.fault && html`<${Note} kind=${run.state === "failed" ? "bad" : "warning"}>${run.waits_until ? waiting(run, platform) : sentence(run.fault)}<//>`}
        ${waits(run) && html`<${Decide} run=${run} path=${path} counts=${counts} platform=${platform} isActive=${of.status === "active"} again=${again} />`}
        ${run.state === "acting" && html`<div><${Stop} run=${run} path=${path} again=${again} /></div>`}
      </div>
      <${Why} run=${run} counts=${counts} />
    </section>
    ${examples.length > 0 && html`<${Examples} run=${run} of=${examples} connection=${of} path=${path} again=${again} />`}`}<//>`;
}

/** Who confirmed the run, and when. */
function ConfirmedBy({ of, at }) {
  const names = useFetched(named, []);
  return woven("connections.confirmed_by", { who: html`<${Who} of=${of} names=${names} />`, at: html`<${Ago} at=${at} />` });
}

/** Actions of a run by reason, reloaded when their counts change; pending examples accept decisions. */
function useDetail(run, path) {
  const stamp = `${run.state} ${JSON.stringify(run.actions)}`;
  const detail = useFetched(async (signal) => {
    const [{ counts, examples, confirmed_by }, { data }] = await Promise.all([
      get(`${path}/runs/${run.id}`, {}, signal),
      waits(run) ? get(`${path}/review`, { per_page: EXAMPLES }, signal) : { data: [] },
    ]);
    const open = data.filter((one) => one.run_id === run.id).map((one) => ({ ...one, state: "planned", message: null }));
    return { counts, confirmed_by, examples: open.length > 0 ? open : examples };
  }, [path, run.id]);
  const seen = useRef(stamp);
  useEffect(() => {
    if (seen.current === stamp) return;
    seen.current = stamp;
    detail.again();
  }, [stamp]);
  return detail;
}

/** Summary of the run's state. @param {import("./live.js").Run} run */
function said(run) {
  if (waits(run)) return held(run);
  if (goes(run)) return when("connections.started", run.created_at);
  return when(`ended.${run.state}`, run.finished_at ?? run.created_at);
}

/** Common kind of all actions, or `several`. */
function kindOf(counts) {
  const kinds = new Set(counts.map(({ action }) => action));
  return kinds.size === 1 ? [...kinds][0] : "several";
}

function Headline({ run, counts, of }) {
  const { planned, due, done, failed, ignored } = run.actions;
  const kind = kindOf(waits(run) ? counts.filter((one) => one.planned > 0) : counts);
  const rows = number(run.rows);
  if (waits(run)) return t(`would.${kind}`, { n: planned, rows });
  if (run.state === "acting") return t(`doing.${kind}`, { n: done + failed, rows: number(done + failed + due) });
  if (done > 0) return t(`did.${kind}`, { n: done, rows });
  if (run.state !== "finished" || failed + ignored > 0) return t("connections.nothing_done", { n: run.rows });
  return of.settings.action ? t("connections.all_fine", { n: run.rows }) : t("connections.only_verified", { n: run.rows });
}

/** Share of contacts acted upon; during execution, progress of the actions. */
function Bar({ run }) {
  const { planned, due, done, failed } = run.actions;
  if (run.state === "acting") return html`<${Strip} parts=${[["addresses", done], ["undeliverable", failed]]} total=${done + failed + due} />`;
  return html`<${Strip} parts=${[["addresses", done], ["undeliverable", planned + failed]]} total=${run.rows} />`;
}

/** Sentences about the remaining contacts. */
function Rest({ run, counts, progress }) {
  const { planned, due, done, failed, ignored } = run.actions;
  const upon = planned + due + done + failed + ignored;
  const unknown = counts.some(({ reason: why }) => STATUS_OF[why] === "unknown") ? 0 : (progress?.unknown ?? 0);
  const stays = run.rows - upon + ignored;
  const parts = [
    waits(run) && t("connections.share", { share: percent(planned, run.rows) }),
    upon > 0 && (unknown > 0 ? t("connections.stay_unknown", { n: stays, unknown }) : t("connections.stay", { n: stays })),
    run.contacts > run.rows && t("connections.not_verified", { n: run.contacts - run.rows }),
    failed > 0 && t("connections.refused_n", { n: failed }),
    ignored > 0 && !waits(run) && t("connections.kept_n", { n: ignored }),
  ];
  return parts.filter(Boolean).join(" ");
}

/** Confirmation with the displayed count. The server rejects a different count, so only displayed actions are confirmed. */
function Decide({ run, path, counts, platform, isActive, again }) {
  if (!administrates.value) return null;
  const open = counts.filter(({ planned }) => planned > 0);
  const kinds = [...new Set(open.map(({ action }) => action))];
  const kind = kindOf(open);
  const { done, due, failed } = run.actions;
  const notes = platform.actions.filter(({ action, note }) => note && kinds.includes(action)).map(({ note }) => described(note));
  const minded = done + due + failed > 0 ? t("connections.minded_rest") : t("connections.minded");
  const decide = (what, body, told) => async () => {
    try {
      await post(`${path}/runs/${run.id}/${what}`, body, true);
      toast(told);
    } finally {
      again();
    }
  };
  return html`<div class="row">
      ${isActive && html`<${Button} kind="primary" work=${decide("confirm", { actions: run.actions.planned }, t("connections.confirmed"))}>${t(`act.${kind}`, { n: run.actions.planned })}<//>`}
      <${Button} work=${decide("cancel", undefined, minded)}>${t("connections.never_mind")}<//>
    </div>
    <p class="small">${[...kinds.map((one) => t(`undo.${one}`, { platform: platform.name })), ...notes].join(" ")}</p>`;
}

/** Counts by reason, with the action if reasons differ in it. */
function Why({ run, counts }) {
  const all = ({ planned, due, done, failed, ignored }) => (waits(run) ? planned : planned + due + done + failed + ignored);
  const shown = counts.filter((one) => all(one) > 0);
  if (shown.length === 0) return null;
  const several = kindOf(shown) === "several";
  return html`<dl class="why">${shown.map((one) => html`<div key=${`${one.action} ${one.reason}`}>
    <dt>${reason(one.reason)}${several && html`<span class="quiet small"> ${t(`action.${one.action}`)}</span>`}</dt><dd class="number">${number(all(one))}</dd></div>`)}</dl>`;
}

function Examples({ run, of, connection, path, again }) {
  const isOpen = waits(run) && administrates.value && of.some(({ index }) => index !== undefined);
  const keep = async (one) => {
    await post(`${path}/review/decisions`, { decisions: [{ run_id: run.id, index: one.index, decision: "ignore" }] }, true);
    toast(t("connections.kept", { email: one.email }));
    again();
  };
  const columns = [
    { title: t("connections.contact"), cell: (one) => html`<a href=${link(["lists", run.id], { q: one.email })}>${one.email}</a>` },
    { title: t("usage.reason"), cell: (one) => html`${reason(one.reason)}<${Ground} of=${one} />` },
    { title: waits(run) ? t("connections.would") : t("action"), cell: (one) => html`${t(`action.${one.action}`)}${one.suggestion && html`<div class="quiet small">${t("connections.to", { email: readableAddress(one.suggestion) })}</div>`}` },
    isOpen ? { title: t("team.do"), acts: true, cell: (one) => html`<${Button} kind="slim" label=${t("connections.keep_of", { email: one.email })} work=${() => keep(one)}>${t("connections.keep")}<//>` }
      : { title: t("lists.state"), cell: (one) => html`${word("became", one.state)}${one.message && html`<div class="quiet small">${one.message}</div>`}` },
  ];
  const total = Object.values(run.actions).reduce((sum, count) => sum + count, 0);
  const all = waits(run) && html`<a class="button slim" href=${link(["connections", connection.type, connection.id], { tab: "review" })}>${t("connections.all_n", { n: run.actions.planned })}</a>`;
  return html`<${Card} title=${of.length < total ? t("connections.examples", { n: of.length }) : t("connections.all_contacts")} actions=${all}>
    <div class="brief"><${Table} caption=${t("connections.examples_caption")} columns=${columns} rows=${of} id=${(one) => one.contact_id} /></div>
  <//>`;
}
