/**
 * Recent days against the preceding period: figures with their change, and daily bars. Only whole days are compared; today is
 * shown separately. Without earlier data, all days count and nothing is compared.
 */
import { html, useState } from "../../../vendor/lib.js";
import { number, percent } from "../../format.js";
import { locale, t } from "../../text.js";
import { Card, Curve, Empty, Figure, Glyph, STATUSES, Switch } from "../../ui.js";
import { DailyChart } from "../../ui/chart.js";

/** Statuses with the direction in which a higher share is better. */
const GOOD = /** @type {const} */ ([["passed", 1], ["risky", -1], ["undeliverable", -1]]);
/** Smallest significant change of a share, in percentage points. */
const LEAST = 0.1;

/** @typedef {{ date: string, total: number, statuses: Record<string, number> }} ReportDay */

/** @param {{ rows: ReportDay[], n: number }} props 2 × `n` whole days and today; the second half and today are drawn */
export function Trend({ rows, n }) {
  const [isShare, setShare] = useState(false);
  const days = [...rows].sort((a, b) => a.date.localeCompare(b.date));
  const [whole, today] = [days.slice(0, -1), days.slice(-1)];
  const was = sums(whole.slice(0, -n));
  const compares = was.total > 0;
  const is = sums(compares ? whole.slice(-n) : days.slice(-n - 1));
  const shares = compares && is.total > 0;
  const none = is.total + sums(today).total === 0;
  if (none) return html`<${Card} title=${t("overview.days", { n })}><${Empty} title=${t("overview.no_days")} action=${html`<a class="button" href="#/verify">${t("verify.title")}</a>`}>${t("overview.no_days_text")}<//><//>`;
  const shown = days.slice(-n - 1);
  const share = (status) => shown.filter(({ total }) => total > 0).map(({ total, statuses }) => statuses[status] / total);
  return html`<div class="figures">
      <div class="card"><${Figure} label=${t("usage.total")} value=${number(is.total)}>${compares && html`<${Change} by=${100 * (is.total / was.total - 1)} unit="percent" /> ${t("overview.was", { value: number(was.total) })}`}<//>
        <${Curve} values=${shown.map(({ total }) => total)} /></div>
      ${GOOD.map(([status, good]) => html`<div class=${`card ${status}`} key=${status}><${Figure} label=${html`<${Glyph} of=${status} />${t(`status.${status}`)}`} value=${percent(is[status], is.total)}>
        ${shares && html`<${Change} by=${100 * (is[status] / is.total - was[status] / was.total)} good=${good} /> ${t("overview.was", { value: percent(was[status], was.total) })}`}<//>
        <${Curve} values=${share(status)} /></div>`)}
    </div>
    <${Card} title=${t("overview.days", { n })} actions=${html`<${Switch} label=${t("show")} options=${[[false, t("lists.addresses")], [true, t("usage.share")]]} value=${isShare} set=${setShare} />`}>
      ${compares && html`<p class="quiet small">${t("overview.compared", { n, today: number(sums(today).total) })}</p>`}
      <${DailyChart} isShare=${isShare} days=${shown} before=${compares ? days.slice(0, -n).map(({ total }) => total) : undefined} caption=${t("overview.days", { n })} />
    <//>`;
}

/** @param {ReportDay[]} days @returns {Record<string, number>} */
function sums(days) {
  const sum = (of) => days.reduce((all, day) => all + of(day), 0);
  return { total: sum(({ total }) => total), ...Object.fromEntries(STATUSES.map((status) => [status, sum(({ statuses }) => statuses[status])])) };
}

/** Change in points or percent; color and text rate it. @param {{ by: number, good?: number, unit?: "percent" }} props */
function Change({ by, good = 0, unit }) {
  if (Math.abs(by) < LEAST) return html`<span class="change-of">=</span>`;
  const kind = good * by > 0 ? "good" : good * by < 0 ? "bad" : "";
  const size = Math.abs(by).toLocaleString(locale(), { maximumFractionDigits: 1 });
  return html`<span class=${`change-of ${kind}`}><span aria-hidden="true">${by > 0 ? "↑" : "↓"}</span><span class="hidden-text">${by > 0 ? "+" : "−"}</span>${unit ? percent(Math.abs(by), 100) : t("overview.points", { n: size })}${kind && html`<span class="hidden-text"> (${t(`overview.${kind}`)})</span>`}</span>`;
}
