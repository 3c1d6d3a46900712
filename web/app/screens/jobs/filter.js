/** Row filter of a list, shared by the page: figures and bars set it, table and download use it, and the URL stores it. */
import { useEffect, useMemo, useState } from "../../../vendor/lib.js";
import { go } from "../../route.js";
import { STATUS_OF } from "../../ui.js";

/** @typedef {{ q: string, status: string, reason: string, provider: string, domain: string }} RowFilter */
/**
 * @typedef {object} Filtering
 * @property {RowFilter} now
 * @property {(part: Partial<RowFilter>) => void} set
 * @property {(part: Partial<RowFilter>) => void} toggle sets or clears the filter
 * @property {(part: Partial<RowFilter>) => boolean} has
 * @property {() => void} clear
 * @property {boolean} any
 */

/** @type {RowFilter} */
const NOTHING = { q: "", status: "", reason: "", provider: "", domain: "" };
/** Delay between the last keystroke and the search. */
const TYPING_MS = 300;

/** @param {string} id job ID @param {URLSearchParams | undefined} query @returns {Filtering} */
export function useFilter(id, query) {
  const [now, setNow] = useState(() => /** @type {RowFilter} */ (Object.fromEntries(Object.keys(NOTHING).map((name) => [name, query?.get(name) ?? ""]))));
  useEffect(() => go(["lists", id], now, true), [now]);
  const has = (part) => Object.entries(part).every(([name, value]) => now[name] === value);
  const set = (part) => setNow((before) => fitting({ ...before, ...part }, part));
  const emptied = (part) => /** @type {Partial<RowFilter>} */ (Object.fromEntries(Object.keys(part).map((name) => [name, ""])));
  return { now, set, has, toggle: (part) => set(has(part) ? emptied(part) : part), clear: () => setNow(NOTHING), any: Object.values(now).some(Boolean) };
}

/** A reason belongs to one verdict, so another verdict clears it. */
function fitting(filter, part) {
  if (part.reason) return { ...filter, status: STATUS_OF[part.reason] ?? "" };
  if ("status" in part && filter.reason && STATUS_OF[filter.reason] !== filter.status) return { ...filter, reason: "" };
  return filter;
}

/**
 * Effective filter: clicks apply at once, typed text after a delay.
 * @param {RowFilter} now @returns {RowFilter}
 */
export function useSought(now) {
  const typed = useSettled(now.q);
  const sought = { ...now, q: now.q && typed };
  return useMemo(() => sought, Object.values(sought));
}

/** Debounced value. @template T @param {T} value @returns {T} */
export function useSettled(value) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
