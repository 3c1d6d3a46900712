/** What is going on: what is new, credits, the last days beside those before, which providers, what runs, and whether mail servers answer us. */
import { html } from "../../vendor/lib.js";
import { get } from "../api.js";
import { useChanges } from "../changes.js";
import { day, number, percent, utcDay } from "../format.js";
import { testing } from "../mode.js";
import { useMetered } from "../plan.js";
import { administrates } from "../session.js";
import { t } from "../text.js";
import { Bars } from "../ui/bars.js";
import { Empty } from "../ui/notes.js";
import { Card, Figure, Page } from "../ui/page.js";
import { Fetched, Table, useFetched } from "../ui/table.js";
import { Ago } from "../ui/time.js";
import { State } from "../ui/verdict.js";
import { Egress } from "./overview/egress.js";
import { Since } from "./overview/since.js";
import { Start } from "./overview/start.js";
import { Trend } from "./overview/trend.js";

/** Whole days, beside today. */
const DAYS = 30;
const OPEN = ["queued", "processing"];
/** Lists that are shown here. */
const JOBS = 5;
/** Providers that are shown by themselves. */
const PROVIDERS = 10;

export function Screen() {
  const metered = useMetered();
  const days = useFetched((signal) => get("/reports/usage/daily", { days: 2 * DAYS + 1 }, signal), []);
  const mix = useFetched((signal) => get("/app/reports/providers", { days: DAYS + 1 }, signal), []);
  const jobs = useFetched(current, []);
  useChanges("lists", jobs.refresh);
  return html`<${Page} title=${t("overview.title")} actions=${html`
      <a class="button" href="#/verify">${t("verify.title")}</a><a class="button primary" href="#/lists/new">${t("lists.new")}</a>`}>
    <${Start} />
    <${Since} />
    ${testing.value && html`<p class="quiet small">${t("mode.reports")}</p>`}
    ${metered && html`<${Credits} />`}
    <${Card} title=${t("overview.days", { n: DAYS })}>
      <${Fetched} from=${days} lines=${8}>${({ data }) => html`<${Trend} rows=${data} n=${DAYS} />`}<//>
    <//>
    <div class="columns">
      <${Card} title=${t("overview.jobs")} actions=${html`<a href="#/lists">${t("overview.all_jobs")}</a>`}>
        <${Fetched} from=${jobs}>${({ data }) => html`<${Jobs} rows=${data} />`}<//>
      <//>
      <${Card} title=${t("provider.title")}><${Fetched} from=${mix}>${({ data }) => html`<${Providers} all=${data} />`}<//><//>
    </div>
    ${administrates.value && html`<${Card} title=${t("egress.title")}><${Egress} days=${days.value?.data.slice(-DAYS)} /><//>`}
  <//>`;
}

/** The lists that are under way, and behind them the newest of the others. @param {AbortSignal} signal */
async function current(signal) {
  const pages = [...OPEN.toReversed().map((status) => ({ status })), {}];
  const found = await Promise.all(pages.map((query) => get("/app/lists", { ...query, per_page: JOBS }, signal)));
  const jobs = new Map(found.flatMap(({ data }) => data.map((job) => [job.id, job])));
  return { data: [...jobs.values()].slice(0, JOBS) };
}

/** What the plan includes, and what is used of it. */
function Credits() {
  const organization = useFetched((signal) => get("/organization", {}, signal), []);
  return html`<${Fetched} from=${organization}>${({ credits, usage, plan, seats, trial }) => html`<section class="card"><div class="grid">
    <${Figure} label=${t("overview.credits")} value=${number(credits.total)}>
      ${t("overview.credits_of", { subscription: credits.subscription, prepaid: credits.prepaid })}<//>
    <${Figure} label=${t("overview.period")} value=${number(usage.current_period_total)}>
      ${t("overview.until", { day: utcDay(usage.current_period_end) })}<//>
    <${Figure} label=${t("overview.plan")} value=${plan}>
      ${trial?.active && t("overview.trial", { day: day(trial.ends_at) })}<//>
    ${seats && html`<${Figure} label=${t("overview.seats")} value=${`${number(seats.used)} / ${seats.limit === null ? "∞" : number(seats.limit)}`} />`}
  </div></section>`}<//>`;
}

/** Where the addresses' mail goes, and of how many of each nothing could be found out; small providers together. */
function Providers({ all }) {
  if (all.length === 0) return html`<${Empty} title=${t("overview.no_days")}>${t("provider.none")}<//>`;
  const named = all.filter(({ id }) => id !== null);
  const rest = [...named.slice(PROVIDERS), ...all.filter(({ id }) => id === null)];
  const sum = (of) => rest.reduce((before, one) => before + one[of], 0);
  const others = rest.length > 0 ? [{ id: "", name: t("provider.other"), verified: sum("verified"), unknown: sum("unknown") }] : [];
  const bars = [...named.slice(0, PROVIDERS), ...others].map(({ id, name, verified, unknown }) => ({
    key: id,
    label: name,
    count: verified,
    parts: [["", verified - unknown], ["unknown", unknown]],
    note: percent(unknown, verified),
  }));
  return html`<${Bars} caption=${t("provider.title")} of=${t("provider.provider")} bars=${bars} total=${0} note=${t("status.unknown")} />`;
}

function Jobs({ rows }) {
  if (rows.length === 0) return html`<${Empty} title=${t("lists.none")} action=${html`<a class="button" href="#/lists/new">${t("lists.new")}</a>`}>${t("lists.none_text")}<//>`;
  const columns = [
    { title: t("lists.list"), cell: (job) => html`<a href=${`#/lists/${job.id}`}>${job.name ?? t(`trigger.${job.source}`)}</a>` },
    { title: t("lists.state"), cell: (job) => html`<${State} of=${job.status} />` },
    { title: t("lists.done"), number: true, cell: (job) => (OPEN.includes(job.status) ? html`<${Done} of=${job} />` : number(job.rows)) },
    { title: t("lists.created"), cell: (job) => html`<${Ago} at=${job.created_at} />` },
  ];
  return html`<${Table} caption=${t("overview.jobs")} columns=${columns} rows=${rows} />`;
}

/** How far a running list is. */
function Done({ of }) {
  return html`<span class="stack tight"><span>${number(of.processed)} / ${number(of.rows)}</span>
    <svg class="meter" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width=${(100 * of.processed) / Math.max(1, of.rows)} height="1" /></svg></span>`;
}
