/**
 * Summary report of a list, for holders of a link and for members who print it. It contains totals only: verdicts, reasons and
 * mail providers.
 */
import { html } from "../../vendor/lib.js";
import { Refused, ask, get } from "../api.js";
import { day, time } from "../format.js";
import { link } from "../route.js";
import { t } from "../text.js";
import { Brand, Fetched, Icon, Note, Page, useFetched } from "../ui.js";
import { Hero } from "./jobs/hero.js";
import { Why } from "./jobs/why.js";

/** Inert filter, because nothing in a report is filtered. */
const UNFILTERED = { now: {}, has: () => false, toggle() {}, set() {} };

/** Sent in a header, because proxies log paths. @param {string} token @param {AbortSignal} signal */
const shared = (token, signal) => ask("GET", "/app/shared", { headers: { "x-link-token": encodeURIComponent(token) }, signal });

/** @param {{ parts: string[], own?: boolean }} props link token, or the job ID for a member */
export function Screen({ parts: [id = ""], own = false }) {
  const summary = useFetched((signal) => (own ? get(`/app/jobs/${encodeURIComponent(id)}/progress`, {}, signal) : shared(id, signal)), [id]);
  const of = summary.value;
  const title = of?.name ?? t("report.title");
  if (summary.failure instanceof Refused && summary.failure.status === 404 && !own) return html`<${Gone} />`;
  return html`<div class="report">
    <${Page} title=${title} heading=${html`<div class="grow stack tight"><${Brand} /><h1>${title}</h1>${of && html`<p class="meta"><${When} of=${of} /></p>`}</div>`}
      actions=${of && html`<div class="row off-paper">${own && html`<a class="button" href=${link(["lists", id])}>${t("report.back")}</a>`}
        <button type="button" class="button primary" onClick=${() => print()}><${Icon} name="file" />${t("report.print")}</button></div>`}>
      <${Fetched} from=${summary} lines=${10}>${(found) => html`
        ${found.test && html`<${Note}>${t("report.test")}<//>`}
        ${!found.over && html`<${Note}>${t("report.running")}<//>`}
        <${Hero} of=${found} filter=${UNFILTERED} metered=${false} readable=${false} />
        ${found.processed > 0 && html`<${Why} of=${found} filter=${UNFILTERED} readable=${false} />`}
        ${found.expires_at && html`<p class="small quiet off-paper">${t("report.ends", { at: time(found.expires_at) })}</p>`}`}<//>
    <//>
  </div>`;
}

/** A canceled list is partially verified. */
function When({ of }) {
  if (of.status === "cancelled" && of.finished_at) return html`<span>${t("report.stopped", { at: day(of.finished_at) })}</span>`;
  return of.finished_at ? html`<span>${t("report.verified", { at: day(of.finished_at) })}</span>` : html`<span>${t("report.submitted", { at: day(of.created_at) })}</span>`;
}

function Gone() {
  return html`<main class="alone" id="page"><${Brand} /><section class="card"><h1>${t("report.gone")}</h1><p>${t("report.gone_text")}</p></section></main>`;
}
