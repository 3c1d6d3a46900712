/**
 * One address: its verdict at once, and what the verdict is made of.
 *
 * A verdict may take twenty seconds, and is paid for: who goes elsewhere meanwhile finds it here when they come back.
 */
import { html, useEffect, useState } from "../../vendor/lib.js";
import { get } from "../api.js";
import { number } from "../format.js";
import { useHere } from "../route.js";
import { session } from "../session.js";
import { t } from "../text.js";
import { Field, Form } from "../ui/fields.js";
import { Empty, Failure, Note, Skeleton } from "../ui/notes.js";
import { Card, Facts, Figure, Page } from "../ui/page.js";
import { Table } from "../ui/table.js";
import { Status, reason, word, yes } from "../ui/verdict.js";
import { Conversation } from "./verify/conversation.js";

const FLAGS = ["role", "disposable", "free", "relay", "gibberish"];

/** @typedef {{ email: string, answer: Promise<any>, verdict?: any, failure?: unknown }} Question */

/** What was asked last, and by whom. @type {{ user?: string, question?: Question }} */
let last = {};

/** What the reader asked last, unless they come for another address. What failed is told of once. @param {string | null} email */
function remembered(email) {
  const { user, question } = last;
  if (!question || user !== session.value?.user.id) return undefined;
  if (question.failure !== undefined) last = {};
  return email === null || question.email === email ? question : undefined;
}

/** @param {string} email @returns {Question} */
function ask(email) {
  /** @type {Question} */
  const question = { email, answer: get("/verify", { email, explain: true }) };
  question.answer.then((verdict) => Object.assign(question, { verdict }), (failure) => Object.assign(question, { failure }));
  last = { user: session.value?.user.id, question };
  return question;
}

export function Screen({ query }) {
  const [question, setQuestion] = useState(() => remembered(query.get("email")));
  const [email, setEmail] = useState(query.get("email") ?? question?.email ?? "");
  const [accepted, setAccepted] = useState(0);
  const [, draw] = useState(0);
  const here = useHere();
  // What was asked before and is answered now.
  useEffect(() => {
    const answered = () => draw((before) => before + 1);
    question?.answer.then(answered, answered);
  }, [question]);

  async function send() {
    const asked = ask(email.trim());
    setQuestion(asked);
    await asked.answer.catch(() => {});
    if (asked.verdict) here.go(["verify"], { email: asked.email }, true);
  }

  const accept = (suggestion) => {
    setEmail(suggestion);
    setQuestion(undefined);
    setAccepted(accepted + 1);
  };
  return html`<${Page} title=${t("verify.title")} lead=${t("verify.lead")}>
    <${Card}>
      <${Form} send=${send} waits=${waiting(question)} submit=${t("verify.submit")}>
        <${Field} label=${t("verify.email")} key=${accepted} focused=${accepted > 0} value=${email} set=${setEmail} required maxlength="1024" inputmode="email"
          autocomplete="off" spellcheck=${false} placeholder="name@example.com" hint=${t("verify.price")} />
      <//>
    <//>
    <p class="hidden-text" role="status">${question && told(question)}</p>
    <${Answer} of=${question} accept=${accept} />
  <//>`;
}

/** @param {Question | undefined} of */
const waiting = (of) => of !== undefined && of.verdict === undefined && of.failure === undefined;

/** What is said aloud: that something is asked, and what came out. A failure speaks for itself. @param {Question} of */
function told({ email, verdict, failure }) {
  if (failure !== undefined) return "";
  return verdict ? `${verdict.email}: ${word("status", verdict.status)}. ${reason(verdict.reason)}.` : t("verify.asking", { email });
}

/** @param {{ of?: Question, accept: (suggestion: string) => void }} props */
function Answer({ of, accept }) {
  if (!of) return html`<${Empty} title=${t("verify.empty")}>${t("verify.empty_text")}<//>`;
  if (of.failure !== undefined) return html`<${Failure} of=${of.failure} />`;
  if (of.verdict) return html`<${Verdict} of=${of.verdict} accept=${accept} />`;
  return html`<${Card}><p class="quiet" aria-hidden="true">${t("verify.asking", { email: of.email })}</p><${Skeleton} lines=${4} /><//>`;
}

function Verdict({ of: verdict, accept }) {
  const { evidence } = verdict;
  const flags = FLAGS.filter((flag) => verdict[flag]);
  return html`<div class="stack">
    <${Card}>
      <div class="row"><${Status} of=${verdict.status} /><h2>${verdict.email}</h2></div>
      <p>${reason(verdict.reason)}. ${t(`verdict.${verdict.status}`)}</p>
      ${verdict.suggestion && html`<${Note} kind="warning">
        <span>${t("verify.meant")} </span>
        <button type="button" class="button slim" onClick=${() => accept(verdict.suggestion)}>${verdict.suggestion}</button>
      <//>`}
      ${flags.length > 0 && html`<div class="row">${flags.map((flag) => html`<span class="badge">${t(`flag.${flag}`)}</span>`)}</div>`}
    <//>
    ${evidence && html`<${Evidence} of=${evidence} />`}
  </div>`;
}

function Evidence({ of: evidence }) {
  const { findings, domain, probe, timings_ms: timings, source, age_s: age } = evidence;
  const asked = source ?? "none";
  const columns = [
    { title: t("evidence.finding"), cell: (finding) => reason(finding.reason) },
    { title: t("evidence.decided"), cell: (finding) => html`<code>${finding.meta || "–"}</code>` },
    { title: t("evidence.rule"), cell: (finding) => html`<code>${finding.rule ?? "–"}</code>` },
  ];
  return html`<div class="columns">
    <${Card} title=${t("evidence.findings")}>
      ${findings?.length ? html`<${Table} caption=${t("evidence.findings")} columns=${columns} rows=${findings} id=${(row) => row.reason} />`
        : html`<p class="quiet">${t("evidence.none")}</p>`}
    <//>
    <${Card} title=${t("evidence.domain")}>${domain ? html`<${Domain} of=${domain} />` : html`<p class="quiet">${t("evidence.not_asked")}</p>`}<//>
    <${Card} title=${t("evidence.probe")}>${probe ? html`<${Conversation} of=${probe} kept=${source === "cache"} />` : html`<p class="quiet">${t("evidence.not_asked")}</p>`}<//>
    <${Card} title=${t("evidence.timings")}>
      <div class="grid dense">${Object.entries(timings ?? {}).filter(([, ms]) => ms !== null).map(([part, ms]) =>
        html`<${Figure} label=${t(`timing.${part}`)} value=${`${number(ms)} ms`} />`)}</div>
      <${Facts} of=${[[t("evidence.source"), t(`source.${asked}`)], [t("evidence.age"), t("evidence.seconds", { n: age ?? 0 })]]} />
    <//>
  </div>`;
}

function Domain({ of: domain }) {
  const exchangers = domain.mx?.length ? html`<ul>${domain.mx.map(({ preference, host }) => html`<li>${preference} <code>${host}</code></li>`)}</ul>` : "–";
  return html`<${Facts} of=${[
    [t("evidence.exists"), yes(domain.exists)],
    [t("evidence.exchangers"), exchangers],
    [t("evidence.null_mx"), yes(domain.null_mx)],
    [t("evidence.provider"), domain.provider ?? "–"],
  ]} />`;
}
