/** Row filter of a list, shared by the page: figures and bars set it, table and download use it, and the URL stores it. */
import { useFilter } from "../../filter.js";
import { STATUS_OF } from "../../ui.js";

/** @typedef {{ q: string, status: string, reason: string, provider: string, domain: string }} RowFilter */
/**
 * @typedef {import("../../filter.js").Filter<RowFilter> & {
 *   toggle: (part: Partial<RowFilter>) => void,
 *   has: (part: Partial<RowFilter>) => boolean,
 * }} Filtering `toggle` sets a filter and shows the table, or clears the filter
 */

/** @type {RowFilter} */
export const NOTHING = { q: "", status: "", reason: "", provider: "", domain: "" };

/** @param {string} id job ID @param {URLSearchParams | undefined} query @returns {Filtering} */
export function useRowFilter(id, query) {
  const filter = useFilter(["lists", id], query, NOTHING, fitting);
  const has = (part) => Object.entries(part).every(([name, value]) => filter.now[name] === value);
  const emptied = (part) => /** @type {Partial<RowFilter>} */ (Object.fromEntries(Object.keys(part).map((name) => [name, ""])));
  const toggle = (part) => {
    if (has(part)) return filter.set(emptied(part));
    filter.set(part);
    showRows();
  };
  return { ...filter, has, toggle };
}

/** Scrolls to the table. */
export function showRows() {
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
  requestAnimationFrame(() => document.getElementById("rows")?.scrollIntoView({ behavior }));
}

/** Longest time for what is above the table to load. */
const LOADS_MS = 3_000;

/** Keeps the table in sight while what is above it loads, until the user acts. @returns {() => void} ends it */
export function holdRows() {
  const observer = new ResizeObserver(() => document.getElementById("rows")?.scrollIntoView());
  const stop = new AbortController();
  const end = () => {
    observer.disconnect();
    stop.abort();
  };
  observer.observe(document.body);
  for (const act of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(act, end, { signal: stop.signal });
  setTimeout(end, LOADS_MS);
  return end;
}

/** A reason belongs to one verdict, so another verdict clears it. @param {RowFilter} filter @param {Partial<RowFilter>} part */
function fitting(filter, part) {
  if (part.reason) return { ...filter, status: STATUS_OF[part.reason] ?? "" };
  if ("status" in part && filter.reason && STATUS_OF[filter.reason] !== filter.status) return { ...filter, reason: "" };
  return filter;
}
