/** Whether mail servers answer us: what each node has met, what holds it back, and what its checkup advises. */
import { html } from "../../../vendor/lib.js";
import { get } from "../../api.js";
import { ago, number, percent } from "../../format.js";
import { t } from "../../text.js";
import { Empty, Note } from "../../ui/notes.js";
import { Facts, Figure } from "../../ui/page.js";
import { Fetched, useFetched } from "../../ui/table.js";

const KINDS = { ok: "good", warn: "warn", fail: "bad" };

export function Egress() {
  const ways = useFetched((signal) => get("/app/egress", {}, signal), []);
  return html`<${Fetched} from=${ways} lines=${6}>${({ data, reachable }) => {
    if (!data) return html`<${Reduced} reachable=${reachable} />`;
    const asking = data.filter(({ state }) => state);
    if (asking.length === 0) return html`<${Empty} title=${t("egress.none")}>${t("egress.none_text")}<//>`;
    return asking.map((way, place) => html`<${Way} key=${way.node} of=${way} name=${data.length > 1 ? t("egress.node", { n: place + 1 }) : undefined} />`);
  }}<//>`;
}

/** What is told to those who do not run the installation. @param {{ reachable: boolean | null }} props */
function Reduced({ reachable }) {
  if (reachable === null) return html`<${Empty} title=${t("egress.none")}>${t("egress.none_text")}<//>`;
  return reachable ? html`<p>${t("egress.reachable")}</p>` : html`<${Note} kind="warning">${t("egress.unreachable")}<//>`;
}

function Way({ of: { state, sources, seen_at }, name }) {
  const { engine, checkup, may_ask } = state;
  return html`<div class="stack">
    ${name && html`<h3>${name} <span class="quiet small">${sources.join(", ")} · ${ago(seen_at)}</span></h3>`}
    ${!may_ask && html`<${Note} kind="warning">${t("egress.may_not")}<//>`}
    ${engine ? html`<${Engine} of=${engine} />` : html`<p class="quiet">${t("egress.simulated")}</p>`}
    ${checkup ? html`<${Checks} of=${checkup} />` : html`<p class="quiet small">${t("egress.not_yet")}</p>`}
  </div>`;
}

function Engine({ of: engine }) {
  const tried = engine.connections + engine.connect_failures;
  const held = engine.held.map(({ provider, why, until }) => `${provider}: ${t(`held.${why}`, { until: ago(until) })}`);
  if (engine.held_others > 0) held.push(t("egress.others", { n: engine.held_others }));
  const tight = engine.tight.map(({ provider, budget, used, limit }) => `${provider}: ${t(`budget.${budget}`)} ${number(used)} / ${number(limit)}`);
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

/** In the words of the server, which are those of `probity doctor`. */
function Checks({ of: { at, checks } }) {
  const good = checks.filter(({ outcome }) => outcome === "ok");
  const others = checks.filter(({ outcome }) => outcome !== "ok");
  return html`<div class="stack tight">
    <p class="quiet small">${t("egress.checked", { at: ago(at) })}</p>
    ${others.length > 0 && html`<${List} of=${others} />`}
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
