/**
 * Live progress of a list.
 *
 * Each server event carries the complete state. Without events, the same endpoint is polled.
 */
import { useEffect, useState } from "../vendor/lib.js";
import { Refused, address, get } from "./api.js";
import { returns } from "./away.js";
import { listen } from "./stream.js";

const ASK_MS = 2_000;

/**
 * @typedef {object} Counted row counts by status
 * @property {number} processed
 * @property {number} passed
 * @property {number} undeliverable
 * @property {number} risky
 * @property {number} unknown
 */
/** @typedef {{ addresses: number, first_at: string, last_at: string }} Later pending addresses */
/**
 * @typedef {Counted & {
 *   id: string, status: string, over: boolean, source: string, source_integration: string | null, name: string | null, tags: string[], created_at: string, started_at: string | null,
 *   finished_at: string | null, purged_at: string | null, rows: number, repeated: number | null, without: number | null, reasons: Record<string, number>,
 *   providers: (Counted & { id: string | null, name: string | null })[],
 *   deferred: Later | null, throttled: Later | null, hurried: boolean,
 *   credits: { spent: number, set_aside: number, returned: number } | null,
 * }} Progress
 */

/**
 * Reports a list's progress until it completes. Returns a function that stops reporting.
 * @param {string} id
 * @param {(progress: Progress) => void} tell
 * @param {(failure: unknown) => void} fail
 */
export function follow(id, tell, fail) {
  const path = `/app/jobs/${encodeURIComponent(id)}`;
  const stop = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let next;
  const end = listen(address(`${path}/events`), {
    progress(data) {
      const progress = JSON.parse(data);
      if (progress.over) end();
      tell(progress);
    },
  }, ask);

  async function ask() {
    try {
      const progress = await get(`${path}/progress`, {}, stop.signal);
      tell(progress);
      if (!progress.over) next = setTimeout(ask, ASK_MS);
    } catch (failure) {
      if (stop.signal.aborted) return;
      if (failure instanceof Refused && [0, 429, 503].includes(failure.status)) next = setTimeout(ask, ASK_MS * 2);
      else fail(failure);
    }
  }

  return () => {
    stop.abort();
    clearTimeout(next);
    end();
  };
}

/**
 * @param {string} id
 * @returns {{ value?: Progress, failure?: unknown, again: () => void, set: (value: Progress) => void }} `set`: stores the response to a change
 */
export function useProgress(id) {
  const [state, setState] = useState(/** @type {{ value?: Progress, failure?: unknown }} */ ({}));
  const [turn, setTurn] = useState(0);
  useEffect(() => setState({}), [id, turn]);
  useEffect(() => follow(id, (value) => setState({ value }), (failure) => setState({ failure })), [id, turn, returns.value]);
  return { ...state, again: () => setTurn((before) => before + 1), set: (value) => setState({ value }) };
}
