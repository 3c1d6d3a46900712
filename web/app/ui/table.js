/** Tables and paginated lists. */
import { html, useEffect, useRef, useState } from "../../vendor/lib.js";
import { get, isUnreachable } from "../api.js";
import { returns } from "../away.js";
import { useChanges } from "../changes.js";
import { t } from "../text.js";
import { Button } from "./buttons.js";
import { Failure, Skeleton } from "./notes.js";

/**
 * @typedef {object} Column
 * @property {string} title
 * @property {(row: any) => unknown} cell
 * @property {boolean} [number] whether cells are right-aligned
 * @property {boolean} [acts] whether it holds row actions: last, with a title for screen readers only
 */

/** Class of a column's cells. @param {Column} column */
const classOf = ({ number, acts }) => (number ? "number" : acts ? "does" : undefined);

/** @param {{ caption: string, columns: Column[], rows: any[], id?: (row: any) => string }} props */
export function Table({ caption, columns, rows, id = (row) => row.id }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}><table class="table">
    <caption class="hidden-text">${caption}</caption>
    <thead><tr>${columns.map((column) => html`<th scope="col" class=${classOf(column)}>${column.acts ? html`<span class="hidden-text">${column.title}</span>` : column.title}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${id(row)}>
      ${columns.map((column) => html`<td class=${classOf(column)} data-title=${column.title}><div>${column.cell(row)}</div></td>`)}</tr>`)}</tbody>
  </table></div>`;
}

/** Fetches a part again when the server is back. @param {unknown} failure @param {() => unknown} again */
export function useReturn(failure, again) {
  useEffect(() => {
    if (isUnreachable(failure)) again();
  }, [returns.value]);
}

/** Orders concurrent responses: each request takes a turn, and a response is stale if a later request has completed. */
function useTurns() {
  const turns = useRef({ asked: 0, shown: 0 });
  return () => {
    const own = ++turns.current.asked;
    return () => {
      const isLatest = own > turns.current.shown;
      if (isLatest) turns.current.shown = own;
      return isLatest;
    };
  };
}

/**
 * Refreshes a value, on demand or when `part` changes (a name in `GET /app/changes`). A failure is silent: the current value
 * stays, and the next change retries.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} fetch
 * @param {(value: T) => unknown} tell
 * @param {ReturnType<typeof useTurns>} asks
 * @param {string | undefined} part
 */
function useRefresh(fetch, tell, asks, part) {
  const last = useRef(/** @type {AbortController | undefined} */ (undefined));
  const end = () => last.current?.abort();
  function refresh() {
    end();
    const stop = new AbortController();
    last.current = stop;
    const counts = asks();
    fetch(stop.signal).then((value) => !stop.signal.aborted && counts() && tell(value), () => {});
  }
  useChanges(part, refresh);
  return { refresh, end };
}

/**
 * Response of a call, fetched on mount, on `again` and when `part` changes. `given` lists its dependencies: a response for other
 * dependencies is never returned.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} fetch
 * @param {unknown[]} given
 * @param {string} [part]
 * @returns {{ value?: T, failure?: unknown, again: () => void, refresh: () => void, set: (value: T) => void }}
 *   `refresh` fetches again and ignores failures
 */
export function useFetched(fetch, given, part) {
  const [state, setState] = useState(/** @type {{ given: unknown[], value?: T, failure?: unknown }} */ ({ given }));
  const [turn, setTurn] = useState(0);
  const asks = useTurns();
  const set = (/** @type {T} */ value) => setState({ given, value });
  const { refresh, end } = useRefresh(fetch, set, asks, part);
  useEffect(() => {
    const stop = new AbortController();
    const counts = asks();
    const unless = (next) => !stop.signal.aborted && counts() && setState({ given, ...next });
    fetch(stop.signal).then((value) => unless({ value }), (failure) => unless({ failure }));
    return () => {
      stop.abort();
      end();
    };
  }, [...given, turn]);
  const { value, failure } = given.every((one, n) => one === state.given[n]) ? state : /** @type {typeof state} */ ({ given });
  const again = () => setTurn((before) => before + 1);
  useReturn(failure, again);
  return { value, failure, again, refresh, set };
}

/** Value, error or loading placeholder. @param {{ from: any, lines?: number, children: (value: any) => unknown }} props */
export function Fetched({ from, lines, children }) {
  if (from.failure !== undefined) return html`<${Failure} of=${from.failure} again=${from.again} />`;
  if (from.value === undefined) return html`<${Skeleton} lines=${lines} />`;
  return children(from.value);
}

/**
 * Paginated API list (`{data, pagination}`). Pages load one at a time; after a failure the loaded ones stay and `retry` fetches
 * the missing one. `refresh` reloads the first page and keeps the others.
 * @param {string} path
 * @param {Record<string, unknown>} [query]
 * @param {string} [part] as in `useFetched`
 */
export function usePages(path, query = {}, part) {
  const [state, setState] = useState(/** @type {{ rows?: any[], next?: string | null, failure?: unknown, failed?: string }} */ ({}));
  const running = useRef(/** @type {AbortController | undefined} */ (undefined));
  const asks = useTurns();
  const { refresh, end } = useRefresh((signal) => get(path, query, signal),
    ({ data, pagination }) => setState((before) => merged(before, data, pagination.next_cursor)), asks, part);
  /** @param {string | undefined} next */
  async function load(next) {
    // Abort the running request, so that its stale response cannot interfere.
    running.current?.abort();
    const stop = new AbortController();
    running.current = stop;
    const counts = next ? () => true : asks();
    try {
      const { data, pagination } = await get(path, { ...query, next }, stop.signal);
      if (stop.signal.aborted) return;
      if (counts()) setState(({ rows }) => ({ rows: next ? [...(rows ?? []), ...data] : data, next: pagination.next_cursor }));
    } catch (failure) {
      if (stop.signal.aborted) return;
      if (counts()) setState((before) => ({ ...before, failure, failed: next }));
    }
    running.current = undefined;
  }
  useEffect(() => {
    setState({});
    load(undefined);
    return () => {
      running.current?.abort();
      end();
    };
  }, [`${path}?${JSON.stringify(query)}`]);
  const retry = () => load(state.failed);
  useReturn(state.failure, retry);
  return {
    ...state,
    again: () => load(undefined),
    refresh,
    more: () => (running.current ? undefined : load(state.next ?? undefined)),
    retry,
  };
}

/**
 * Merges a reloaded first page. Later pages stay, unless the first page has no known row.
 * @param {{ rows?: any[], next?: string | null }} before @param {any[]} first @param {string | null} cursor
 */
function merged({ rows = [], next, ...rest }, first, cursor) {
  const at = rows.findIndex(({ id }) => id === first.at(-1)?.id);
  if (cursor === null || at < 0) return { rows: first, next: cursor };
  // An error of a later page stays as well.
  if (at === rows.length - 1) return { ...rest, rows: first, next: cursor };
  return { ...rest, rows: [...first, ...rows.slice(at + 1)], next };
}

/** @param {{ of: any, caption: string, columns: Column[], empty: unknown, id?: (row: any) => string }} props */
export function Pages({ of, caption, columns, empty, id }) {
  const failure = of.failure !== undefined && html`<${Failure} of=${of.failure} again=${of.retry} />`;
  if (!of.rows) return failure || html`<${Skeleton} lines=${6} />`;
  if (of.rows.length === 0 && !of.next) return failure || empty;
  return html`<div class="stack"><${Table} caption=${caption} columns=${columns} rows=${of.rows} id=${id} />
    ${failure || (of.next && html`<div><${Button} work=${of.more}>${t("list.more")}<//></div>`)}</div>`;
}
