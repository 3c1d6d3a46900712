/** Distribution of verdicts by reason, mail provider and domain. Each line filters the rows. */
import { html, useEffect, useState } from "../../../vendor/lib.js";
import { get } from "../../api.js";
import { number, percent, providerName } from "../../format.js";
import { readableDomain } from "../../idn.js";
import { t } from "../../text.js";
import { Glyph, partsOf, reason, STATUS_OF, STATUSES, Strip } from "../../ui.js";
import { ofReason } from "../../ui/because.js";

const PROVIDERS = 7;
/** Refresh interval of domain counts while the list runs; counting reads all rows. */
const AGAIN_MS = 10_000;

/** @param {{ of: import("../../live.js").Progress, filter: import("./filter.js").Filtering, readable: boolean }} props */
export function Why({ of, filter, readable }) {
  return html`<div class="breakdown">
    <section class="card bare" aria-labelledby="why-title"><header><h2 id="why-title">${t("usage.reasons")}</h2>
      ${readable && html`<span class="tiny quiet">${t("lists.select")}</span>`}</header>
      <ul class="meters">${STATUSES.map((status) => html`<${Group} key=${status} of=${of} status=${status} filter=${filter} readable=${readable} />`)}</ul></section>
    <section class="card bare" aria-labelledby="provider-title"><header><h2 id="provider-title">${t("provider.title")}</h2>
      <span class="tiny quiet">${t("lists.share_hint")}</span></header>
      <${Providers} of=${of} filter=${filter} readable=${readable} />
      ${readable && html`<${Domains} of=${of} filter=${filter} />`}
      <footer class="legends">${STATUSES.map((status) => html`<span class=${status}><i></i>${t(`status.${status}`)}</span>`)}</footer></section>
  </div>`;
}

function Group({ of, status, filter, readable }) {
  const reasons = Object.entries(of.reasons).filter(([name]) => STATUS_OF[name] === status && name !== "valid");
  // One scale for all groups, so that bars are comparable.
  const most = Math.max(1, ...Object.entries(of.reasons).filter(([name]) => name !== "valid").map(([, count]) => count));
  if (of[status] === 0) return null;
  return html`<li class=${`head ${status}`}><div><span class="verdict-word"><${Glyph} of=${status} />${t(`status.${status}`)}</span>
      <span class="number">${number(of[status])}</span><span class="number">${percent(of[status], of.processed)}</span></div></li>
    ${reasons.sort(([, a], [, b]) => b - a).map(([name, count]) => html`<${Line} key=${name} kind=${status} label=${reason(name)} more=${ofReason(name)} count=${count}
      share=${percent(count, of.processed)} part=${readable && { reason: name }} filter=${filter} parts=${[[status, count]]} total=${most} flat=${true} />`)}`;
}

function Line({ kind = "", label, more = "", count, share, part, filter, parts, total, flat = false }) {
  const inside = html`<span class="cut" title=${label}>${label}</span><${Strip} kind=${flat ? "flat" : ""} parts=${parts} total=${total} />
    <span class="number">${number(count)}</span><span class="number">${share}</span>${more && html`<span class="meaning tiny quiet">${more}</span>`}`;
  return html`<li class=${kind}>${part ? html`<button type="button" aria-pressed=${filter.has(part)} onClick=${() => filter.toggle(part)}>${inside}</button>`
    : html`<div>${inside}</div>`}</li>`;
}

/** Bar of several verdicts: full length; the size is in the figure. */
const mixed = (counts) => ({ count: counts.processed, share: percent(counts.passed, counts.processed), parts: partsOf(counts), total: counts.processed });

function Providers({ of, filter, readable }) {
  const [all, setAll] = useState(false);
  const known = of.providers.filter(({ id }) => id);
  const others = of.providers.find(({ id }) => !id);
  // A printed report cannot be expanded.
  const shown = all || !readable ? known : known.slice(0, PROVIDERS);
  return html`<ul class="meters">
    ${shown.map(({ id, name, ...counts }) => html`<${Line} key=${id} label=${providerName(name)} ...${mixed(counts)} part=${readable && { provider: id }} filter=${filter} />`)}
    ${others && html`<${Line} key="other" label=${t("provider.other")} ...${mixed(others)} part=${readable && { provider: "other" }} filter=${filter} />`}
    ${shown.length < known.length && html`<li><button type="button" class="more-line" onClick=${() => setAll(true)}>${t("lists.more_providers", { n: known.length - shown.length })}</button></li>`}
  </ul>`;
}

function Domains({ of, filter }) {
  const mix = useDomains(of);
  if (!mix || mix.data.length === 0) return null;
  // Rows without a valid address, and erased addresses.
  const without = less(of, [...mix.data, mix.others]);
  return html`<header class="inner"><h2>${t("lists.domains")}</h2>
      ${mix.scanned < of.rows && html`<span class="tiny quiet">${t("lists.domains_part", { n: mix.scanned })}</span>`}</header>
    <ul class="meters">
      ${mix.data.map(({ domain, ...counts }) => html`<${Line} key=${domain} label=${readableDomain(domain)} ...${mixed(counts)} part=${{ domain }} filter=${filter} />`)}
      ${mix.other_domains > 0 && html`<${Line} key="others" label=${t("lists.other_domains", { n: mix.other_domains })} ...${mixed(mix.others)} part=${undefined} filter=${filter} />`}
      ${mix.isWhole && without.processed > 0 && html`<${Line} key="none" label=${t("lists.no_domain")} ...${mixed(without)} part=${undefined} filter=${filter} />`}
    </ul>`;
}

/** Subtracts partial counts from the totals. */
const less = (counts, parts) => Object.fromEntries(["processed", ...STATUSES].map((name) => [name, parts.reduce((left, part) => left - part[name], counts[name])]));

/**
 * Largest domains, recounted as verdicts arrive. A failed recount keeps the previous counts. `isWhole`: complete counts of a
 * finished list.
 */
function useDomains({ id, over, processed, rows }) {
  const [mix, setMix] = useState(/** @type {any} */ (undefined));
  const step = Math.floor((20 * processed) / Math.max(1, rows));
  useEffect(() => {
    if (processed === 0) return undefined;
    const stop = new AbortController();
    const count = () => get(`/app/jobs/${encodeURIComponent(id)}/domains`, {}, stop.signal).then((found) => setMix({ ...found, isWhole: over && found.scanned >= rows }), () => {});
    const timer = setTimeout(count, over || !mix ? 0 : AGAIN_MS);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [id, over, step, processed > 0]);
  return mix;
}
