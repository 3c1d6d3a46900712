/** Modal dialog. The browser traps and restores the focus; Escape closes it. */
import { html, useEffect, useId, useRef, useState } from "../../vendor/lib.js";
import { t } from "../text.js";
import { Field, Form } from "./fields.js";
import { Toasts } from "./toasts.js";

/** @param {{ title: string, wide?: boolean, close: () => void, children?: unknown }} props */
export function Dialog({ title, wide = false, close, children }) {
  const id = useId();
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const gone = useRef(false);
  useEffect(() => {
    const [shown, opener] = [dialog.current, document.activeElement];
    shown?.showModal();
    // Closing before removal restores the focus; `gone` suppresses the close callback.
    return () => {
      gone.current = true;
      shown?.close();
      if (opener instanceof HTMLElement && document.activeElement === document.body) opener.focus();
    };
  }, []);
  return html`<dialog class=${wide ? "dialog wide" : "dialog"} ref=${dialog} aria-labelledby=${id} onClose=${() => gone.current || close()}>
    <div class="stack">
      <div class="row apart"><h2 id=${id}>${title}</h2>
        <button type="button" class="button plain slim" onClick=${close}>${t("dialog.close")}</button></div>
      ${children}
    </div>
    <${Toasts} />
  </dialog>`;
}

/**
 * @param {{ title: string, close: () => void, send: () => Promise<unknown>, submit: string, danger?: boolean, others?: unknown, children?: unknown }} props
 */
export const FormDialog = ({ title, close, children, ...form }) => html`<${Dialog} title=${title} close=${close}><${Form} ...${form}>${children}<//><//>`;

/**
 * Dialog that renames a resource.
 * @param {{ title: string, of: string, close: () => void, save: (name: string) => Promise<unknown>, [field: string]: unknown }} props
 */
export function Renaming({ title, of, close, save, ...field }) {
  const [name, setName] = useState(of);
  const send = () => save(name.trim()).then(close);
  return html`<${FormDialog} title=${title} close=${close} send=${send} submit=${t("save")}>
    <${Field} required focused maxlength="200" autocomplete="off" value=${name} set=${setName} ...${field} /><//>`;
}

/**
 * Confirmation dialog for an irreversible action.
 * @param {{ title: string, submit: string, close: () => void, work: () => Promise<unknown>, children?: unknown }} props
 */
export function Confirm({ title, submit, close, work, children }) {
  const cancel = html`<button type="button" class="button" onClick=${close}>${t("dialog.cancel")}</button>`;
  return html`<${FormDialog} title=${title} close=${close} send=${() => work().then(close)} submit=${submit} danger=${true} others=${cancel}><p>${children}</p><//>`;
}

/**
 * Button with a confirmation dialog.
 * @param {{ kind?: string, label: string, work: () => Promise<unknown>, children?: unknown }} props children: the question
 */
export function Asking({ kind = "", label, work, children }) {
  const [asks, setAsks] = useState(false);
  return html`<button type="button" class=${`button ${kind}`} onClick=${() => setAsks(true)}>${label}</button>
    ${asks && html`<${Confirm} title=${label} submit=${label} close=${() => setAsks(false)} work=${work}>${children}<//>`}`;
}
