/** A bar of verdicts: what stands beside it says the same in words. */
import { html } from "../../../vendor/lib.js";
import { STATUSES, Strip } from "../../ui/strip.js";

/** @param {{ of: Record<string, number> | undefined, total: number }} props nothing is drawn of nothing */
export function Verdicts({ of, total }) {
  if (!of || total === 0) return null;
  return html`<${Strip} parts=${STATUSES.map((name) => [name, of[name] ?? 0])} total=${total} />`;
}
