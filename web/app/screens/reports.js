/** Reports: what was verified in a period, by status and reason, and by day. */
import { html, useState } from "../../vendor/lib.js";
import { get } from "../api.js";
import { number, percent, utcDay } from "../format.js";
import { t } from "../text.js";
import { DailyChart } from "../ui/chart.js";
import { Select } from "../ui/fields.js";
import { Button } from "../ui/buttons.js";
import { Card, Figure, Page } from "../ui/page.js";
import { Fetched, Table, useFetched } from "../ui/table.js";
import { Status, reason } from "../ui/verdict.js";

const PERIODS = ["this_week", "this_month", "this_year", "lifetime"];
const SPANS = ["30", "90", "366"];
const STATUSES = ["passed", "undeliverable", "risky", "unknown"];

export function Screen() {
  const [period, setPeriod] = useState("this_month");
  const [span, setSpan] = useState("30");
  const report = useFetched((signal) => get("/reports/usage", { period }, signal), [period]);
  const days = useFetched((signal) => get("/reports/usage/daily", { days: span }, signal), [span]);
  return html`<${Page} title=${t("usage.title")} lead=${t("usage.lead")}>
    <${Card}>
      <div class="row"><${Select} label=${t("usage.period")} value=${period} set=${setPeriod}
        options=${PERIODS.map((of) => [of, t(`period.${of}`)])} /></div>
      <${Fetched} from=${report} lines=${8}>${(of) => html`<${Report} of=${of} />`}<//>
    <//>
    <${Card} title=${t("usage.by_day")} actions=${days.value && html`<${Button} kind="slim" work=${() => save(days.value.data)}>${t("usage.export")}<//>`}>
      <div class="row"><${Select} label=${t("usage.span")} value=${span} set=${setSpan} options=${SPANS.map((n) => [n, t("usage.days", { n: Number(n) })])} /></div>
      <${Fetched} from=${days} lines=${8}>${({ data }) => html`<${DailyChart} caption=${t("usage.by_day")}
        days=${[...data].sort((a, b) => a.date.localeCompare(b.date))} />`}<//>
    <//>
  <//>`;
}

function Report({ of: { range, total, statuses, reasons } }) {
  const rows = Object.entries(reasons).filter(([, count]) => count > 0).sort(([, a], [, b]) => b - a);
  const columns = [
    { title: t("usage.reason"), cell: ([name]) => reason(name) },
    { title: t("usage.count"), number: true, cell: ([, count]) => number(count) },
    { title: t("usage.share"), number: true, cell: ([, count]) => percent(count, total) },
  ];
  return html`<div class="stack">
    ${range && html`<p class="quiet small">${utcDay(range.start)} – ${utcDay(Date.parse(range.end) - 1)}</p>`}
    <div class="grid">
      <${Figure} label=${t("usage.total")} value=${number(total)} />
      ${STATUSES.map((status) => html`<${Figure} label=${html`<${Status} of=${status} />`} value=${number(statuses[status])}>
        ${percent(statuses[status], total)}<//>`)}
    </div>
    ${rows.length > 0 && html`<${Table} caption=${t("usage.reasons")} columns=${columns} rows=${rows} id=${([name]) => name} />`}
  </div>`;
}

/** The series as a file for spreadsheets: dates and numbers only, so no cell can be a formula. */
function save(rows) {
  const lines = rows.map(({ date, total, statuses }) => [date, total, ...STATUSES.map((status) => statuses[status])].join(","));
  const file = new Blob([[["date", "total", ...STATUSES].join(","), ...lines].join("\r\n")], { type: "text/csv" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = "usage.csv";
  link.click();
  URL.revokeObjectURL(link.href);
}
