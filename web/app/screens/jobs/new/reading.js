/** How a list was read: its encoding, which the reader may choose, and the rows that are left out. */
import { html } from "../../../../vendor/lib.js";
import { number } from "../../../format.js";
import { t } from "../../../text.js";
import { Note } from "../../../ui.js";
import { ReadAgain, bodyOf } from "./sending.js";

const ENCODINGS = { "utf-8": "UTF-8", "utf-8-bom": "UTF-8", "utf-16le": "UTF-16", "utf-16be": "UTF-16" };

/** The name of an encoding, as people write it. @param {string | null} encoding */
export const encodingName = (encoding) => encoding && (ENCODINGS[encoding] ?? encoding.replace("windows", "Windows"));

/** Where a row is, before what is said of it: as the spreadsheet shows it, if it is one of a sheet. */
function placeOf({ line, row }, { sheet } = { sheet: null }) {
  if (line) return t("upload.line", { line: number(line) });
  return sheet ? t("upload.sheet_row", { row: number(row), sheet }) : t("upload.row", { row: number(row) });
}

/**
 * The encoding, where the file does not name it: with the letters that show whether it is right, and with others to choose from if
 * the file is at hand. The file that is read again replaces this one.
 */
export function Encoding({ of }) {
  const said = reading(of);
  if (!said) return null;
  const again = !of.job && of.encodings.length > 0 && bodyOf(of.id);
  // A guess that is right must be chosen, too: nothing is verified on a guess.
  const now = of.encoding_chosen ? of.encoding : "";
  const others = of.encodings.includes(now) ? [] : [[now, now ? encodingName(now) : t("upload.encoding_choose")]];
  const options = [...others, ...of.encodings.map((encoding) => [encoding, encodingName(encoding)])];
  return html`<section class="card"><div class="stack">
    <${Note} kind=${isSure(of) ? undefined : "warning"}>${said} ${t("upload.comes_back")} ${of.encodings.length > 0 && !of.job && !again && t("upload.encoding_again")}<//>
    ${of.foreign_row && html`<p class="small">${placeOf(of.foreign_row)} <strong>${of.foreign_row.cells.join(" · ")}</strong></p>`}
    ${again && html`<${ReadAgain} of=${of} what="encoding" label=${t("upload.encoding")} value=${now} options=${options} />`}
  </div></section>`;
}

/** Whether somebody or the file itself says what the encoding is. */
const isSure = (of) => of.encoding_chosen || (!of.guessed && !of.windows_1252 && of.encoding in ENCODINGS);

/** What may be wrong about the letters of a text that is not UTF-8. */
function reading(of) {
  if (of.encoding_chosen) return t("upload.encoding_chosen", { encoding: encodingName(of.encoding) });
  const older = of.encoding && !ENCODINGS[of.encoding];
  if (older) return t("upload.older", { encoding: encodingName(of.encoding) });
  if (of.windows_1252) return t("upload.windows");
  if (of.guessed) return t("upload.guessed");
  return ENCODINGS[of.encoding] === "UTF-16" && t("upload.encoding_read", { encoding: "UTF-16" });
}

/** What was odd about the file, with the place of the first: nothing is left out or changed in silence. */
export function Remarks({ of }) {
  const { stray, spanned, nuls, hidden, blank, unreadable } = of.remarks;
  const said = [
    of.wrapped && t("upload.wrapped"),
    stray.count > 0 && t("upload.stray", { n: stray.count, line: number(stray.line) }),
    spanned.count > 0 && t("upload.spanned", { n: spanned.count, line: number(spanned.line) }),
    nuls.count > 0 && t("upload.nuls", { n: nuls.count, line: number(nuls.line) }),
    hidden.count > 0 && t("upload.hidden", { n: hidden.count, line: number(hidden.line) }),
    blank.count > 0 && t("upload.blank_rows", { n: blank.count, line: number(blank.line) }),
    unreadable.count > 0 && t("upload.unreadable", { n: unreadable.count, row: number(unreadable.line) }),
  ].filter(Boolean);
  return said.length > 0 && html`<${Note} kind="warning">${said.join(" ")}<//>`;
}

/** The rows without an address: where the first ones are, and why. */
export function LeftOut({ of }) {
  const { without, counts } = of;
  if (without.first.length === 0) return null;
  const more = counts.empty - without.first.length;
  const why = ({ reason, addresses }) => (reason === "several" ? t("upload.without_several", { n: addresses }) : t(`upload.without_${reason}`));
  return html`<div class="stack">
    <ul class="small">${without.first.map((row) => html`<li key=${row.row}>${placeOf(row, of)} ${why(row)}</li>`)}
      ${more > 0 && html`<li>${t("upload.without_more", { n: more })}</li>`}</ul>
    <p class="small quiet">${t("upload.without_free")} ${without.several > 0 && t("upload.several_hint")} ${without.unknown_encoding > 0 && t("upload.unknown_hint")}</p>
  </div>`;
}
