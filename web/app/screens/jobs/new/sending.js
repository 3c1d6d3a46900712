/**
 * Upload of lists and its errors.
 *
 * The last file stays in memory while the page is open, because another sheet or encoding may be needed and the server keeps only
 * parsed rows.
 */
import { html, useState } from "../../../../vendor/lib.js";
import { upload } from "../../../api.js";
import { useHere } from "../../../route.js";
import { says, t } from "../../../text.js";
import { Failure, Note, Select } from "../../../ui.js";

/** Maximum length of a name, in bytes. */
const NAME_BYTES = 255;

/** @type {{ id?: string, body?: Blob }} */
let last = {};

/** File of this upload, if it is still in memory. @param {string} id */
export const bodyOf = (id) => (last.id === id ? last.body : undefined);

/**
 * Uploads a list; returns its ID.
 * @param {Blob} body
 * @param {{ name: string, source: "csv" | "input", sheet?: string, encoding?: string, replaces?: string }} about
 *   `replaces`: list that this one replaces
 * @param {AbortSignal} signal
 * @param {(part: number) => void} [progress] receives the fraction sent, up to 1
 * @returns {Promise<string>}
 */
export async function send(body, { name, source, sheet, encoding, replaces }, signal, progress = () => {}) {
  const { id } = await upload("/app/uploads", { name: short(name), source, sheet, encoding, replaces }, body, progress, signal);
  last = { id, body };
  return id;
}

/** Truncates a name to the server's limit at a character boundary. @param {string} name */
function short(name) {
  const bytes = new Uint8Array(NAME_BYTES);
  const { written } = new TextEncoder().encodeInto(name, bytes);
  return new TextDecoder().decode(bytes.subarray(0, written));
}

/** Error of a rejected list. @param {{ of: any, limits?: { uploads: number } }} props */
export function Unsent({ of, limits }) {
  if (of.fault) return html`<${NoList} of=${of} />`;
  if (of.code === "conflict" && limits) return html`<div role="alert"><${Note} kind="bad">${t("upload.full", { n: limits.uploads })}<//></div>`;
  return html`<${Failure} of=${of} />`;
}

/** Parsing error in the user's language. */
function NoList({ of }) {
  const word = `fault.${of.fault}`;
  return html`<div role="alert"><${Note} kind="bad" title=${t("upload.refused")}>
    ${says(word) ? t(word, { n: of.number }) : of.message}<//></div>`;
}

/**
 * Parses the file in memory again with another sheet or encoding; the result replaces this list.
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
