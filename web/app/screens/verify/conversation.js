/** SMTP dialog: plain-language steps with the original replies, or the raw transcript. */
import { html, useState } from "../../../vendor/lib.js";
import { number } from "../../format.js";
import { t } from "../../text.js";
import { Facts, Icon, Switch, Table, word, yes } from "../../ui.js";
import { deciding } from "./deciding.js";

/** Commands by the stage that awaits their reply. After connecting, the client sends nothing. */
const COMMANDS = { ehlo: "EHLO", starttls: "STARTTLS", mail: "MAIL FROM", rcpt: "RCPT TO" };

const raw = (of) => [of.code, of.enhanced, of.text].filter(Boolean).join(" ");
const code = (of) => html`<code>${raw(of)}</code>`;

/** @param {{ of: any }} props verdict with evidence */
export function Conversation({ of: verdict }) {
  const { probe, source } = verdict.evidence;
  const [plain, setPlain] = useState(false);
  if (!probe) return null;
  const turn = html`<${Switch} label=${t("show")} options=${[[false, t("talk.words")], [true, t("talk.plain")]]} value=${plain} set=${setPlain} />`;
  const talked = probe.steps.length > 0;
  return html`<section class="card bare" aria-labelledby="talk-title">
    <header><h2 id="talk-title">${t("talk.title")}</h2>${talked && turn}</header>
    <div class="inside stack">
      ${!talked && source === "cache" && html`<p class="quiet">${t("evidence.not_kept")}</p>`}
      ${talked && !plain ? html`<${Talk} of=${verdict} />` : html`<${AsItWas} of=${probe} />`}
    </div>
  </section>`;
}

/** @param {{ of: any }} props */
export function Talk({ of: { email, status, evidence: { probe } } }) {
  const decides = deciding(probe);
  const encrypted = probe.tls ? probe.steps.findLastIndex(({ stage, code: said }) => stage === "starttls" && said < 300) : -1;
  return html`<div class="voices small quiet" aria-hidden="true"><span>${probe.host}</span><span>Probity</span></div>
    <ol class="talk">
      ${probe.steps.map((step, n) => html`
        ${n > 0 && step.host !== probe.steps[n - 1].host && html`<${Event} key=${`host${n}`} icon="retry">${t("talk.next_host", { host: step.host })}<//>`}
        ${COMMANDS[step.stage] && html`<${Said} key=${`us${n}`} us=${true} words=${asked(step, email)} line=${COMMANDS[step.stage]} />`}
        <${Said} key=${n} words=${answered(step)} line=${raw(step)} at=${step.at_ms} kind=${n === decides ? status : ""} />
        ${n === encrypted && html`<${Event} key="tls" icon="lock">${t("talk.encrypted")}<//>`}`)}
      <${Event} icon="check">${t("talk.no_mail")}<//>
    </ol>`;
}

/** @param {{ us?: boolean, words: string, line: string, at?: number, kind?: string }} props `kind`: verdict, if decided here */
function Said({ us = false, words, line, at, kind }) {
  return html`<li class=${us ? "us" : kind ? `them decides ${kind}` : "them"}>
    <span class="hidden-text">${us ? "Probity" : t("lists.server")}: </span>
    <span class="say">${words}${line && html` <span class="raw">${line}</span>`}</span>
    ${at !== undefined && html`<span class="at">+${number(at)}${"\u00a0"}ms${kind && ` · ${t("talk.decided")}`}</span>`}
  </li>`;
}

function Event({ icon, children }) {
  return html`<li class="event"><${Icon} name=${icon} /><span>${children}</span></li>`;
}

const asked = (step, email) => (step.random ? t("talk.ask_random") : t(`talk.ask_${step.stage}`, { email }));

function answered({ stage, code: said }) {
  if (said === null) return t("evidence.silence");
  if (said < 400) return ["connect", "ehlo"].includes(stage) ? t("talk.hello") : t("talk.yes");
  return said < 500 ? t("talk.later") : t("talk.no");
}

/** @param {{ of: any }} props */
function AsItWas({ of: probe }) {
  return html`<${Facts} of=${[
      [t("evidence.host"), html`<code>${probe.host}</code> ${probe.ip && html`<code>${probe.ip}</code>`}`],
      [t("evidence.tls"), yes(probe.tls)],
      [t("evidence.decisive"), probe.code ? code(probe) : "–"],
      [t("evidence.rule"), html`<code>${probe.rule ?? "–"}</code>`],
      [t("attempts"), probe.attempts ?? "–"],
      [t("evidence.catch_all"), yes(probe.catch_all)],
    ]} />
    ${probe.steps.length > 0 && html`<${Steps} of=${probe.steps} />`}`;
}

function Steps({ of: steps }) {
  const hosts = new Set(steps.map(({ host }) => host)).size;
  const columns = [
    { title: t("evidence.at"), number: true, cell: (step) => `${number(step.at_ms)}\u00a0ms` },
    { title: t("evidence.stage"), cell: (step) => html`${step.random ? t("evidence.random") : word("stage", step.stage)}
      ${hosts > 1 && html`<div><code class="small quiet">${step.host}</code></div>`}` },
    { title: t("evidence.answer"), cell: (step) => (step.code ? code(step) : t("evidence.silence")) },
  ];
  const rows = steps.map((step, place) => ({ ...step, place }));
  return html`<${Table} caption=${t("evidence.steps")} columns=${columns} rows=${rows} id=${({ place }) => place} />`;
}
