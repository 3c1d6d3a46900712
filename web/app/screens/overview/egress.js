/** Outbound SMTP health: connections, limits and checkup advice of each node. */
import { html } from "../../../vendor/lib.js";
import { get } from "../../api.js";
import { ago, number, percent, providerName, utcDay } from "../../format.js";
import { t } from "../../text.js";
import { Ago, Facts, Fetched, Figure, Note, useFetched } from "../../ui.js";

const KINDS = { ok: "good", warn: "warn", fail: "bad" };

/** Minimum share of successful connections for good health. */
const WELL = 0.9;

/** @typedef {import("./trend.js").ReportDay} ReportDay */

/** @param {{ days?: ReportDay[] }} props recent results, oldest first */
export function Egress({ days }) {
  const ways = useFetched((signal) => get("/app/egress", {}, signal), []);
  return html`<${Fetched} from=${ways} lines=${6}>${({ data, reachable }) => {
    if (!data) return html`<${Reduced} reachable=${reachable} />`;
    const asking = data.filter(({ state }) => state);
    if (asking.length === 0) return html`<${None} />`;
    return asking.map((way, place) => html`<${Way} key=${way.node} of=${way} days=${place === 0 ? days : undefined} name=${data.length > 1 ? t("egress.node", { n: place + 1 }) : undefined} />`);
  }}<//>`;
}

const None = () => html`<p class="meta"><span><span class="badge">${t("egress.none")}</span></span><span>${t("egress.none_text")}</span></p>`;

/** Summary for users who do not operate the installation. @param {{ reachable: boolean | null }} props */
function Reduced({ reachable }) {
  if (reachable === null) return html`<${None} />`;
  return reachable ? html`<p>${t("egress.reachable")}</p>` : html`<${Note} kind="warning">${t("egress.unreachable")}<//>`;
}

function Way({ of: { state, sources, seen_at }, days, name }) {
  const { engine, checkup, may_ask } = state;
  return html`<div class="stack">
    ${name && html`<h3>${name} <span class="quiet small">${sources.join(", ")} · <${Ago} at=${seen_at} /></span></h3>`}
    ${!may_ask && html`<${Note} kind="warning">${t("egress.may_not")}<//>`}
    <${Health} of=${engine} checkup=${checkup} days=${days} />
    ${(engine || checkup) && html`<details><summary>${t("details.title")}</summary><div class="stack unfolded">
      ${engine && html`<${Engine} of=${engine} />`}${checkup && html`<${Checks} of=${checkup} />`}</div></details>`}
  </div>`;
}

/** Health in a line, with the daily share of unknown verdicts. @param {{ of: any, checkup: any, days?: ReportDay[] }} props */
function Health({ of: engine, checkup, days }) {
  const faults = checkup?.checks.filter(({ outcome }) => outcome !== "ok").length ?? 0;
  return html`<div class="row apart health">
    <p class="meta">${engine ? html`<${Connections} of=${engine} />` : html`<span>${t("egress.simulated")}</span>`}
      ${faults > 0 && html`<span class="change-of bad">${t("egress.attention", { n: faults })}</span>`}
      <span>${checkup ? t("egress.checked", { at: ago(checkup.at) }) : t("egress.not_yet")}</span></p>
    ${engine && days && html`<${History} days=${days} />`}
  </div>`;
}

function Connections({ of: { connections, connect_failures: failures, held, held_others: others } }) {
  const [tried, paused] = [connections + failures, held.length + others];
  const [kind, word] = tried === 0 ? ["", "idle"] : paused === 0 && connections / tried >= WELL ? ["good", "well"] : ["warn", "partly"];
  return html`<span><span class=${`badge ${kind}`}>${t(`egress.${word}`)}</span></span>
    ${tried > 0 && html`<span>${t("egress.share", { share: percent(connections, tried) })}</span>`}
    ${paused > 0 && html`<span>${t("egress.paused", { n: paused })}</span>`}`;
}

/** @param {{ days: ReportDay[] }} props */
function History({ days }) {
  const sum = (of) => days.reduce((all, day) => all + of(day), 0);
  const [total, unknown] = [sum((day) => day.total), sum((day) => day.statuses.unknown)];
  if (total === 0) return null;
  return html`<div class="history small quiet"><span>${t("egress.history", { share: percent(unknown, total), n: days.length })}</span>
    <svg class="spark" viewBox=${`0 0 ${days.length * 10} 100`} preserveAspectRatio="none" aria-hidden="true">
      ${days.map(({ date, total: all, statuses }, n) => {
        const height = all === 0 ? 0 : Math.max(3, (100 * statuses.unknown) / all);
        return html`<g key=${date}><title>${utcDay(date)}: ${percent(statuses.unknown, all)}</title><rect class="ground" x=${n * 10 + 1} width="8" height="100" />
          <rect x=${n * 10 + 1} y=${100 - height} width="8" height=${height} /></g>`;
      })}</svg></div>`;
}

function Engine({ of: engine }) {
  const tried = engine.connections + engine.connect_failures;
  const held = engine.held.map(({ provider, why, until }) => `${providerName(provider)}: ${t(`held.${why}`, { until: ago(until) })}`);
  if (engine.held_others > 0) held.push(t("egress.others", { n: engine.held_others }));
  const tight = engine.tight.map(({ provider, budget, used, limit }) => `${providerName(provider)}: ${t(`budget.${budget}`)} ${number(used)} / ${number(limit)}`);
  if (engine.tight_others > 0) tight.push(t("egress.others", { n: engine.tight_others }));
  const list = (texts) => (texts.length > 0 ? html`<ul>${texts.map((text) => html`<li>${text}</li>`)}</ul>` : t("egress.nothing"));
  return html`<div class="grid">
      <${Figure} label=${t("egress.reached")} value=${tried > 0 ? percent(engine.connections, tried) : "–"}>${t("egress.tried", { n: tried })}<//>
      <${Figure} label=${t("egress.recipients")} value=${number(engine.recipients)} />
      <${Figure} label=${t("egress.sessions")} value=${`${number(engine.sessions)} / ${number(engine.sessions_limit)}`} />
      <${Figure} label=${t("egress.breakers")} value=${number(engine.breakers.open + engine.breakers.paused)}>
        ${t("egress.breakers_of", { n: engine.breakers.closed + engine.breakers.half_open })}<//>
    </div>
    <${Facts} of=${[[t("egress.held"), list(held)], [t("egress.tight"), list(tight)]]} />`;
}

/** Server texts, identical to those of `probity doctor`. */
function Checks({ of: { checks } }) {
  const good = checks.filter(({ outcome }) => outcome === "ok");
  const others = checks.filter(({ outcome }) => outcome !== "ok");
  return html`<div class="stack tight">
    ${others.length > 0 && html`<h3>${t("egress.attention", { n: others.length })}</h3><${List} of=${others} />`}
    <details><summary>${t("egress.good", { n: good.length })}</summary><${List} of=${good} /></details>
  </div>`;
}

function List({ of }) {
  return html`<ul class="checks" lang="en">${of.map(({ name, outcome, found, advice }) => html`<li key=${name}>
    <span class=${`badge ${KINDS[outcome]}`}>${t(`outcome.${outcome}`)}</span>
    <div><strong>${name}</strong><div>${found}</div></div>
    ${advice && html`<div class="advice">→ ${advice}</div>`}
  </li>`)}</ul>`;
}
