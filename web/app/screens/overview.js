/** What is going on: credits, the last days, what runs, and whether mail servers answer us. */
import { html } from "../../vendor/lib.js";
import { get } from "../api.js";
import { ago, number, percent } from "../format.js";
import { t } from "../text.js";
import { DailyChart } from "../ui/chart.js";
import { Empty } from "../ui/notes.js";
import { Card, Figure, Page } from "../ui/page.js";
import { Fetched, Table, useFetched } from "../ui/table.js";
import { State } from "../ui/verdict.js";

const DAYS = 30;

export function Screen() {
  const organization = useFetched((signal) => get("/organization", {}, signal), []);
  const days = useFetched((signal) => get("/reports/usage/daily", { days: DAYS }, signal), []);
  const jobs = useFetched((signal) => get("/jobs", { per_page: 5 }, signal), []);
  return html`<${Page} title=${t("overview.title")} actions=${html`
      <a class="button" href="#/verify">${t("verify.title")}</a><a class="button primary" href="#/lists/new">${t("lists.new")}</a>`}>
    <${Fetched} from=${organization}>${(of) => html`<${Credits} of=${of} />`}<//>
    <${Card} title=${t("overview.days", { n: DAYS })}>
      <${Fetched} from=${days} lines=${8}>${({ data }) => html`<${Days} rows=${data} />`}<//>
    <//>
    <${Card} title=${t("overview.jobs")} actions=${html`<a href="#/lists">${t("overview.all_jobs")}</a>`}>
      <${Fetched} from=${jobs}>${({ data }) => html`<${Jobs} rows=${data} />`}<//>
    <//>
  <//>`;
}

function Credits({ of: { credits, usage, plan, seats } }) {
  return html`<section class="card"><div class="grid">
    <${Figure} label=${t("overview.credits")} value=${number(credits.total)}>
      ${t("overview.credits_of", { subscription: credits.subscription, prepaid: credits.prepaid })}<//>
    <${Figure} label=${t("overview.period")} value=${number(usage.current_period_total)} />
    <${Figure} label=${t("overview.plan")} value=${plan} />
    ${seats && html`<${Figure} label=${t("overview.seats")} value=${`${number(seats.used)} / ${seats.limit === null ? "∞" : number(seats.limit)}`} />`}
  </div></section>`;
}

function Days({ rows }) {
  const total = rows.reduce((sum, row) => sum + row.total, 0);
  const unknown = rows.reduce((sum, row) => sum + row.statuses.unknown, 0);
  if (total === 0) return html`<${Empty} title=${t("overview.no_days")}>${t("overview.no_days_text")}<//>`;
  const days = [...rows].sort((a, b) => a.date.localeCompare(b.date));
  return html`<${DailyChart} days=${days} caption=${t("overview.days", { n: DAYS })} />
    <p class="quiet small">${t("overview.unknown", { share: percent(unknown, total) })}</p>`;
}

function Jobs({ rows }) {
  if (rows.length === 0) return html`<${Empty} title=${t("lists.none")}>${t("lists.none_text")}<//>`;
  const columns = [
    { title: t("lists.list"), cell: (job) => html`<a href=${`#/lists/${job.id}`}>${t(`trigger.${job.source}`)}</a>` },
    { title: t("lists.state"), cell: (job) => html`<${State} of=${job.status} />` },
    { title: t("lists.rows"), number: true, cell: (job) => (job.results ? number(job.results.total) : "–") },
    { title: t("lists.created"), cell: (job) => ago(job.created_at) },
  ];
  return html`<${Table} caption=${t("overview.jobs")} columns=${columns} rows=${rows} />`;
}
