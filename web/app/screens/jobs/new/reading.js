/** Parsing report: encoding choice and excluded rows. */
import { html } from "../../../../vendor/lib.js";
import { number } from "../../../format.js";
import { t } from "../../../text.js";
import { Note } from "../../../ui.js";
import { ReadAgain, bodyOf } from "./sending.js";

const ENCODINGS = { "utf-8": "UTF-8", "utf-8-bom": "UTF-8", "utf-16le": "UTF-16", "utf-16be": "UTF-16" };

/** Display name of an encoding. @param {string | null} encoding */
export const encodingName = (encoding) => encoding && (ENCODINGS[encoding] ?? encoding.replace("windows", "Windows"));

/** Row position prefix, numbered as in the spreadsheet if there is a sheet. */
function placeOf({ line, row }, { sheet } = { sheet: null }) {
  if (line) return t("upload.line", { line: number(line) });
  return sheet ? t("upload.sheet_row", { row: number(row), sheet }) : t("upload.row", { row: number(row) });
}

/**
 * Encoding choice if the file does not declare one: sample characters to check, and alternatives if the file is available.
 * Parsing again replaces this upload.
 */
export function Encoding({ of }) {
  const said = reading(of);
  if (!said) return null;
  const again = !of.job && of.encodings.length > 0 && bodyOf(of.id);
  // A correct guess must also be confirmed: verification never relies on a guess.
  const now = of.encoding_chosen ? of.encoding : "";
  const others = of.encodings.includes(now) ? [] : [[now, now ? encodingName(now) : t("upload.encoding_choose")]];
  const options = [...others, ...of.encodings.map((encoding) => [encoding, encodingName(encoding)])];
  return html`<section class="card"><div class="stack">
    <${Note} kind=${isSure(of) ? undefined : "warning"}>${said} ${t("upload.comes_back")} ${of.encodings.length > 0 && !of.job && !again && t("upload.encoding_again")}<//>
    ${of.foreign_row && html`<p class="small">${placeOf(of.foreign_row)} <strong>${of.foreign_row.cells.join(" · ")}</strong></p>`}
    ${again && html`<${ReadAgain} of=${of} what="encoding" label=${t("upload.encoding")} value=${now} options=${options} />`}
  </div></section>`;
}

/** True if the user or the file specifies the encoding. */
const isSure = (of) => of.encoding_chosen || (!of.guessed && !of.windows_1252 && of.encoding in ENCODINGS);

/** Possible misreadings of text that is not UTF-8. */
function reading(of) {
  if (of.encoding_chosen) return t("upload.encoding_chosen", { encoding: encodingName(of.encoding) });
  const older = of.encoding && !ENCODINGS[of.encoding];
  if (older) return t("upload.older", { encoding: encodingName(of.encoding) });
  if (of.windows_1252) return t("upload.windows");
  if (of.guessed) return t("upload.guessed");
  return ENCODINGS[of.encoding] === "UTF-16" && t("upload.encoding_read", { encoding: "UTF-16" });
}

/** Irregularities in the file, each with its first position: no row is excluded or changed silently. */
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

/** Rows without an address, with first positions and reasons. */
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
