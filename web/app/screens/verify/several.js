/** Several addresses at once, with verdicts as they arrive. Larger numbers become a list. */
import { html, useState } from "../../../vendor/lib.js";
import { clock, number } from "../../format.js";
import { readableAddress } from "../../idn.js";
import { testing } from "../../mode.js";
import { useMetered } from "../../plan.js";
import { isMute } from "../../reach.js";
import { link } from "../../route.js";
import { t } from "../../text.js";
import { explain, Failure, Field, Form, Note, reason, STATUSES, Strip, Table, Verdict, word } from "../../ui.js";
import { Held } from "./held.js";
import { addresses } from "./pasted.js";
import { MOST, begin, forget, isOver, retry, run, stop } from "./queue.js";
import { Sandboxed, isSample } from "../../ui/verdict.js";

/** Maximum number of invalid entries named in the message. */
const NAMED = 3;

export function Several() {
  const now = run();
  const [text, setText] = useState(() => now?.rows.map(({ email }) => email).join("\n") ?? "");
  const [held, setHeld] = useState(false);
  const metered = useMetered();
  const { emails, others } = addresses(text);
  const over = !now || isOver(now.rows);
  /** @param {boolean} [anyway] */
  function send(anyway = false) {
    const holds = isMute() && !emails.every(isSample) && !anyway;
    setHeld(holds);
    if (holds) forget();
    else begin(emails);
  }
  const hint = !metered ? t("several.hint_plain", { n: MOST }) : testing.value ? t("several.hint_free", { n: MOST }) : t("several.hint", { n: MOST });
  return html`
    <section class="card">
      <${Form} send=${async () => send()} waits=${!over || emails.length === 0 || emails.length > MOST} submit=${emails.length > 0 ? t("several.submit", { n: emails.length }) : t("verify.submit")}>
        <${Field} label=${t("lists.addresses")} rows=${8} value=${text} set=${setText} maxlength="30000" spellcheck=${false} autocomplete="off"
          placeholder=${"ann@example.com\nbob@example.org"} hint=${hint} wrong=${wrong(emails, others)} />
      <//>
    </section>
    ${held ? html`<${Held} anyway=${() => send(true)} />` : now && html`<${Results} of=${now} over=${over} />`}`;
}

/** @param {string[]} emails @param {string[]} others */
function wrong(emails, others) {
  if (emails.length > MOST) return html`${t("several.too_many", { n: emails.length, most: MOST })} <a href=${link(["lists", "new"])}>${t("several.as_list")}</a>`;
  const named = others.slice(0, NAMED).join(" · ") + (others.length > NAMED ? " …" : "");
  return others.length > 0 ? t("several.others", { text: named }) : undefined;
}

/** @param {{ of: import("./queue.js").Run, over: boolean }} props */
function Results({ of: { rows, failure, until }, over }) {
  const told = rows.filter(({ state }) => state === "told");
  const missing = rows.filter(({ state }) => state === "failed" || state === "left");
  const counts = STATUSES.map((status) => /** @type {[string, number]} */ ([status, told.filter(({ verdict }) => verdict.status === status).length]));
  const columns = [
    { title: t("lists.verdict"), cell: ({ state, verdict }) => html`<${Verdict} of=${state === "told" ? verdict.status : "pending"} />` },
    { title: t("verify.email"), cell: ({ email, state }) => (state === "told" ? html`<a class="mail" href=${link(["verify"], { email })}>${email}</a>` : html`<span class="mail">${email}</span>`) },
    { title: t("usage.reason"), cell: (row) => html`<span class=${row.state === "told" ? "" : "quiet"}>${because(row)}</span>` },
    { title: t("several.took"), number: true, cell: ({ ms }) => (ms === undefined ? "" : `${number(ms)}\u00a0ms`) },
  ];
  const summary = counts.filter(([, n]) => n > 0).map(([status, n]) => `${number(n)} ${word("status", status)}`).join(" · ");
  return html`<section class="card" aria-labelledby="several-title">
    <div class="row apart"><h2 id="several-title"><span role="status">${t("several.progress", { n: told.length, all: rows.length })}</span></h2>
      <div class="row">${!over && html`<button type="button" class="button slim" onClick=${stop}>${t("several.stop")}</button>`}
        ${over && missing.length > 0 && html`<button type="button" class="button slim" onClick=${retry}>${t("several.retry", { n: missing.length })}</button>`}</div></div>
    <${Strip} parts=${counts} total=${rows.length} kind="l" />
    ${summary && html`<p class="small quiet">${summary}</p>`}
    ${failure !== undefined && html`<${Failure} of=${failure} />`}
    ${until && html`<${Note} kind="warning">${t("several.limited", { time: clock(new Date(until).toISOString()) })}<//>`}
    <${Table} caption=${t("lists.verdicts")} columns=${columns} rows=${rows} id=${({ email }) => email} />
    <p class="small quiet">${t("past.text")}</p>
  </section>`;
}

/** @param {import("./queue.js").Row} row */
function because({ state, verdict, failure }) {
  if (state === "told") return html`${reason(verdict.reason)} <${Sandboxed} of=${verdict} />${verdict.suggestion && html` · ${t("verify.meant")} <a href=${link(["verify"], { email: verdict.suggestion })}>${readableAddress(verdict.suggestion)}</a>`}`;
  if (state === "failed") return explain(failure);
  return { waits: t("several.waits"), asked: t("several.asked"), left: t("several.left") }[state];
}
