/** Row details: beside the table if space allows, over the page on phones. */
import { html, useEffect, useRef, useState } from "../../../vendor/lib.js";
import { get } from "../../api.js";
import { number, providerName } from "../../format.js";
import { readableAddress } from "../../idn.js";
import { useMetered } from "../../plan.js";
import { link } from "../../route.js";
import { t } from "../../text.js";
import { Ago, Button, Facts, Icon, reason, toast, useFetched, Verdict } from "../../ui.js";
import { Because, groundOf, groundOfRow } from "../../ui/because.js";
import { Talk } from "../verify/conversation.js";
import { verdictOf } from "../verify/question.js";
import { Keep } from "./keep.js";

/** @param {{ of: import("../../live.js").Progress, row: any, close: () => void }} props */
export function Panel({ of, row, close }) {
  const panel = useRef(/** @type {HTMLElement | null} */ (null));
  const [again, setAgain] = useState(/** @type {any} */ (undefined));
  const stop = useRef(new AbortController());
  const metered = useMetered();
  // Over the page, the panel takes the focus; beside the table, the focus stays there.
  useEffect(() => {
    if (panel.current && getComputedStyle(panel.current).position === "fixed") panel.current.querySelector("button")?.focus();
    return () => stop.current.abort();
  }, []);
  const verify = () => verdictOf(row.email, stop.current.signal).then(({ verdict }) => setAgain(verdict), unless(stop.current.signal));
  return html`<aside class="panel" aria-labelledby="panel-title" ref=${panel}>
    <header class="row apart"><span class="tiny quiet">${t("lists.row_of", { n: row.index + 1, rows: of.rows })}</span>
      <button type="button" class="button plain square" aria-label=${t("dialog.close")} title=${t("dialog.close")} onClick=${close}><${Icon} name="close" /></button></header>
    <div><h3 id="panel-title" class="mail">${row.email || "–"}</h3>
      <${Says} of=${row.processed ? row : { status: "pending" }} />
      <${Because} of=${groundOfRow(row)} /></div>
    <${Known} of=${of} row=${row} />
    <${Reply} row=${row} />
    <${Origin} of=${of} row=${row} />
    <div role="status">${again && html`<${Again} of=${again} />`}</div>
    <footer class="row">${row.email.includes("@") && html`
      <${Button} kind="slim" work=${verify}><${Icon} name="retry" />${t("lists.verify_one")}<//>
      <${Keep} of=${of} email=${row.email} />
      ${navigator.clipboard && html`<button type="button" class="button slim" onClick=${() => copy(row.email)}><${Icon} name="copy" />${t("lists.copy_address")}</button>`}
      <button type="button" class="button plain slim narrow" onClick=${close}>${t("dialog.close")}</button>
      ${metered && html`<span class="tiny quiet">${t("lists.again_cost")}</span>`}`}</footer>
  </aside>`;
}

/** Verdict on one line. */
const Says = ({ of }) => html`<p class=${`says ${of.status ?? ""}`}><${Verdict} of=${of.status} />${of.reason && html`<span>${reason(of.reason)}</span>`}</p>`;

/** Ignores responses and errors after the panel is closed. @param {AbortSignal} signal */
const unless = (signal) => (failure) => {
  if (!signal.aborted) throw failure;
};

function Known({ of, row }) {
  const provider = of.providers.find(({ id }) => id && id === row.provider)?.name ?? row.provider;
  const facts = /** @type {[unknown, unknown][]} */ ([
    [t("provider.provider"), provider && providerName(provider)],
    [t("lists.server"), row.host],
    [t("verify.meant"), row.suggestion && html`<a href=${link(["verify"], { email: row.suggestion })}>${readableAddress(row.suggestion)}</a>`],
    [t("lists.verified"), row.processed && row.completed_at && html`<${Ago} at=${row.completed_at} />`],
  ]).filter(([, value]) => value);
  return facts.length > 0 && html`<${Facts} of=${facts} />`;
}

/** Stored part of the SMTP dialog: codes of the deciding reply and the rule that matched it. */
function Reply({ row: { status, host, decided } }) {
  if (!decided) return null;
  const { code, enhanced, rule, source } = decided;
  const replied = host && code;
  return html`<section class="stack tight" aria-labelledby="reply-title"><h4 id="reply-title" class="small">${t("talk.title")}</h4>
    ${replied ? html`<div class="voices small quiet">${host}</div>
      <ol class="talk"><li class=${`them decides ${status}`}><span class="hidden-text">${t("lists.server")}: </span>
          <span class="say">${code < 400 ? t("talk.yes") : code < 500 ? t("talk.later") : t("talk.no")} <span class="raw">${[code, enhanced].filter(Boolean).join(" ")}</span></span></li>
        <li class="event"><${Icon} name="check" /><span>${t("talk.no_mail")}</span></li></ol>
      <p class="tiny quiet">${source === "cache" && `${t("lists.reply_earlier")} `}${t("lists.reply_stored")}</p>`
    : html`<p class="small quiet">${host ? t("lists.reply_none") : t("lists.reply_unasked")}</p>`}
    ${rule && html`<p class="tiny quiet">${t("labelled", { name: t("evidence.rule") })} <code>${rule}</code></p>`}
  </section>`;
}

/** Other columns of the file, while it is retained. */
function Origin({ of, row }) {
  const path = `/app/jobs/${encodeURIComponent(of.id)}/rows/${row.index}/origin`;
  const origin = useFetched((signal) => (["csv", "input"].includes(of.source) ? get(path, {}, signal) : Promise.resolve({ columns: null, line: null, sheet: null })), [path]);
  const { columns, line, sheet } = origin.value ?? {};
  if (!columns?.length) return null;
  return html`<details><summary>${t("lists.columns", { n: columns.length })}</summary>
    ${line && html`<p class="tiny quiet">${sheet ? t("lists.sheet_row", { n: number(line), sheet }) : t("lists.line", { n: number(line) })}</p>`}
    <${Facts} of=${columns.map(({ name, value }) => [name, value || "–"])} /></details>`;
}

/** New verdict from this moment; the list is unchanged. */
function Again({ of: verdict }) {
  return html`<section class="again" aria-labelledby="again-title"><h4 id="again-title" class="small">${t("lists.again_now")}</h4>
    <${Says} of=${verdict} />
    <${Because} of=${groundOf(verdict)} />
    ${verdict.evidence?.probe?.steps.length > 0 && html`<${Talk} of=${verdict} />`}
    <p class="tiny quiet">${t("lists.again_stays")}</p></section>`;
}

async function copy(text) {
  await navigator.clipboard.writeText(text);
  toast(t("copy.done"));
}
