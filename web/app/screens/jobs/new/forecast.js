/** Forecast of a list, as ranges with their basis. */
import { html } from "../../../../vendor/lib.js";
import { clock, duration, number, percent, providerName, time } from "../../../format.js";
import { useMetered } from "../../../plan.js";
import { isMute } from "../../../reach.js";
import { t } from "../../../text.js";
import { Glyph, Icon, Note, Strip } from "../../../ui.js";

/** @param {{ of: any }} props */
export function Forecast({ of: { counts, providers, passed, accept_all, unknown, credits, time: takes } }) {
  const metered = useMetered();
  const whole = Math.max(1, counts.distinct);
  return html`<div class="stack">
    <${Expected} icon=${html`<${Icon} name="clock" />`} label=${t("duration")} value=${lasting(takes)}>${pace(takes, providers)}<//>
    ${passed && html`<${Expected} kind="passed" label=${t("status.passed")} value=${shares(passed.low, passed.high)} range=${[passed.low, passed.high]}>${t("forecast.days", { n: passed.days })}<//>`}
    <${Expected} kind="unknown" label=${t("forecast.unknown")} value=${range(unknown.low, unknown.high)} range=${unknown.high !== null && [unknown.low / whole, unknown.high / whole]}>
      ${unknown.history ? days(unknown.history) : t("forecast.no_history")}${accept_all > 0 && ` ${t("forecast.of_catch_alls", { n: accept_all })}`}<//>
    ${metered && html`<${Expected} label=${t("lists.at_most")} value=${number(credits.high)}>${t("forecast.held", { n: credits.held })}${" · "}${t("lists.there")}: ${number(credits.available)}<//>`}
    ${!credits.enough && html`<${Note} kind="warning">${t("failure.insufficient_credits")}<//>`}
  </div>`;
}

/** One-line summary of time and deliverable share, for when the forecast is out of view. @param {{ of: any }} props */
export function Brief({ of: { passed, time: takes } }) {
  return html`<p class="brief small" aria-hidden="true"><span class="expected"><${Icon} name="clock" />${lasting(takes)}</span>
    ${passed && html`<span class="expected"><${Glyph} of="passed" />${shares(passed.low, passed.high)}</span>`}</p>`;
}

/** One figure; `range`: lower and upper share. */
function Expected({ icon = undefined, kind = "", label, value, range: between = undefined, children }) {
  return html`<div class=${`figure ${kind}`}><span class="quiet small expected">${icon ?? (kind && html`<${Glyph} of=${kind} />`)}${label}</span><span class="value">${value}</span>
    ${between && html`<${Strip} kind="between" parts=${[["open", between[0]], [kind, Math.max(0.01, between[1] - between[0])]]} total=${1} />`}
    ${children && html`<span class="quiet small">${children}</span>`}</div>`;
}

/** Range between two shares, in whole percent. */
function shares(low, high) {
  const [lower, upper] = [percent(low, 1), percent(high, 1)];
  return lower === upper ? lower : t("forecast.range", { low: lower, high: upper });
}

/** Range that may have no upper bound. */
function range(low, high) {
  if (high === null) return low === 0 ? t("forecast.not_yet") : t("forecast.at_least", { low: number(low) });
  return low === high ? number(low) : t("forecast.range", { low: number(low), high: number(high) });
}

const days = (history) => t("forecast.history", { n: history.days, low: percent(history.low, 1), high: percent(history.high, 1) });

function lasting({ low_s: low, high_s: high }) {
  // The list waits until mail servers can be probed, which nobody can foretell.
  if (isMute()) return t("forecast.not_yet");
  if (high === null) return low < 1 ? t("forecast.not_yet") : t("forecast.at_least", { low: duration(low) });
  const lower = low < 60 ? t("forecast.under_a_minute") : duration(low);
  return high < 60 || duration(high) === lower ? lower : t("forecast.range", { low: lower, high: duration(high) });
}

/** Earliest end, and the provider that determines it. */
function pace({ low_s: low, slowest, addresses, per_minute }, providers) {
  if (slowest === null || per_minute === 0 || isMute()) return null;
  const known = providers.find(({ id }) => id === slowest)?.name;
  const name = known ? providerName(known) : t("forecast.domain");
  const longest = t("forecast.pace", { name, n: addresses, per_minute: number(per_minute) });
  return low < 60 ? longest : `${t("forecast.done", { at: clock(Date.now() + low * 1000) })} ${longest}`;
}

/** Mail providers, as far as the domains show. @param {{ of: any }} props */
export function MailProviders({ of: { providers } }) {
  if (providers.length === 0) return null;
  const name = ({ id, name: known }) => (known ? providerName(known) : id === "others" ? t("provider.other") : t("forecast.nobody"));
  const note = ({ never_tells, held_until }) => (never_tells ? t("forecast.never_tells") : held_until ? t("forecast.held_until", { at: time(held_until) }) : "");
  const most = Math.max(...providers.map(({ addresses }) => addresses));
  // Invalid addresses have no provider: without them, the shares add up to 100%.
  const all = providers.reduce((sum, { addresses }) => sum + addresses, 0);
  return html`<section class="card bare" aria-labelledby="mail-title"><header><h2 id="mail-title">${t("provider.title")}</h2>
      <span class="tiny quiet">${t("forecast.by_domain")}</span></header>
    <ul class="meters">${providers.map((one) => html`<li key=${one.id}><div><span class="cut" title=${name(one)}>${name(one)}</span><${Strip} kind="flat" parts=${[["addresses", one.addresses]]} total=${most} />
      <span class="number">${number(one.addresses)}</span><span class="number">${percent(one.addresses, all)}</span>${note(one) && html`<span class="meaning tiny quiet">${note(one)}</span>`}</div></li>`)}</ul></section>`;
}
