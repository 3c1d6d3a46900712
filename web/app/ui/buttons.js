/** Buttons, and things to copy. */
import { html, useRef, useState } from "../../vendor/lib.js";
import { t } from "../text.js";
import { toast, toastFailure } from "./toasts.js";

/**
 * A button that does something: disabled while it is being done, and telling when it failed, until that is closed.
 * @param {{ kind?: string, work: () => unknown, disabled?: boolean, label?: string, children?: unknown }} props
 */
export function Button({ kind = "", work, disabled = false, label, children }) {
  const [busy, setBusy] = useState(false);
  async function press() {
    if (busy) return;
    setBusy(true);
    try {
      await work();
    } catch (error) {
      toastFailure(error);
    } finally {
      setBusy(false);
    }
  }
  return html`<button type="button" class=${`button ${kind}`} disabled=${disabled} aria-disabled=${busy} aria-busy=${busy}
    aria-label=${label} onClick=${press}>${children}</button>`;
}

/**
 * A choice between few things, all in sight.
 * @template T
 * @param {{ label: string, options: [T, string][], value: T, set: (value: T) => unknown }} props options as values and names
 */
export function Switch({ label, options, value, set }) {
  return html`<div class="switch" role="group" aria-label=${label}>${options.map(([one, name]) => html`<button type="button" key=${String(one)} aria-pressed=${one === value}
    onClick=${() => one === value || set(one)}>${name}</button>`)}</div>`;
}

/**
 * A button that copies a text. A page that does not travel encrypted has no clipboard: there the text is shown, to be selected.
 * @param {{ text: string, icon?: unknown, children?: unknown }} props
 */
export function Copy({ text, icon, children }) {
  const [shown, setShown] = useState(false);
  async function copy() {
    if (!navigator.clipboard) return setShown(!shown);
    await navigator.clipboard.writeText(text);
    toast(t("copy.done"));
  }
  return html`<${Button} kind="slim" work=${copy}>${icon}${children}<//>${shown && html`<pre class="code copied" tabindex="0">${text}</pre>`}`;
}

/** A text that is to be taken elsewhere, such as a key that is shown once. */
export function Secret({ text, label }) {
  const shown = useRef(/** @type {HTMLElement | null} */ (null));
  const copy = async () => {
    // A page that does not travel encrypted has no clipboard: the reader copies what is selected.
    if (!navigator.clipboard) return getSelection()?.selectAllChildren(/** @type {HTMLElement} */ (shown.current));
    await navigator.clipboard.writeText(text);
    toast(t("copy.done"));
  };
  return html`<div class="secret"><code aria-label=${label} ref=${shown}>${text}</code>
    <${Button} kind="slim" work=${copy}>${t("copy.copy")}<//></div>`;
}
