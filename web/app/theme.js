/** Light or dark theme: the system's, unless the user chose one. The choice is stored in the browser. */
import { signal } from "../vendor/lib.js";

const KEPT = "probity.theme";

/** @typedef {"light" | "dark"} Theme */

/** Chosen theme; `undefined` follows the system. */
export const chosen = signal(/** @type {Theme | undefined} */ (read()));

const system = matchMedia("(prefers-color-scheme: dark)");
/** Live system theme. */
const dark = signal(system.matches);
system.addEventListener("change", () => {
  dark.value = system.matches;
});

/** @returns {Theme} */
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

// Another page of this browser may change the theme.
addEventListener("storage", ({ key }) => {
  if (key === KEPT || key === null) chosen.value = read();
});
