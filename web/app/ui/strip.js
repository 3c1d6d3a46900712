/** Decorative verdict charts: a stacked bar and a ring. The adjacent figures carry the same data. */
import { html } from "../../vendor/lib.js";

/** Fixed order; green never touches red. */
export const STATUSES = ["passed", "risky", "unknown", "undeliverable"];

/** Minimum visible width of a nonzero part, in thousandths of the whole or of a proportional bar. */
const LEAST = 4;
const LEAST_FLAT = 20;

/**
 * @param {[string, number][]} parts @param {number} total @param {number} [least] @returns {[string, number, number][]} class, position, width in thousandths
 */
export function placed(parts, total, least = LEAST) {
  const shown = parts.filter(([, count]) => count > 0);
  const widths = shown.map(([, count]) => Math.max(least, (1000 * count) / Math.max(1, total)));
  const sum = widths.reduce((all, width) => all + width, 0);
  const scale = sum > 1000 ? 1000 / sum : 1;
  let x = 0;
  return shown.map(([name], n) => {
    const width = widths[n] * scale;
    x += width;
    return [name, x - width, width];
  });
}

/** Verdict counts as parts. */
export const partsOf = (counts) => /** @type {[string, number][]} */ (STATUSES.map((status) => [status, counts[status]]));

/** @param {{ parts: [string, number][], total: number, kind?: string }} props parts below the total leave a gap */
export function Strip({ parts, total, kind = "" }) {
  const at = new Map(placed(parts, total, kind === "flat" ? LEAST_FLAT : LEAST).map(([name, ...place]) => [name, place]));
  // All parts exist from the start, so that they grow instead of appearing.
  return html`<svg class=${`strip ${kind}`} viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
    ${parts.map(([name]) => html`<rect key=${name} class=${name} x=${at.get(name)?.[0] ?? 0} width=${at.get(name)?.[1] ?? 0} height="10" />`)}</svg>`;
}

/** Gap between two parts of the ring, in hundredths. */
const GAP = 0.7;

/** @param {{ parts: [string, number][], total: number }} props */
export function Donut({ parts, total }) {
  const at = new Map(placed(parts, total).map(([name, ...place]) => [name, place]));
  const gap = at.size > 1 ? GAP : 0;
  return html`<svg class="donut" viewBox="0 0 100 100" aria-hidden="true"><g transform="rotate(-90 50 50)"><circle class="track" cx="50" cy="50" r="43" />
    ${parts.map(([name]) => {
      const [x, width] = at.get(name) ?? [0, 0];
      const length = width === 0 ? 0 : Math.max(0.3, width / 10 - gap);
      return html`<circle key=${name} class=${`${name} ${length === 0 ? "none" : ""}`} cx="50" cy="50" r="43" pathLength="100" stroke-dasharray=${`${length} 100`}
        stroke-dashoffset=${-(x / 10 + gap / 2)} />`;
    })}</g></svg>`;
}

/** Height of a curve, and its vertical margin for the stroke. */
const [CURVE_HEIGHT, CURVE_ROOM] = [28, 2];

/** Sparkline of daily values, without axes. @param {{ values: number[] }} props */
export function Curve({ values }) {
  const [most, least] = [Math.max(...values), Math.min(...values)];
  const y = (value) => CURVE_HEIGHT - CURVE_ROOM - ((value - least) / (most - least || 1)) * (CURVE_HEIGHT - 2 * CURVE_ROOM);
  const points = values.map((value, n) => `${(100 * n) / Math.max(1, values.length - 1)} ${y(value).toFixed(2)}`);
  // One day is no curve; its space is kept so that figures align.
  const line = values.length > 1 ? `M${points.join("L")}` : "";
  return html`<svg class="curve" viewBox=${`0 0 100 ${CURVE_HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
    ${line && html`<path class="area" d=${`${line}V${CURVE_HEIGHT}H0z`} /><path class="line" d=${line} />`}</svg>`;
}
