/**
 * Short messages over the page, read aloud by screen readers. Good news goes by itself; what failed stays until the reader closes it,
 * since nothing else on the page tells of it.
 */
import { html, signal, useEffect, useState } from "../../vendor/lib.js";
import { t } from "../text.js";
import { Failure } from "./notes.js";

const SHOWN_MS = 6_000;

/** @typedef {{ id: number, text?: string, failure?: unknown }} Toast */

const shown = signal(/** @type {Toast[]} */ ([]));
let last = 0;

/** Where they can be shown, what was opened last behind the others: an open dialog makes all that is outside it inert. */
const places = signal(/** @type {object[]} */ ([]));

/** @param {Omit<Toast, "id">} what */
function show(what) {
  const id = ++last;
  shown.value = [...shown.value, { id, ...what }];
  return id;
}

/** @param {number} id */
function close(id) {
  shown.value = shown.value.filter((one) => one.id !== id);
}

/** @param {string} text */
export function toast(text) {
  const id = show({ text });
  setTimeout(() => close(id), SHOWN_MS);
}

/** @param {unknown} failure */
export function toastFailure(failure) {
  show({ failure });
}

/** The place of the messages: one in the page and one in each dialog, of which the last has them. */
export function Toasts() {
  const [place] = useState({});
  useEffect(() => {
    places.value = [...places.value, place];
    return () => {
      places.value = places.value.filter((one) => one !== place);
    };
  }, []);
  const here = places.value.at(-1) === place ? shown.value : [];
  const [good, bad] = [here.filter((one) => one.text !== undefined), here.filter((one) => one.text === undefined)];
  return html`<div class="toasts">
    ${bad.map(({ id, failure }) => html`<div class="toast toast-bad" key=${id}>
      <${Failure} of=${failure} />
      <button type="button" class="button slim" onClick=${() => close(id)}>${t("dialog.close")}</button>
    </div>`)}
    <div role="status" aria-live="polite">${good.map(({ id, text }) => html`<div class="toast" key=${id}>${text}</div>`)}</div>
  </div>`;
}
