/** Input that is not sent yet: shortcuts that would discard it are deferred, and leaving unsaved edits has to be confirmed. */
import { signal, useEffect, useState } from "../vendor/lib.js";

/** @type {WeakSet<HTMLFormElement>} */
const begun = new WeakSet();

/** @param {Event} event */
function note({ target }) {
  const form = target instanceof Element ? target.closest("form") : null;
  if (form) begun.add(form);
}
document.addEventListener("input", note);

/** Marks a form's input as sent. @param {HTMLFormElement} form */
export const noteSent = (form) => begun.delete(form);

/** True if a form on the page has unsent input. */
export const hasUnsent = () => [...document.forms].some((form) => begun.has(form));

/** Parts of the page with unsaved edits. @type {Set<object>} */
const edited = new Set();

/** Location that the user wants, while they are asked about unsaved edits. */
export const leaving = signal(/** @type {string | undefined} */ (undefined));

/** Guards edits against being lost. @param {boolean} isEdited */
export function useUnsaved(isEdited) {
  const [own] = useState({});
  useEffect(() => {
    if (isEdited) edited.add(own);
    return () => void edited.delete(own);
  }, [isEdited]);
}

/** Asks before edits are lost; true if there are none. @param {string} to wanted location */
export function mayLeave(to) {
  if (edited.size === 0) return true;
  leaving.value = to;
  return false;
}

/** Discards all edits and goes on. */
export function leave() {
  edited.clear();
  location.hash = leaving.value ?? "";
  leaving.value = undefined;
}

addEventListener("beforeunload", (event) => edited.size > 0 && event.preventDefault());
