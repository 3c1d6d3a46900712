/** A button that opens something over the page: a list of acts, a small form. It closes by Escape, and by a click elsewhere. */
import { html, useEffect, useId, useRef, useState } from "../../vendor/lib.js";

/**
 * @param {{ label: unknown, name?: string, kind?: string, mini?: boolean, up?: boolean, children?: unknown }} props
 *   `name`: what it is called where `label` is an icon alone; `mini`: a list of acts, which closes with the first; `up`: opens above
 */
export function Menu({ label, name, kind = "", mini = false, up = false, children }) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const menu = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!open) return undefined;
    const shut = ({ target }) => menu.current?.contains(target) || setOpen(false);
    document.addEventListener("pointerdown", shut);
    return () => document.removeEventListener("pointerdown", shut);
  }, [open]);
  function press(event) {
    if (event.key !== "Escape" || !open) return;
    event.stopPropagation();
    setOpen(false);
    menu.current?.querySelector("button")?.focus();
  }
  const chosen = ({ target }) => mini && target.closest("button, a") && setOpen(false);
  // Who goes on by keyboard leaves it open behind them otherwise.
  const left = ({ relatedTarget }) => relatedTarget && !menu.current?.contains(relatedTarget) && setOpen(false);
  return html`<div class="menu" ref=${menu} onKeyDown=${press} onFocusOut=${left}>
    <button type="button" class=${`button ${kind}`} aria-label=${name} title=${name} aria-expanded=${open} aria-controls=${open ? id : undefined} onClick=${() => setOpen(!open)}>${label}</button>
    ${open && html`<div id=${id} class=${`pop ${mini ? "mini" : "stack"} ${up ? "up" : ""}`} onClick=${chosen}>${children}</div>`}
  </div>`;
}
