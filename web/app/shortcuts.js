/**
 * Keyboard shortcuts: Ctrl+K or ⌘K opens the palette, letters open screens, a slash goes to the search of a screen. They are inactive while typing or in a dialog, and
 * can be turned off because speech input may trigger them (WCAG 2.1.4).
 */
import { signal, useEffect, useState } from "../vendor/lib.js";
import { lackOfModule } from "./away.js";
import { missingPart } from "./ui/notes.js";
import { toastFailure } from "./ui/toasts.js";
import { hasUnsent } from "./unsent.js";

const KEPT = "probity.letters";
/** Maximum time between the two letters. */
const FOLLOWS_MS = 1_500;

/** True if letter shortcuts are on. */
export const letters = signal(localStorage.getItem(KEPT) !== "off");

/** @param {boolean} on */
export function setLetters(on) {
  localStorage.setItem(KEPT, on ? "on" : "off");
  letters.value = on;
}

export const isMac = /Mac|iP(hone|ad)/.test(navigator.platform);

const types = (target) => target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Search field of the screen. */
export const searchField = () => /** @type {HTMLElement | null} */ (document.querySelector("main input[type=search]"));

/** Says why a module did not load. */
const missing = async () => toastFailure(missingPart(await lackOfModule()));

/** Listens for shortcuts. Returns the open palette and functions that open and close it. */
export function usePalette() {
  const [palette, setPalette] = useState(/** @type {{ Palette: Function } | undefined} */ (undefined));
  const open = () => import("./ui/palette.js").then((module) => setPalette({ Palette: module.Palette }), missing);
  useEffect(() => {
    /** @type {{ key: string, until: number } | undefined} */
    let first;
    async function press(event) {
      const { key, ctrlKey, metaKey, altKey, target, isComposing, repeat } = event;
      if (isComposing || repeat || document.querySelector("dialog[open]")) return;
      // On a Mac, Ctrl+K deletes to the end of the line.
      if ((metaKey || (ctrlKey && !isMac)) && !altKey && key.toLowerCase() === "k") {
        event.preventDefault();
        open();
        return;
      }
      if (!letters.value || ctrlKey || metaKey || altKey || key.length !== 1 || types(target) || (key !== "/" && target?.closest?.("[role=grid]"))) return;
      const before = first && Date.now() < first.until ? `${first.key} ` : "";
      first = undefined;
      if (key === "?") return void open();
      if (key === "/") {
        // At once: what is typed next belongs to the field.
        if (searchField()) event.preventDefault();
        return searchField()?.focus();
      }
      if (!before && key === "g") {
        first = { key, until: Date.now() + FOLLOWS_MS };
        return;
      }
      const module = await import("./commands.js").catch(missing);
      const command = module?.commands().find(({ keys }) => keys === before + key);
      if (!command || (command.clears && hasUnsent())) return;
      module?.perform(command);
    }
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
  return { palette, open, close: () => setPalette(undefined) };
}
