/** What mail servers said, step by step, and the answer that decided. */
import { html } from "../../../vendor/lib.js";
import { number } from "../../format.js";
import { t } from "../../text.js";
import { Facts } from "../../ui/page.js";
import { Table } from "../../ui/table.js";
import { word, yes } from "../../ui/verdict.js";

const answer = (of) => html`<code>${[of.code, of.enhanced, of.text].filter(Boolean).join(" ")}</code>`;

/** @param {{ of: any, kept: boolean }} props  `kept`: of an earlier question, of which the answer alone is known */
export function Conversation({ of: probe, kept }) {
  return html`<${Facts} of=${[
      [t("evidence.host"), html`<code>${probe.host}</code> ${probe.ip && html`<code>${probe.ip}</code>`}`],
      [t("evidence.tls"), yes(probe.tls)],
      [t("evidence.decisive"), probe.code ? answer(probe) : "–"],
      [t("evidence.rule"), html`<code>${probe.rule ?? "–"}</code>`],
      [t("evidence.attempts"), probe.attempts ?? "–"],
      [t("evidence.catch_all"), yes(probe.catch_all)],
    ]} />
    ${probe.steps.length > 0 ? html`<${Steps} of=${probe.steps} />` : kept && html`<p class="quiet">${t("evidence.not_kept")}</p>`}`;
}

function Steps({ of: steps }) {
  const hosts = new Set(steps.map(({ host }) => host)).size;
  const columns = [
    { title: t("evidence.at"), number: true, cell: (step) => `${number(step.at_ms)}\u00a0ms` },
    { title: t("evidence.stage"), cell: (step) => html`${step.random ? t("evidence.random") : word("stage", step.stage)}
      ${hosts > 1 && html`<div><code class="small quiet">${step.host}</code></div>`}` },
    { title: t("evidence.answer"), cell: (step) => (step.code ? answer(step) : t("evidence.silence")) },
  ];
  const rows = steps.map((step, place) => ({ ...step, place }));
  return html`<${Table} caption=${t("evidence.steps")} columns=${columns} rows=${rows} id=${({ place }) => place} />`;
}
