/** Light or dark: as the system has it, unless the reader chose one. The browser remembers the choice. */
import { signal } from "../vendor/lib.js";

const KEPT = "probity.theme";

/** @typedef {"light" | "dark"} Theme */

/** What the reader chose; `undefined` for the system's. */
export const chosen = signal(/** @type {Theme | undefined} */ (read()));

const system = matchMedia("(prefers-color-scheme: dark)");
/** The system's, as it changes. */
const dark = signal(system.matches);
system.addEventListener("change", () => {
  dark.value = system.matches;
});

/** What the page looks like now. @returns {Theme} */
export const theme = () => chosen.value ?? (dark.value ? "dark" : "light");

function read() {
  const kept = localStorage.getItem(KEPT);
  return kept === "light" || kept === "dark" ? kept : undefined;
}

/** @param {Theme | undefined} wanted */
export function choose(wanted) {
  if (wanted) localStorage.setItem(KEPT, wanted);
  else localStorage.removeItem(KEPT);
  chosen.value = wanted;
}

chosen.subscribe((wanted) => {
  if (wanted) document.documentElement.dataset.theme = wanted;
  else delete document.documentElement.dataset.theme;
});

// Another page of this browser may change it.
addEventListener("storage", ({ key }) => {
  if (key === KEPT || key === null) chosen.value = read();
});
