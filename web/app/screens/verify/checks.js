/** Check results: findings against the address, then passed checks. Skipped checks are omitted. */
import { html } from "../../../vendor/lib.js";
import { t } from "../../text.js";
import { Glyph, reason, STATUS_OF, word } from "../../ui.js";
import { isAcceptance } from "../../ui/because.js";

/** @param {{ of: any }} props verdict with evidence */
export function Checks({ of: { email, status, role, disposable, evidence } }) {
  const { findings, domain, probe } = evidence;
  const servers = findings.some(({ reason: found, meta }) => found === "illegitimate" || meta === "relay_denied") ? 0 : namedBy(domain, email);
  const syntax = !findings.some((finding) => finding.reason === "invalid");
  /** @type {[boolean | undefined, string, unknown][]} */
  const good = [
    [syntax, t("checks.syntax"), ""],
    [servers > 0, t("checks.domain", { n: servers }), ""],
    [probe?.catch_all === false, t("checks.no_catch_all"), ""],
    [syntax && !role && !disposable, t("checks.person"), ""],
    [status === "passed" && isAcceptance(probe?.code), t("checks.mailbox"), probe?.code && html`<code>${[probe.code, probe.enhanced].filter(Boolean).join(" ")}</code>`],
  ];
  const passed = good.filter(([is]) => is === true);
  return html`<section class="card bare" aria-labelledby="checks-title">
    <header><h2 id="checks-title">${t("checks.title")}</h2><span class="small quiet">${t("checks.count", { n: passed.length + findings.length })}</span></header>
    <ul class="checked">
      ${findings.map((finding, n) => html`<li key=${finding.reason} class=${n === 0 ? "decides" : ""}><${Glyph} of=${STATUS_OF[finding.reason] ?? "unknown"} />
        <span><span class="hidden-text">${STATUS_OF[finding.reason] === "passed" ? t("checks.good") : t("checks.bad")} </span>${reason(finding.reason)}</span><span class="small quiet">${finding.meta && html`<code>${finding.meta}</code>`} <code>${finding.rule}</code></span></li>`)}
      ${passed.map(([, text, detail]) => html`<li key=${text}><${Glyph} of="passed" /><span><span class="hidden-text">${t("checks.good")} </span>${text}</span><span class="small quiet">${detail}</span></li>`)}
      ${domain?.note && html`<li class="quiet"><${Glyph} of="pending" /><span>${word("unusual", domain.note)}</span><span></span></li>`}
      ${!probe && html`<li class="quiet"><${Glyph} of="pending" /><span>${t("checks.not_asked")}</span><span></span></li>`}
    </ul>
  </section>`;
}

/** Number of MX hosts in DNS. A domain without MX records is its own implicit MX host, which does not count. */
function namedBy(domain, email) {
  if (!domain?.exists || domain.null_mx) return 0;
  const [first, ...others] = domain.mx;
  const isImplicit = others.length === 0 && first?.preference === 0 && email.toLowerCase().endsWith(`@${first.host}`);
  return isImplicit ? 0 : domain.mx.length;
}
