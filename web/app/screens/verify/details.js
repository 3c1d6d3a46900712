/** Verdict in API terms, and its source. */
import { html } from "../../../vendor/lib.js";
import { providerName } from "../../format.js";
import { t } from "../../text.js";
import { Ago, Card, Facts, word } from "../../ui.js";

/** @param {{ of: any, at?: string }} props `at`: verdict time */
export function Details({ of: { status, reason, meta, evidence }, at }) {
  const { domain, probe, source, age_s: age } = evidence;
  const code = (value) => value && html`<code>${value}</code>`;
  const facts = /** @type {[unknown, unknown][]} */ ([
    [t("lists.verdict"), code(status)],
    [t("usage.reason"), code(reason)],
    [t("evidence.decided"), code(meta)],
    [t("provider.provider"), domain?.provider && providerName(domain.provider)],
    [t("evidence.exchangers"), domain?.mx.length > 0 && html`<ul>${domain.mx.map(({ preference, host }) => html`<li>${preference} <code>${host}</code></li>`)}</ul>`],
    [t("evidence.host"), code(probe?.host)],
    [t("evidence.ip"), code(probe?.ip)],
    [t("evidence.source"), word("source", source ?? "none")],
    [t("evidence.age"), age > 0 && t("evidence.seconds", { n: age })],
    [t("lists.verified"), at && html`<${Ago} at=${at} />`],
  ]).filter(([, value]) => value);
  return html`<${Card} title=${t("details.title")}><${Facts} of=${facts} /><//>`;
}
