/** Drawings of verdicts for those who see them: a bar and a ring in parts. What they show stands beside them in figures. */
import { html } from "../../vendor/lib.js";

/** In this order everywhere, so that green never touches red. */
export const STATUSES = ["passed", "risky", "unknown", "undeliverable"];

/** A part that is not nothing is seen, in thousandths. */
const LEAST = 4;

/** @param {[string, number][]} parts @param {number} total @returns {[string, number, number][]} class, place, width in thousandths */
export function placed(parts, total) {
  const shown = parts.filter(([, count]) => count > 0);
  const widths = shown.map(([, count]) => Math.max(LEAST, (1000 * count) / Math.max(1, total)));
  const sum = widths.reduce((all, width) => all + width, 0);
  const scale = sum > 1000 ? 1000 / sum : 1;
  let x = 0;
  return shown.map(([name], n) => {
    const width = widths[n] * scale;
    x += width;
    return [name, x - width, width];
  });
}

/** The verdicts of something as parts. */
export const partsOf = (counts) => /** @type {[string, number][]} */ (STATUSES.map((status) => [status, counts[status]]));

/** @param {{ parts: [string, number][], total: number, kind?: string }} props where the parts are less than all, the rest stays open */
export function Strip({ parts, total, kind = "" }) {
  const at = new Map(placed(parts, total).map(([name, ...place]) => [name, place]));
  // All parts stand in the page from the beginning, so that they grow instead of appearing.
  return html`<svg class=${`strip ${kind}`} viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
    ${parts.map(([name]) => html`<rect key=${name} class=${name} x=${at.get(name)?.[0] ?? 0} width=${at.get(name)?.[1] ?? 0} height="10" />`)}</svg>`;
}

/** What is left open between two parts of the ring, in hundredths of it. */
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
