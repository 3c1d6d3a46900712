/**
 * Forms with input that nobody has sent yet: what would throw it away by a single key waits.
 */

/** @type {WeakSet<HTMLFormElement>} */
const begun = new WeakSet();

/** @param {Event} event */
function note({ target }) {
  const form = target instanceof Element ? target.closest("form") : null;
  if (form) begun.add(form);
}
document.addEventListener("input", note);

/** What stands in a form has been sent. @param {HTMLFormElement} form */
export const noteSent = (form) => begun.delete(form);

/** Whether a form on the page was begun and not sent. */
export const hasUnsent = () => [...document.forms].some((form) => begun.has(form));
