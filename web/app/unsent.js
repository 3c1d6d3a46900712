/** Forms with unsent input. Shortcuts that would discard it are deferred. */

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
