/**
 * Short messages over the page, read aloud by screen readers. Good news goes by itself, later where it offers to undo something; what
 * failed stays until the reader closes it, since nothing else on the page tells of it. All are gone with the reader whom they told,
 * and an offer to undo with the place that shows what would be undone.
 */
import { effect, html, signal, useEffect, useState } from "../../vendor/lib.js";
import { Refused } from "../api.js";
import { whenGone } from "../kept.js";
import { testing } from "../mode.js";
import { where } from "../route.js";
import { t } from "../text.js";
import { Failure } from "./notes.js";

const SHOWN_MS = 6_000;
const UNDO_MS = 15_000;

/** @typedef {{ id: number, text?: string, undo?: () => Promise<unknown>, failure?: unknown }} Toast */

const shown = signal(/** @type {Toast[]} */ ([]));
let last = 0;

/** Where they can be shown, what was opened last behind the others: an open dialog makes all that is outside it inert. */
const places = signal(/** @type {object[]} */ ([]));

/** @param {Omit<Toast, "id">} what */
function show(what) {
  shown.value = [...shown.value, { id: ++last, ...what }];
}

/** @param {number} id */
function close(id) {
  shown.value = shown.value.filter((one) => one.id !== id);
}

/** @param {string} text @param {() => Promise<unknown>} [undo] what puts back what the text tells of: only the last is offered */
export function toast(text, undo) {
  if (undo) shown.value = shown.value.filter((one) => !one.undo);
  show({ text, undo });
}

/** Counts readers: what one of them did may end when they have gone. */
let reader = 0;
whenGone(() => {
  reader += 1;
  shown.value = [];
});

/** Where the offers of now were made, and in which mode. Another filter of the same place is no other place. */
let offered = "";
effect(() => {
  const here = JSON.stringify([testing.value, where.value.parts]);
  if (here === offered) return;
  offered = here;
  shown.value = shown.peek().filter((one) => !one.undo);
});

/** @param {unknown} failure */
export function toastFailure(failure) {
  // The page for signing in says so.
  if (failure instanceof Refused && failure.code === "not_signed_in") return;
  show({ failure });
}

/**
 * What a form, a link or a command does, in the place of what the browser would: where it fails, that is told.
 * @param {(event?: Event) => unknown} work
 */
export const telling = (work) => async (/** @type {Event | undefined} */ event) => {
  event?.preventDefault();
  try {
    await work(event);
  } catch (failure) {
    toastFailure(failure);
  }
};

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
    <div role="status" aria-live="polite">${good.map((one) => html`<${Good} key=${one.id} of=${one} />`)}</div>
  </div>`;
}

/** Stays while the pointer or the focus is on it: nobody has to hurry. @param {{ of: Toast }} props */
function Good({ of: { id, text, undo } }) {
  const [held, setHeld] = useState(false);
  useEffect(() => {
    if (held) return;
    const timer = setTimeout(() => close(id), undo ? UNDO_MS : SHOWN_MS);
    return () => clearTimeout(timer);
  }, [held]);
  const back = async () => {
    const mine = reader;
    close(id);
    try {
      await undo?.();
      if (mine === reader) toast(t("undone"));
    } catch (failure) {
      if (mine === reader) toastFailure(failure);
    }
  };
  const holds = { onPointerEnter: () => setHeld(true), onPointerLeave: () => setHeld(false), onFocusIn: () => setHeld(true), onFocusOut: () => setHeld(false) };
  return html`<div class=${undo ? "toast toast-undo" : "toast"} ...${holds}><span>${text}</span>
    ${undo && html`<button type="button" class="button slim" onClick=${back}>${t("undo")}</button>`}</div>`;
}
