/** Filters in the URL: Back and Forward change them, and a reload keeps them. */
import { useEffect, useMemo, useState } from "../vendor/lib.js";
import { go, read } from "./route.js";

/** Delay between the last keystroke and the search. */
const TYPING_MS = 300;

/**
 * @template {Record<string, string>} T
 * @typedef {object} Filter
 * @property {T} now
 * @property {(part: Partial<T>) => void} set
 * @property {() => void} clear
 * @property {boolean} any
 * @property {string} text value of the search field, applied after a delay
 * @property {(text: string) => void} type
 */

/**
 * @template {Record<string, string>} T
 * @param {string[]} parts location of the screen @param {URLSearchParams | undefined} query
 * @param {T} nothing value that matches everything
 * @param {(filter: T, part: Partial<T>) => T} [fit] adjusts the other fields to a change
 * @returns {Filter<T>}
 */
export function useFilter(parts, query, nothing, fit = (filter) => filter) {
  const from = (/** @type {URLSearchParams | undefined} */ of) => /** @type {T} */ (Object.fromEntries(Object.keys(nothing).map((name) => [name, of?.get(name) ?? ""])));
  const now = useMemo(() => from(query), [query?.toString()]);
  // Text that is not applied yet.
  const [typed, setTyped] = useState(/** @type {string | undefined} */ (undefined));
  useEffect(() => {
    if (typed === undefined) return undefined;
    if (typed === now.q) return setTyped(undefined);
    const timer = setTimeout(() => set(/** @type {any} */ ({ q: typed })), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, now.q]);
  /** @param {Partial<T>} part */
  function set(part) {
    const before = from(read().query);
    if (part.q !== undefined && part.q !== typed) setTyped(undefined);
    const next = fit({ ...before, ...(typed === undefined ? {} : { q: typed }), ...part }, part);
    // A search is one step for Back, however many letters it has.
    go(parts, next, Boolean(part.q && before.q));
  }
  const clear = () => {
    setTyped(undefined);
    go(parts, {});
  };
  return { now, set, clear, any: Object.values(now).some(Boolean), text: typed ?? now.q ?? "", type: setTyped };
}
