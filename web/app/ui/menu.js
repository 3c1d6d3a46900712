/** Button with a popover: a list of actions or a small form. Escape or a click outside closes it. */
import { html, useEffect, useId, useRef, useState } from "../../vendor/lib.js";

/**
 * @param {{ label: unknown, name?: string, kind?: string, mini?: boolean, up?: boolean, children?: unknown }} props
 *   `name`: label of an icon-only button; `mini`: a list of actions that closes with the first; `up`: opens above
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
  // Close when keyboard focus leaves the menu.
  const left = ({ relatedTarget }) => relatedTarget && !menu.current?.contains(relatedTarget) && setOpen(false);
  return html`<div class="menu" ref=${menu} onKeyDown=${press} onFocusOut=${left}>
    <button type="button" class=${`button ${kind}`} aria-label=${name} title=${name} aria-expanded=${open} aria-controls=${open ? id : undefined} onClick=${() => setOpen(!open)}>${label}</button>
    ${open && html`<div id=${id} class=${`pop ${mini ? "mini" : "stack"} ${up ? "up" : ""}`} onClick=${chosen}>${children}</div>`}
  </div>`;
}
