/** Review queue: one contact at a time, with the choices act, keep, and always keep. */
import { html, useEffect, useRef } from "../../../vendor/lib.js";
import { address } from "../../api.js";
import { sentence } from "../../format.js";
import { readableAddress } from "../../idn.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Button, Card, Empty, Failure, Icon, reason, Skeleton, usePages } from "../../ui.js";
import { taking } from "../jobs/download.js";
import { keyOf, useDecisions } from "./decisions.js";
import { held, waits } from "./live.js";

const PAGE = 50;
/** API decision by key. */
const KEYS = { a: "act", k: "ignore", w: "whitelist" };

/** @param {import("./one.js").Known} props */
export function Review({ path, of, runs, again }) {
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
    ${rows && rows.length > 0 && html`<${Queue} rows=${rows} decide=${decide} isActive=${isActive} />
      ${administrates.value && html`<p class="quiet small">${t("review.wrong_text")}</p>`}
      ${planned.next && html`<div><${Button} work=${planned.more}>${t("list.more")}<//></div>`}`}
  <//>`;
}

function Queue({ rows, decide, isActive }) {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const act = (one) => (decision) => {
    // The row and its focused button disappear; move the focus to the next row first.
    const at = rows.indexOf(one);
    const near = rows[at + 1] ?? rows[at - 1];
    const row = near ? list.current?.querySelector(`[data-key="${keyOf(near)}"] button`) : document.getElementById("page");
    if (row instanceof HTMLElement) row.focus();
    decide(one, decision);
  };
  const press = (event) => {
    const decision = KEYS[event.key.toLowerCase()];
    const row = event.target.closest("[data-key]");
    const one = rows.find((each) => keyOf(each) === row?.dataset.key);
    if (!decision || !one || !administrates.value || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (decision === "act" && !isActive) return;
    event.preventDefault();
    act(one)(decision);
  };
  return html`<ul class="queue" ref=${list} onKeyDown=${press}>
    ${rows.map((one) => html`<${Planned} key=${keyOf(one)} of=${one} act=${act(one)} isActive=${isActive} />`)}</ul>`;
}

function Planned({ of, act, isActive }) {
  const button = (decision, text, kind = "") => html`<button type="button" class=${`button slim ${kind}`} aria-label=${`${text}: ${of.email}`} onClick=${() => act(decision)}>${text}</button>`;
  return html`<li data-key=${keyOf(of)}>
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
