/** List summary: result sentence, four figures, progress, pending work, and row totals. */
import { html, useRef } from "../../../vendor/lib.js";
import { post } from "../../api.js";
import { clock, duration, number, percent } from "../../format.js";
import { WhatButton, isMute, isUnchecked, lack } from "../../reach.js";
import { t } from "../../text.js";
import { showRows } from "./filter.js";
import { Asking, Donut, Glyph, Icon, partsOf, STATUSES, Strip } from "../../ui.js";

/** @param {{ of: import("../../live.js").Progress, filter: import("./filter.js").Filtering, metered: boolean, readable: boolean }} props */
export function Hero({ of, filter, metered, readable }) {
  return html`<section class="card hero-card" id="summary" aria-labelledby="hero-title">
    <div class="hero">
      <div class="ring"><${Donut} parts=${partsOf(of)} total=${of.processed} />
        <div><span class="value">${of.processed ? percent(of.passed, of.processed) : "–"}</span><span class="small quiet">${t("lists.share_passed")}</span></div></div>
      <div class="stack">
        <${Lead} of=${of} />
        <div class="tally">${STATUSES.map((status) => html`<${Figure} key=${status} of=${of} status=${status} filter=${filter} readable=${readable} />`)}</div>
        <${Bar} of=${of} />
      </div>
    </div>
    <${Held} of=${of} readable=${readable} />
    <${Waits} of=${of} filter=${filter} readable=${readable} />
    <${Sum} of=${of} metered=${metered} />
  </section>`;
}

function Lead({ of }) {
  const counted = { n: of.passed, total: of.processed };
  if (of.processed === 0) {
    return html`<div><h2 id="hero-title" class="lead-line">${of.over ? t("lists.hero_none") : isHeld(of) ? t("lists.hero_waits") : t("lists.hero_begins")}</h2></div>`;
  }
  return html`<div><h2 id="hero-title" class="lead-line">${of.repeated ? t("lists.hero_rows", counted) : t("lists.hero", counted)}</h2>
    <p class="quiet">${of.undeliverable > 0 ? t("lists.bounces", { share: percent(of.undeliverable, of.processed) }) : t("lists.no_bounces")}${" "}
      ${of.unknown > 0 && t("lists.open", { n: of.unknown })}</p></div>`;
}

function Figure({ of, status, filter, readable }) {
  const figure = html`<span class="label"><${Glyph} of=${status} />${t(`status.${status}`)}</span>
    <span class="value">${number(of[status])}</span><span class="small quiet">${percent(of[status], of.processed)}</span>`;
  if (!readable) return html`<div class=${status}>${figure}</div>`;
  return html`<button type="button" class=${status} aria-pressed=${filter.now.status === status} onClick=${() => filter.toggle({ status })}>${figure}</button>`;
}

/** Verdict bar; pending rows leave a gap. */
function Bar({ of }) {
  const pace = usePace(of);
  const left = of.rows - of.processed;
  return html`<div class="stack tight">
    <div role="progressbar" aria-label=${t("lists.progress")} aria-valuemin="0" aria-valuemax=${of.rows} aria-valuenow=${of.processed}>
      <${Strip} kind="l" parts=${partsOf(of)} total=${of.rows} /></div>
    <p class="row apart small quiet"><span>${t("lists.of_done", { done: of.processed, n: of.rows })}</span>
      ${!of.over && pace > 0 && html`<span>${t("lists.pace", { n: Math.round(pace) })}${left > pace && ` · ${t("lists.left", { time: duration(left / pace) })}`}</span>`}</p>
  </div>`;
}

/** Window of the speed measurement, in milliseconds. */
const PACE_MS = 15_000;

/** Recent speed in rows per second. */
function usePace({ processed, over }) {
  const seen = useRef(/** @type {[number, number][]} */ ([]));
  const now = performance.now();
  const last = seen.current.at(-1);
  if (!last || last[1] !== processed) seen.current = [...seen.current.filter(([at]) => now - at < PACE_MS), [now, processed]];
  const [first] = seen.current;
  if (over || !first || now - first[0] < 500) return 0;
  return ((processed - first[1]) * 1000) / (now - first[0]);
}

/** True if the list is held because mail servers are unreachable. @param {import("../../live.js").Progress} of */
const isHeld = (of) => !of.over && !of.hurried && (isMute() || (isUnchecked() && of.processed === 0));

/**
 * After confirmation, probes deferred or throttled addresses one last time.
 * @param {{ of: import("../../live.js").Progress, kind: string, children?: unknown }} props
 */
const Finish = ({ of, kind, children }) => html`<${Asking} kind=${kind} label=${t("lists.finish")} work=${() => post(`/app/jobs/${encodeURIComponent(of.id)}/finish`)}>${children}<//>`;

/** Reason why the list has not started or is not progressing. */
function Held({ of, readable }) {
  if (!isHeld(of)) return null;
  return html`<div class="waits" role="status">
    <${Icon} name="clock" large=${true} />
    <div><p><b>${isMute() ? t("reach.title") : t("reach.checking")}</b>${" "}
      <span class="quiet">${isMute() && lack()} ${t("reach.waits")}</span></p></div>
    ${isMute() && html`<span class="row"><${WhatButton} />${readable && html`<${Finish} of=${of} kind="plain slim">${t("reach.finish_text")}<//>`}</span>`}
  </div>`;
}

function Waits({ of, filter, readable }) {
  if (of.over || (!of.deferred && !of.throttled && !of.hurried)) return null;
  const waiting = [["deferred", of.deferred], ["throttled", of.throttled]].filter(([, some]) => some);
  return html`<div class="waits" role="status">
    <${Icon} name="clock" large=${true} />
    <div>${of.hurried && html`<p>${t("lists.hurried")}</p>`}
      ${!of.hurried && waiting.map(([why, { addresses: n, last_at: at }]) => html`<p><b>${why === "deferred" ? t("lists.deferred", { n, at: clock(at) }) : t("lists.throttled", { n, at: clock(at) })}</b>${" "}
        <span class="quiet">${why === "deferred" ? t("lists.deferred_why") : t("lists.throttled_why")}</span></p>`)}</div>
    ${readable && html`<span class="row">
      ${!of.hurried && html`<${Finish} of=${of} kind="slim">${t("lists.finish_text")}<//>`}
      <button type="button" class="button plain slim" onClick=${() => filter.has({ status: "pending" }) ? showRows() : filter.toggle({ status: "pending" })}>${t("lists.see_waiting")}</button></span>`}
  </div>`;
}

/** Relation between rows, distinct addresses and credits. */
function Sum({ of, metered }) {
  const { rows, repeated, without, credits } = of;
  const paid = metered && credits;
  const distinct = rows - (repeated ?? 0);
  const differs = repeated !== null && (repeated > 0 || (paid && credits.spent !== distinct));
  const free = paid ? Math.max(0, distinct - credits.spent - credits.set_aside) : 0;
  return html`<footer class="sumup">
    <span>${t("lists.sum_rows", { n: rows + (without ?? 0) })}</span>
    ${without > 0 && html`<i>−</i><span>${t("lists.sum_without", { n: without })}</span>`}
    ${repeated !== null && html`<i>−</i><span>${t("lists.sum_repeated", { n: repeated })}</span><i>=</i><span>${t("lists.sum_distinct", { n: distinct })}</span>`}
    ${paid && repeated !== null && html`<i>=</i><span>${t("lists.sum_spent", { n: credits.spent })}</span>
      ${credits.set_aside > 0 && html`<i>+</i><span>${t("lists.sum_held", { n: credits.set_aside })}</span>`}
      ${free > 0 && html`<i>+</i><span>${of.status === "cancelled" ? t("lists.sum_released", { n: free }) : t("lists.sum_free", { n: free })}</span>`}`}
    ${differs && html`<details><summary>${t("lists.sum_why")}</summary><p>${t("lists.sum_text")} ${paid && t("lists.sum_text_credits")}</p></details>`}
  </footer>`;
}
