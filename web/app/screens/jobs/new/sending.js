/**
 * How lists are sent, and why one was not.
 *
 * The file that was sent last is kept at hand, for as long as the page stands: of a workbook another sheet may be wanted, and the
 * server keeps only the rows that it has read.
 */
import { html, useState } from "../../../../vendor/lib.js";
import { upload } from "../../../api.js";
import { useHere } from "../../../route.js";
import { says, t } from "../../../text.js";
import { Failure, Note, Select } from "../../../ui.js";

/** Bytes of a name. */
const NAME_BYTES = 255;

/** @type {{ id?: string, body?: Blob }} */
let last = {};

/** What was sent as this list, if it is at hand. @param {string} id */
export const bodyOf = (id) => (last.id === id ? last.body : undefined);

/**
 * Sends a list; gives its id.
 * @param {Blob} body
 * @param {{ name: string, source: "csv" | "input", sheet?: string, encoding?: string, replaces?: string }} about
 *   `replaces`: a list that is removed with the arrival of this one
 * @param {AbortSignal} signal
 * @param {(part: number) => void} [progress] told the part that was sent, up to 1
 * @returns {Promise<string>}
 */
export async function send(body, { name, source, sheet, encoding, replaces }, signal, progress = () => {}) {
  const { id } = await upload("/app/uploads", { name: short(name), source, sheet, encoding, replaces }, body, progress, signal);
  last = { id, body };
  return id;
}

/** A name as the server takes it: as many whole characters as fit. @param {string} name */
function short(name) {
  const bytes = new Uint8Array(NAME_BYTES);
  const { written } = new TextEncoder().encodeInto(name, bytes);
  return new TextDecoder().decode(bytes.subarray(0, written));
}

/** Why a list was not taken. @param {{ of: any, limits?: { uploads: number } }} props */
export function Unsent({ of, limits }) {
  if (of.fault) return html`<${NoList} of=${of} />`;
  if (of.code === "conflict" && limits) return html`<div role="alert"><${Note} kind="bad">${t("upload.full", { n: limits.uploads })}<//></div>`;
  return html`<${Failure} of=${of} />`;
}

/** What is wrong with a file, in the reader's language. */
function NoList({ of }) {
  const word = `fault.${of.fault}`;
  return html`<div role="alert"><${Note} kind="bad" title=${t("upload.refused")}>
    ${says(word) ? t(word, { n: of.number }) : of.message}<//></div>`;
}

/**
 * Has a file that is at hand read again, otherwise: what comes of it takes the place of this list.
 * @param {{ of: any, what: "sheet" | "encoding", label: string, value: string, options: [string, unknown][] }} props
 */
export function ReadAgain({ of, what, label, value, options }) {
  const [state, setState] = useState(/** @type {{ chosen?: string, failure?: unknown }} */ ({}));
  const here = useHere();
  const body = bodyOf(of.id);
  if (!body) return null;
  async function read(/** @type {string} */ chosen) {
    if (!body) return;
    setState({ chosen });
    try {
      const id = await send(body, { name: of.name, source: of.source, [what]: chosen, replaces: of.id }, here.signal);
      here.go(["lists", "new"], { upload: id }, true);
    } catch (failure) {
      setState({ failure });
    }
  }
  const busy = state.chosen !== undefined;
  return html`<div class="stack" aria-busy=${busy}>
    ${state.failure !== undefined && html`<${Unsent} of=${state.failure} />`}
    <div class="row"><${Select} label=${label} value=${state.chosen ?? value} set=${read} disabled=${busy} options=${options} /></div>
  </div>`;
}
