/** Buttons and copyable texts. */
import { html, useRef, useState } from "../../vendor/lib.js";
import { away } from "../away.js";
import { t } from "../text.js";
import { toast, toastFailure } from "./toasts.js";

/**
 * Action button: disabled while its work runs or the server is away; an error stays visible until closed.
 * @param {{ kind?: string, work: () => unknown, disabled?: boolean, label?: string, local?: boolean, children?: unknown }} props
 *   `local`: needs no server
 */
export function Button({ kind = "", work, disabled = false, label, local = false, children }) {
  const [busy, setBusy] = useState(false);
  const isHeld = away.value !== undefined && !local;
  async function press() {
    if (busy || isHeld) return;
    setBusy(true);
    try {
      await work();
    } catch (error) {
      toastFailure(error);
    } finally {
      setBusy(false);
    }
  }
  return html`<button type="button" class=${`button ${kind}`} disabled=${disabled} aria-disabled=${busy || isHeld} aria-busy=${busy}
    aria-label=${label} title=${isHeld ? t("away.held") : undefined} onClick=${press}>${children}</button>`;
}

/**
 * Segmented control for a few options.
 * @template T
 * @param {{ label: string, options: [T, string][], value: T, set: (value: T) => unknown }} props options: value and label
 */
export function Switch({ label, options, value, set }) {
  return html`<div class="switch" role="group" aria-label=${label}>${options.map(([one, name]) => html`<button type="button" key=${String(one)} aria-pressed=${one === value}
    onClick=${() => one === value || set(one)}>${name}</button>`)}</div>`;
}

/**
 * Copies a text. Without HTTPS there is no clipboard, so the text is shown for selection.
 * @param {{ text: string, icon?: unknown, children?: unknown }} props
 */
export function Copy({ text, icon, children }) {
  const [shown, setShown] = useState(false);
  async function copy() {
    if (!navigator.clipboard) return setShown(!shown);
    await navigator.clipboard.writeText(text);
    toast(t("copy.done"));
  }
  return html`<${Button} kind="slim" local=${true} work=${copy}>${icon}${children}<//>${shown && html`<pre class="code copied" tabindex="0">${text}</pre>`}`;
}

/** Text to copy, such as a key shown once. */
export function Secret({ text, label }) {
  const shown = useRef(/** @type {HTMLElement | null} */ (null));
  const copy = async () => {
    // Without HTTPS there is no clipboard: the text is selected for manual copying.
    if (!navigator.clipboard) return getSelection()?.selectAllChildren(/** @type {HTMLElement} */ (shown.current));
    await navigator.clipboard.writeText(text);
    toast(t("copy.done"));
  };
  return html`<div class="secret"><code aria-label=${label} ref=${shown}>${text}</code>
    <${Button} kind="slim" local=${true} work=${copy}>${t("copy.copy")}<//></div>`;
}
