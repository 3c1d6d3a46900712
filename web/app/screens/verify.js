/** One address: its verdict at once, and what the verdict is made of. */
import { html, useState } from "../../vendor/lib.js";
import { get } from "../api.js";
import { go } from "../route.js";
import { number } from "../format.js";
import { t } from "../text.js";
import { Field, Form } from "../ui/fields.js";
import { Empty, Note } from "../ui/notes.js";
import { Card, Facts, Figure, Page } from "../ui/page.js";
import { Table } from "../ui/table.js";
import { Status, reason } from "../ui/verdict.js";

const FLAGS = ["role", "disposable", "free", "relay", "gibberish"];

export function Screen({ query }) {
  const [email, setEmail] = useState(query.get("email") ?? "");
  const [verdict, setVerdict] = useState(/** @type {any} */ (undefined));

  async function ask(address) {
    setVerdict(await get("/verify", { email: address, explain: true }));
    go(["verify"], { email: address }, true);
  }

  const accept = (suggestion) => {
    setEmail(suggestion);
    setVerdict(undefined);
  };
  return html`<${Page} title=${t("verify.title")} lead=${t("verify.lead")}>
    <${Card}>
      <${Form} send=${() => ask(email.trim())} submit=${t("verify.submit")}>
        <${Field} label=${t("verify.email")} value=${email} set=${setEmail} required maxlength="1024" inputmode="email"
          autocomplete="off" spellcheck=${false} placeholder="name@example.com" hint=${t("verify.price")} />
      <//>
    <//>
    ${verdict ? html`<${Verdict} of=${verdict} accept=${accept} />` :
      html`<${Empty} title=${t("verify.empty")}>${t("verify.empty_text")}<//>`}
  <//>`;
}

function Verdict({ of: verdict, accept }) {
  const { evidence } = verdict;
  const flags = FLAGS.filter((flag) => verdict[flag]);
  return html`<div class="stack" aria-live="polite">
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
    <${Card} title=${t("evidence.probe")}>${probe ? html`<${Probe} of=${probe} />` : html`<p class="quiet">${t("evidence.not_asked")}</p>`}<//>
    <${Card} title=${t("evidence.timings")}>
      <div class="grid dense">${Object.entries(timings ?? {}).filter(([, ms]) => ms !== null).map(([part, ms]) =>
        html`<${Figure} label=${t(`timing.${part}`)} value=${`${number(ms)} ms`} />`)}</div>
      <${Facts} of=${[[t("evidence.source"), t(`source.${source}`)], [t("evidence.age"), t("evidence.seconds", { n: age ?? 0 })]]} />
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

/** The conversation's end: which host said what at which step. */
function Probe({ of: probe }) {
  return html`<${Facts} of=${[
    [t("evidence.host"), html`<code>${probe.host}</code> ${probe.ip && html`<code>${probe.ip}</code>`}`],
    [t("evidence.tls"), yes(probe.tls)],
    [t("evidence.stage"), probe.stage ?? "–"],
    [t("evidence.answer"), html`<code>${[probe.code, probe.enhanced, probe.text].filter(Boolean).join(" ") || "–"}</code>`],
    [t("evidence.rule"), html`<code>${probe.rule ?? "–"}</code>`],
    [t("evidence.attempts"), probe.attempts ?? "–"],
    [t("evidence.catch_all"), yes(probe.catch_all)],
  ]} />`;
}

const yes = (value) => (value === null || value === undefined ? "–" : value ? t("yes") : t("no"));
