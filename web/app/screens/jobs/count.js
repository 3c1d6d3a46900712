/** Number of rows that match a filter: from the list's totals if they have it, otherwise counted by the server. */
import { useEffect, useState } from "../../../vendor/lib.js";
import { Refused, get } from "../../api.js";
import { returns } from "../../away.js";

/** Recounts while a list runs. */
const STEPS = 20;
/** Delay while the server is busy with other searches. */
const BUSY_MS = 1_000;

/**
 * @param {import("../../live.js").Progress} of @param {import("./filter.js").RowFilter} filter
 * @returns {number | undefined} `undefined`: the totals do not have it
 */
function known(of, { q, status, reason, provider, domain }) {
  if (q || domain || (provider && reason)) return undefined;
  if (reason) return of.reasons[reason] ?? 0;
  const counts = provider ? of.providers.find(({ id }) => (id ?? "other") === provider) : of;
  if (status === "pending") return provider ? 0 : of.rows - of.processed;
  return provider || status ? counts?.[status || "processed"] ?? 0 : of.rows;
}

/**
 * @param {import("../../live.js").Progress | undefined} of @param {import("./filter.js").RowFilter} filter
 * @returns {number | undefined} `undefined` until counted
 */
export function useCount(of, filter) {
  const [counted, setCounted] = useState(/** @type {{ key?: string, count?: number }} */ ({}));
  const total = of && known(of, filter);
  const key = JSON.stringify([of?.id, filter]);
  const isOpen = of !== undefined && of.purged_at === null && total === undefined;
  const step = of?.over ? of.processed : Math.floor((STEPS * (of?.processed ?? 0)) / Math.max(1, of?.rows ?? 1));
  useEffect(() => {
    if (!isOpen) return undefined;
    const stop = new AbortController();
    count(of.id, filter, stop.signal).then((number) => setCounted({ key, count: number }), () => {});
    return () => stop.abort();
  }, [key, isOpen, step, returns.value]);
  return total ?? (counted.key === key ? counted.count : undefined);
}

/** Counts part by part: one response gets as far as its time allows. @param {string} id @param {import("./filter.js").RowFilter} filter @param {AbortSignal} signal */
async function count(id, filter, signal) {
  let [sum, after] = [0, /** @type {number | null} */ (0)];
  while (after !== null) {
    try {
      const part = await get(`/app/jobs/${encodeURIComponent(id)}/rows/count`, { ...filter, after }, signal);
      sum += part.count;
      after = part.next;
    } catch (failure) {
      if (signal.aborted || !(failure instanceof Refused && [429, 503].includes(failure.status))) throw failure;
      await new Promise((resolve) => setTimeout(resolve, BUSY_MS));
    }
  }
  return sum;
}
