/** A dialog over the page. The browser keeps the focus in it and gives it back; Escape closes it. */
import { html, useEffect, useId, useRef } from "../../vendor/lib.js";
import { t } from "../text.js";
import { Form } from "./fields.js";
import { Toasts } from "./toasts.js";

/** @param {{ title: string, wide?: boolean, close: () => void, children?: unknown }} props */
export function Dialog({ title, wide = false, close, children }) {
  const id = useId();
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const gone = useRef(false);
  useEffect(() => {
    const [shown, opener] = [dialog.current, document.activeElement];
    shown?.showModal();
    // Taken out of the page while it is open, it gives the focus back to nobody; and then nobody is to be told of its end.
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
 * Asks whether something that cannot be undone shall be done.
 * @param {{ title: string, submit: string, close: () => void, work: () => Promise<unknown>, children?: unknown }} props
 */
export function Confirm({ title, submit, close, work, children }) {
  const send = async () => {
    await work();
    close();
  };
  const cancel = html`<button type="button" class="button" onClick=${close}>${t("dialog.cancel")}</button>`;
  return html`<${Dialog} title=${title} close=${close}>
    <${Form} send=${send} submit=${submit} danger=${true} others=${cancel}><p>${children}</p><//>
  <//>`;
}
