/** Bars beside each other's figures: a table whose rows also have a length. The drawing is for those who see it. */
import { html } from "../../vendor/lib.js";
import { number, percent } from "../format.js";
import { t } from "../text.js";

/**
 * @typedef {object} Bar
 * @property {string} key
 * @property {unknown} label
 * @property {number} count
 * @property {[string, number][]} [parts] what it is made of: a class of the colour, and how much; all of it in one colour without
 * @property {unknown} [note] in the place of its share
 */

/** @param {{ caption: string, of: string, bars: Bar[], total: number, note?: string }} props `of`: what the rows are; `note`: what the last column is */
export function Bars({ caption, of, bars, total, note }) {
  const most = Math.max(1, ...bars.map(({ count }) => count));
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}><table class="table bars">
    <caption class="hidden-text">${caption}</caption>
    <thead><tr><th scope="col">${of}</th><td class="drawn"></td><th scope="col" class="number">${t("usage.count")}</th>
      <th scope="col" class="number">${note ?? t("usage.share")}</th></tr></thead>
    <tbody>${bars.map(({ key, label, count, parts, note: own }) => html`<tr key=${key}>
      <td data-title=${of}><div>${label}</div></td>
      <td class="drawn" aria-hidden="true"><svg class="length" viewBox="0 0 1000 10" preserveAspectRatio="none">
        ${placed(parts ?? [["", count]], most).map(([name, x, width]) => html`<rect class=${name} x=${x} width=${width} height="10" />`)}</svg></td>
      <td class="number" data-title=${t("usage.count")}><div>${number(count)}</div></td>
      <td class="number" data-title=${note ?? t("usage.share")}><div>${own ?? percent(count, total)}</div></td>
    </tr>`)}</tbody>
  </table></div>`;
}

/** One behind the other, in thousandths of the longest bar. @returns {[string, number, number][]} */
function placed(parts, most) {
  let x = 0;
  return parts.map(([name, count]) => {
    const width = (1000 * count) / most;
    x += width;
    return [name, x - width, width];
  });
}
