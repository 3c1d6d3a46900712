/**
 * What of a list is looked at. One filter is for the whole page: each figure and bar sets it, the table shows it, the download takes
 * it, and it stands in the address.
 */
import { useEffect, useMemo, useState } from "../../../vendor/lib.js";
import { go } from "../../route.js";
import { STATUS_OF } from "../../ui.js";

/** @typedef {{ q: string, status: string, reason: string, provider: string, domain: string }} RowFilter */
/**
 * @typedef {object} Filtering
 * @property {RowFilter} now
 * @property {(part: Partial<RowFilter>) => void} set
 * @property {(part: Partial<RowFilter>) => void} toggle sets it, or takes it away where it is set
 * @property {(part: Partial<RowFilter>) => boolean} has
 * @property {() => void} clear
 * @property {boolean} any
 */

/** @type {RowFilter} */
const NOTHING = { q: "", status: "", reason: "", provider: "", domain: "" };
/** How long after a keystroke what was typed is looked for. */
const TYPING_MS = 300;

/** @param {string} id of the list @param {URLSearchParams | undefined} query @returns {Filtering} */
export function useFilter(id, query) {
  const [now, setNow] = useState(() => /** @type {RowFilter} */ (Object.fromEntries(Object.keys(NOTHING).map((name) => [name, query?.get(name) ?? ""]))));
  useEffect(() => go(["lists", id], now, true), [now]);
  const has = (part) => Object.entries(part).every(([name, value]) => now[name] === value);
  const set = (part) => setNow((before) => fitting({ ...before, ...part }, part));
  const emptied = (part) => /** @type {Partial<RowFilter>} */ (Object.fromEntries(Object.keys(part).map((name) => [name, ""])));
  return { now, set, has, toggle: (part) => set(has(part) ? emptied(part) : part), clear: () => setNow(NOTHING), any: Object.values(now).some(Boolean) };
}

/** A reason belongs to one verdict: who chooses another verdict no longer looks for it. */
function fitting(filter, part) {
  if (part.reason) return { ...filter, status: STATUS_OF[part.reason] ?? "" };
  if ("status" in part && filter.reason && STATUS_OF[filter.reason] !== filter.status) return { ...filter, reason: "" };
  return filter;
}

/**
 * What is looked for: what is clicked at once, what is typed when it has not changed for a moment.
 * @param {RowFilter} now @returns {RowFilter}
 */
export function useSought(now) {
  const typed = useSettled(now.q);
  const sought = { ...now, q: now.q && typed };
  return useMemo(() => sought, Object.values(sought));
}

/** A value, when it has not changed for a moment. @template T @param {T} value @returns {T} */
export function useSettled(value) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
