/** Review queue: act, keep, or always keep, for one contact or for several. */
import { html, useEffect, useRef, useState } from "../../../vendor/lib.js";
import { address } from "../../api.js";
import { number, sentence } from "../../format.js";
import { readableAddress } from "../../idn.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Asking, Button, Card, Check, Empty, Failure, Icon, reason, Skeleton, usePages } from "../../ui.js";
import { taking } from "../jobs/download.js";
import { keyOf, useDecisions } from "./decisions.js";
import { held, waits } from "./live.js";

const PAGE = 50;
/** API decision by key. */
const KEYS = { a: "act", k: "ignore", w: "whitelist" };

/** @param {import("./one.js").Known} props */
export function Review({ path, of, platform, runs, again }) {
  const planned = usePages(`${path}/review`, { per_page: PAGE });
  const { decide, decided, failure, retry } = useDecisions(path, again);
  const rows = planned.rows?.filter((one) => !decided.has(keyOf(one)));
  const isActive = of.status === "active";
  // All loaded actions are decided: load the next ones.
  useEffect(() => {
    if (planned.rows?.length && rows?.length === 0 && planned.next) planned.more();
  }, [rows?.length]);
  const waiting = runs.rows.filter((run) => waits(run) && run.actions.planned > 0);
  const open = waiting.reduce((sum, run) => sum + run.actions.planned, 0);
  const file = `${path}/review/download`;
  const count = planned.next ? Math.max(open, rows?.length ?? 0) : (rows?.length ?? 0);
  const keys = administrates.value && isActive && count > 0 && html`<p class="quiet small keys" aria-hidden="true">
    ${Object.entries(KEYS).map(([key, decision]) => html`<span><kbd>${key.toUpperCase()}</kbd> ${t(`review.${decision}`)}</span>`)}</p>`;
  return html`<${Card} title=${t("review.title", { n: count })} actions=${keys}>
    ${count > 0 && html`<div class="row apart"><div class="quiet">${[...new Set(waiting.map(held))].map((why) => html`<p key=${why}>${why}</p>`)}</div>
      <a class="button slim" download href=${address(file)} onClick=${taking(file)}><${Icon} name="download" />${t("lists.download_as", { format: t("format.csv") })}</a></div>`}
    ${failure !== undefined && html`<${Failure} of=${failure} again=${retry} />`}
    ${planned.failure !== undefined && html`<${Failure} of=${planned.failure} again=${planned.retry} />`}
    ${!rows && planned.failure === undefined && html`<${Skeleton} lines=${6} />`}
    ${rows?.length === 0 && !planned.next && html`<${Empty} title=${t("review.none")}>${of.settings.manual_mode ? t("review.none_manual") : t("review.none_text")}<//>`}
    ${rows && rows.length > 0 && html`<${Queue} rows=${rows} decide=${decide} isActive=${isActive} platform=${platform} />
      ${administrates.value && html`<p class="quiet small">${t("review.wrong_text")}</p>`}
      ${planned.next && html`<div><${Button} work=${planned.more}>${t("list.more")}<//></div>`}`}
  <//>`;
}

function Queue({ rows, decide, isActive, platform }) {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()));
  const choose = (some) => setChosen(new Set(some.map(keyOf)));
  const picked = rows.filter((one) => chosen.has(keyOf(one)));
  const act = (one) => (decision) => {
    // The row and its focused button disappear; move the focus to the next row first.
    const at = rows.indexOf(one);
    const near = rows[at + 1] ?? rows[at - 1];
    const row = near ? list.current?.querySelector(`[data-key="${keyOf(near)}"] button`) : document.getElementById("page");
    if (row instanceof HTMLElement) row.focus();
    decide([one], decision);
  };
  const pick = (one) => (on) => choose(on ? [...picked, one] : picked.filter((other) => other !== one));
  const press = (event) => {
    const decision = KEYS[event.key.toLowerCase()];
    const row = event.target.closest("[data-key]");
    const one = rows.find((each) => keyOf(each) === row?.dataset.key);
    if (!decision || !one || !administrates.value || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (decision === "act" && !isActive) return;
    event.preventDefault();
    act(one)(decision);
  };
  return html`${administrates.value && html`<${Several} rows=${rows} picked=${picked} choose=${choose} decide=${decide} isActive=${isActive} platform=${platform} />`}
    <ul class="queue" ref=${list} onKeyDown=${press}>
    ${rows.map((one) => html`<${Planned} key=${keyOf(one)} of=${one} act=${act(one)} isActive=${isActive} isPicked=${picked.includes(one)} pick=${pick(one)} />`)}</ul>`;
}

/** Selects contacts, all or by reason, and decides about them together. */
function Several({ rows, picked, choose, decide, isActive, platform }) {
  const reasons = [...new Set(rows.map((one) => one.reason))].map((why) => rows.filter((one) => one.reason === why));
  const has = (some) => some.every((one) => picked.includes(one));
  const turn = (some) => () => choose(has(some) ? picked.filter((one) => !some.includes(one)) : [...new Set([...picked, ...some])]);
  const actions = [...new Set(picked.map(({ action }) => action))];
  const n = picked.length;
  return html`<div class="several">
    <div class="picks" role="group" aria-label=${t("review.select")}>
      <${Check} label=${t("review.all", { n: rows.length })} checked=${has(rows)} set=${turn(rows)} />
      ${reasons.length > 1 && reasons.map((some) => html`<button type="button" class="pick" key=${some[0].reason} aria-pressed=${has(some)} onClick=${turn(some)}>
        ${reason(some[0].reason)} <span class="n">${number(some.length)}</span></button>`)}
    </div>
    ${n > 0 && html`<div class="row"><span class="quiet small" role="status">${t("review.selected", { n })}</span>
      ${isActive && actions.length === 1 && html`<${Asking} kind="slim" label=${t(`act.${actions[0]}`, { n })} work=${async () => decide(picked, "act")}>${t(`undo.${actions[0]}`, { platform: platform.name })}<//>`}
      <button type="button" class="button slim" onClick=${() => decide(picked, "ignore")}>${t("review.keep_n", { n })}</button></div>`}
  </div>`;
}

function Planned({ of, act, isActive, isPicked, pick }) {
  const button = (decision, text, kind = "") => html`<button type="button" class=${`button slim ${kind}`} aria-label=${`${text}: ${of.email}`} onClick=${() => act(decision)}>${text}</button>`;
  return html`<li data-key=${keyOf(of)}>
    ${administrates.value && html`<div class="choice"><input type="checkbox" aria-label=${t("review.pick", { email: of.email })} checked=${isPicked} onChange=${({ currentTarget }) => pick(currentTarget.checked)} /></div>`}
    <div class="grow"><strong>${of.email}</strong>
      <div class="quiet small">${reason(of.reason)}${of.suggestion && ` · ${t("connections.to", { email: readableAddress(of.suggestion) })}`}</div>
      <${Ground} of=${of} /></div>
    ${administrates.value && html`<div class="row">
      ${isActive && button("act", t(`action.${of.action}`))}
      ${button("ignore", t("connections.keep"))}
      ${button("whitelist", t("review.this_is_wrong"), "plain")}</div>`}
  </li>`;
}

/** The mail server's reply about a contact, and why only a decision about this contact starts its action. */
export function Ground({ of: { host, reply, doubt } }) {
  return html`${reply && html`<div class="quiet small">${t("labelled", { name: t("lists.server") })} ${host} <code>${reply}</code></div>`}
    ${doubt && html`<div class="small" lang="en">${sentence(doubt)}</div>`}`;
}
