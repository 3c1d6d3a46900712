/** A bar of verdicts: what stands beside it says the same in words. */
import { html } from "../../../vendor/lib.js";

/** So that green never touches red. */
const ORDER = ["passed", "risky", "unknown", "undeliverable"];
const LENGTH = 1_000;

/** @param {{ of: Record<string, number> | undefined, total: number }} props nothing is drawn of nothing */
export function Verdicts({ of, total }) {
  if (!of || total === 0) return null;
  return html`<${Stacked} parts=${ORDER.map((name) => [name, of[name] ?? 0])} total=${total} />`;
}

/** @param {{ parts: [string, number][], total: number }} props by the class of their colour */
export function Stacked({ parts, total }) {
  let x = 0;
  const placed = parts.filter(([, count]) => count > 0).map(([name, count]) => {
    // Never less than can be seen, of what is not zero.
    const width = Math.max(4, (LENGTH * count) / Math.max(1, total));
    x += width;
    return { name, x: x - width, width };
  });
  return html`<svg class="length stacked" viewBox=${`0 0 ${Math.max(LENGTH, x)} 10`} preserveAspectRatio="none" aria-hidden="true">
    ${placed.map((part) => html`<rect class=${part.name} x=${part.x} width=${part.width} height="10" />`)}</svg>`;
}
