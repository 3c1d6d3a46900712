/** Short messages that come and go by themselves; read aloud by screen readers. */
import { html, signal } from "../../vendor/lib.js";

const SHOWN_MS = 6_000;

const shown = signal(/** @type {{ id: number, text: string }[]} */ ([]));
let last = 0;

/** @param {string} text */
export function toast(text) {
  const id = ++last;
  shown.value = [...shown.value, { id, text }];
  setTimeout(() => {
    shown.value = shown.value.filter((one) => one.id !== id);
  }, SHOWN_MS);
}

export function Toasts() {
  return html`<div class="toasts" role="status" aria-live="polite">
    ${shown.value.map(({ id, text }) => html`<div class="toast" key=${id}>${text}</div>`)}
  </div>`;
}
