/**
 * Toasts, announced by screen readers. Success messages disappear after a delay, longer with an undo offer. Errors stay until
 * closed, because nothing else on the page reports them. Signing out removes all toasts; leaving the page removes its undo
 * offers and its errors.
 */
import { effect, html, signal, useEffect, useState } from "../../vendor/lib.js";
import { Refused, isUnreachable } from "../api.js";
import { returns } from "../away.js";
import { whenGone } from "../kept.js";
import { testing } from "../mode.js";
import { where } from "../route.js";
import { t } from "../text.js";
import { Failure } from "./notes.js";

const SHOWN_MS = 6_000;
const UNDO_MS = 15_000;
const LEAVING_MS = 1_000;

/** @typedef {{ id: number, at: number, text?: string, undo?: () => Promise<unknown>, failure?: unknown }} Toast */

const shown = signal(/** @type {Toast[]} */ ([]));
let last = 0;

/** Toast containers, the last opened at the end: an open dialog makes everything outside it inert. */
const places = signal(/** @type {object[]} */ ([]));

/** @param {Omit<Toast, "id" | "at">} what */
function show(what) {
  shown.value = [...shown.value, { id: ++last, at: performance.now(), ...what }];
}

/** @param {number} id */
function close(id) {
  shown.value = shown.value.filter((one) => one.id !== id);
}

/** @param {string} text @param {() => Promise<unknown>} [undo] reverts the reported action; only the latest is offered */
export function toast(text, undo) {
  if (undo) shown.value = shown.value.filter((one) => !one.undo);
  show({ text, undo });
}

/** Counter of users: an action may complete after its user has signed out. */
let reader = 0;
whenGone(() => {
  reader += 1;
  shown.value = [];
});

/** Location and mode of the current undo offers and errors. A filter is not part of the location. */
let offered = "";
effect(() => {
  const here = JSON.stringify([testing.value, where.value.parts]);
  if (here === offered) return;
  offered = here;
  // What an act reports while it leaves the page belongs to the next one.
  shown.value = shown.peek().filter((one) => !one.undo && (!one.failure || performance.now() - one.at < LEAVING_MS));
});

// The server is back.
returns.subscribe(() => {
  shown.value = shown.peek().filter(({ failure }) => !isUnreachable(failure));
});

/** @param {unknown} failure */
export function toastFailure(failure) {
  // The sign-in page reports this error.
  if (failure instanceof Refused && failure.code === "not_signed_in") return;
  show({ failure });
}

/**
 * Handler of a form, link or command that replaces the browser's default and shows errors as toasts.
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

/** Toast container: one in the page and one in each dialog; the last one shows the toasts. */
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

/** Success toast; stays while hovered or focused. @param {{ of: Toast }} props */
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
