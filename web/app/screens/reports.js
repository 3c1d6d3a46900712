/** Usage reports for a period: by status and reason, and by day with a selectable breakdown. */
import { html } from "../../vendor/lib.js";
import { get } from "../api.js";
import { useFilter } from "../filter.js";
import { number, percent, utcDay } from "../format.js";
import { testing } from "../mode.js";
import { t } from "../text.js";
import { Card, Fetched, Figure, Page, reason, Select, STATUSES, Table, useFetched, Verdict } from "../ui.js";
import { Division } from "./reports/division.js";

const PERIODS = ["this_week", "this_month", "this_year", "lifetime"];

/** @param {{ query: URLSearchParams }} props */
export function Screen({ query }) {
  const filter = useFilter(["usage"], query, { period: "", by: "", show: "", from: "", to: "" });
  const period = PERIODS.find((one) => one === filter.now.period) ?? "this_month";
  const report = useFetched((signal) => get("/reports/usage", { period }, signal), [period]);
  return html`<${Page} title=${t("usage.title")} lead=${t("usage.lead")}>
    ${testing.value && html`<p class="quiet small">${t("mode.reports")}</p>`}
    <${Card}>
      <div class="row"><${Select} label=${t("usage.period")} value=${period} set=${(next) => filter.set({ period: next })}
        options=${PERIODS.map((of) => [of, t(`period.${of}`)])} /></div>
      <${Fetched} from=${report} lines=${8}>${(of) => html`<${Report} of=${of} />`}<//>
    <//>
    <${Division} filter=${filter} />
  <//>`;
}

function Report({ of: { range, total, statuses, reasons } }) {
  const rows = Object.entries(reasons).filter(([, count]) => count > 0).sort(([, a], [, b]) => b - a);
  const columns = [
    { title: t("usage.reason"), cell: ([name]) => reason(name) },
    { title: t("lists.addresses"), number: true, cell: ([, count]) => number(count) },
    { title: t("usage.share"), number: true, cell: ([, count]) => percent(count, total) },
  ];
  return html`<div class="stack">
    ${range && html`<p class="quiet small">${utcDay(range.start)} – ${utcDay(Date.parse(range.end) - 1)}</p>`}
    <div class="grid shares">
      <${Figure} label=${t("usage.total")} value=${number(total)} />
      ${STATUSES.map((status) => html`<${Figure} key=${status} label=${html`<${Verdict} of=${status} />`} value=${number(statuses[status])}>
        ${percent(statuses[status], total)}<//>`)}
    </div>
    ${rows.length > 0 && html`<${Table} caption=${t("usage.reasons")} columns=${columns} rows=${rows} id=${([name]) => name} />`}
  </div>`;
}
