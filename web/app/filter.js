/** Filters in the URL: Back and Forward change them, and a reload keeps them. */
import { useEffect, useMemo, useRef, useState } from "../vendor/lib.js";
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
  /** @param {Partial<T>} part */
  function set(part) {
    const before = from(read().query);
    const next = fit({ ...before, ...part }, part);
    // A search is one step for Back, however many letters it has.
    go(parts, next, Boolean(part.q && before.q));
  }
  return { now, set, clear: () => go(parts, {}), any: Object.values(now).some(Boolean) };
}

/**
 * Text field of a filter: applied after a delay, and replaced when the filter changes otherwise.
 * @param {string} applied @param {(text: string) => void} apply
 * @returns {[string, (text: string) => void]}
 */
export function useTyped(applied, apply) {
  const [text, setText] = useState(applied);
  const last = useRef(applied);
  useEffect(() => {
    if (applied === last.current) return;
    last.current = applied;
    setText(applied);
  }, [applied]);
  useEffect(() => {
    if (text === last.current) return undefined;
    const timer = setTimeout(() => {
      last.current = text;
      apply(text);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return [text, setText];
}
