/** Overview: news, credits, recent days against the preceding ones, mail providers, active lists, and outbound SMTP. */
import { html, useState } from "../../vendor/lib.js";
import { get } from "../api.js";
import { day, number, percent, providerName, today, utcDay } from "../format.js";
import { testing } from "../mode.js";
import { useMetered } from "../plan.js";
import { administrates, session } from "../session.js";
import { t } from "../text.js";
import { Ago, Card, Empty, Fetched, Figure, Icon, Page, partsOf, Strip, Switch, useFetched, word } from "../ui.js";
import { Later } from "../ui/later.js";
import { nameOf } from "./jobs/name.js";
import { Egress } from "./overview/egress.js";
import { Start } from "./overview/start.js";
import { Trend } from "./overview/trend.js";
import { lastVisit } from "./overview/visit.js";

/** Selectable periods in whole days, excluding today. */
const PERIODS = [7, 30, 90];
const OPEN = ["queued", "processing"];
/** Number of lists shown. */
const JOBS = 5;
/** Number of providers shown separately. */
const PROVIDERS = 10;

export function Screen() {
  const metered = useMetered();
  const [n, setDays] = useState(30);
  const since = lastVisit();
  const days = useFetched((signal) => get("/reports/usage/daily", { days: 2 * n + 1 }, signal), [n]);
  const mix = useFetched((signal) => get("/app/reports/providers", { days: n + 1 }, signal), [n]);
  const jobs = useFetched(current, [], "lists");
  return html`<${Page} title=${t("overview.title")}
      heading=${html`<div class="grow"><h1>${t("overview.title")}</h1><p class="meta"><span>${today()}</span>${session.value?.organization.name && html`<span>${session.value.organization.name}</span>`}</p></div>`}
      actions=${html`<${Switch} label=${t("usage.period")} options=${PERIODS.map((of) => [of, t("usage.days", { n: of })])} value=${n} set=${setDays} />
        <a class="button" href="#/verify"><${Icon} name="verify" />${t("verify.title")}</a><a class="button primary" href="#/lists/new"><${Icon} name="plus" />${t("lists.new")}</a>`}>
    <${Start} />
    ${since !== undefined && html`<${Later} load=${() => import("./overview/since.js")} since=${since} />`}
    ${testing.value && html`<p class="quiet small">${t("mode.reports")}</p>`}
    ${metered && html`<${Credits} />`}
    <${Fetched} from=${days} lines=${8}>${({ data }) => html`<${Trend} rows=${data} n=${n} />`}<//>
    <div class="columns">
      <section class="card bare" aria-labelledby="lists-title"><header><h2 id="lists-title">${t("overview.jobs")}</h2><a class="small" href="#/lists">${t("overview.all_jobs")}</a></header>
        <${Fetched} from=${jobs}>${({ data }) => html`<${Jobs} rows=${data} />`}<//></section>
      <section class="card bare" aria-labelledby="provider-title"><header><h2 id="provider-title">${t("provider.title")}</h2><span class="tiny quiet">${t("provider.hint")}</span></header>
        <${Fetched} from=${mix}>${({ data }) => html`<${Providers} all=${data} />`}<//></section>
    </div>
    ${administrates.value && html`<${Card} title=${t("egress.title")}><${Egress} days=${days.value?.data.slice(-n)} /><//>`}
  <//>`;
}

/** Active lists, followed by the newest others. @param {AbortSignal} signal */
async function current(signal) {
  const pages = [...OPEN.toReversed().map((status) => ({ status })), {}];
  const found = await Promise.all(pages.map((query) => get("/app/lists", { ...query, per_page: JOBS }, signal)));
  const jobs = new Map(found.flatMap(({ data }) => data.map((job) => [job.id, job])));
  return { data: [...jobs.values()].slice(0, JOBS) };
}

/** Plan allowance and usage. */
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

/** Mail providers with their share of unknown verdicts; small providers are combined. */
function Providers({ all }) {
  if (all.length === 0) return html`<${Empty} title=${t("overview.no_days")}>${t("provider.none")}<//>`;
  const named = all.filter(({ id }) => id !== null).map((one) => ({ ...one, name: providerName(one.name) }));
  const rest = [...named.slice(PROVIDERS), ...all.filter(({ id }) => id === null)];
  const sum = (of) => rest.reduce((before, one) => before + one[of], 0);
  const others = rest.length > 0 ? [{ id: "", name: t("provider.other"), verified: sum("verified"), unknown: sum("unknown") }] : [];
  const shown = [...named.slice(0, PROVIDERS), ...others];
  const most = Math.max(...shown.map(({ verified }) => verified));
  return html`<ul class="meters">${shown.map(({ id, name, verified, unknown }) => html`<li key=${id}><div><span class="cut" title=${name}>${name}</span>
    <${Strip} kind="flat" parts=${[["addresses", verified - unknown], ["unknown", unknown]]} total=${most} /><span class="number">${number(verified)}</span><span class="number">${percent(unknown, verified)}</span></div></li>`)}</ul>`;
}

function Jobs({ rows }) {
  if (rows.length === 0) return html`<${Empty} title=${t("lists.none")} action=${html`<a class="button" href="#/lists/new">${t("lists.new")}</a>`}>${t("lists.none_text")}<//>`;
  return html`<ul class="recent">${rows.map((job) => html`<li key=${job.id}><${Recent} of=${job} /></li>`)}</ul>`;
}

/** List in three lines: name and deliverable share, verdicts, size and start time or progress. */
function Recent({ of: job }) {
  const open = OPEN.includes(job.status);
  return html`<div class="row apart"><a class="cut" href=${`#/lists/${job.id}`}>${nameOf(job)}</a>${job.processed > 0 && html`<b title=${t("status.passed")}><span class="hidden-text">${t("status.passed")} </span>${percent(job.passed, job.processed)}</b>`}</div>
    <${Strip} parts=${partsOf(job)} total=${Math.max(1, open ? job.rows : job.processed)} />
    <div class="row apart small quiet"><span>${open ? `${number(job.processed)} / ${number(job.rows)}` : t("lists.sum_rows", { n: job.rows })}</span>
      ${job.status === "completed" ? html`<${Ago} at=${job.created_at} />` : html`<span class=${`chip ${open ? "live" : "undeliverable"}`}>${word("state", job.status)}</span>`}</div>`;
}
