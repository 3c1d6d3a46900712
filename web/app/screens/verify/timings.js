/** Waterfall of reply times with the total duration. Only measured values are shown: a cached verdict has none. */
import { html } from "../../../vendor/lib.js";
import { number } from "../../format.js";
import { t } from "../../text.js";
import { word } from "../../ui.js";
import { deciding } from "./deciding.js";

/** Minimum visible width, in thousandths. */
const LEAST = 4;
const ms = (value) => `${number(value)}\u00a0ms`;

/** @param {{ of: any }} props verdict with evidence */
export function Timings({ of: { status, evidence } }) {
  const { probe, timings_ms: timings } = evidence;
  const steps = probe?.steps ?? [];
  const parts = Object.entries(timings).filter(([part, value]) => part !== "total" && value > 0);
  if (steps.length === 0 && parts.length === 0) return null;
  return html`<section class="card bare" aria-labelledby="timings-title">
    <header><h2 id="timings-title">${t("timings.title")}</h2><span class="small">${word("timing", "total")} <b>${ms(timings.total)}</b></span></header>
    <div class="inside stack">
      ${steps.length > 0 && html`<${Waterfall} steps=${steps} decides=${probe ? deciding(probe) : -1} status=${status} />`}
      ${parts.length > 0 && html`<p class="small quiet">${t("timings.parts")} ${parts.map(([part, value]) => `${word("timing", part)} ${ms(value)}`).join(" · ")}</p>`}
    </div>
  </section>`;
}

/** @param {{ steps: any[], decides: number, status: string }} props */
function Waterfall({ steps, decides, status }) {
  const whole = Math.max(1, ...steps.map(({ at_ms: at }) => at));
  return html`<ol class="fall">${steps.map((step, n) => {
    const from = n > 0 ? steps[n - 1].at_ms : 0;
    const width = Math.max(LEAST, (1000 * (step.at_ms - from)) / whole);
    return html`<li key=${n} class=${n === decides ? `decides ${status}` : ""}>
      <span>${step.random ? t("evidence.random") : word("stage", step.stage)}</span>
      <svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true"><rect x=${Math.min(1000 - width, (1000 * from) / whole)} width=${width} height="10" /></svg>
      <span class="number">${ms(step.at_ms - from)}</span></li>`;
  })}</ol>`;
}
