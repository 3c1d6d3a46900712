/**
 * Queue of several addresses with bounded concurrency. It continues during navigation and ends at sign-out or a mode change,
 * because the remaining requests would belong to another user or mode.
 */
import { signal } from "../../../vendor/lib.js";
import { Refused } from "../../api.js";
import { whenGone } from "../../kept.js";
import { asker, verdictOf } from "./question.js";

export const MOST = 20;
/** Maximum concurrent requests: browsers limit connections, and the organization shares the rate limit. */
const AT_ONCE = 4;
/** Attempts per address while rate limited. */
const TRIES = 6;
/** Delay before a retry without `Retry-After`. */
const WAIT_S = 5;
/** Errors that end the run, because the next address would fail in the same way. */
const FINAL = ["insufficient_credits", "not_signed_in", "forbidden_scope"];

/** @typedef {{ email: string, state: "waits" | "asked" | "told" | "failed" | "left", verdict?: any, ms?: number, failure?: unknown }} Row */
/** @typedef {{ asker: string, rows: Row[], failure?: unknown, until?: number, stop: AbortController }} Run */

/** `until`: end of the pause after a rate limit response. */
const last = signal(/** @type {Run | undefined} */ (undefined));

/** Current run of this user in this mode. */
export const run = () => (last.value?.asker === asker() ? last.value : undefined);

/** @param {Row[]} rows */
export const isOver = (rows) => rows.every(({ state }) => state !== "waits" && state !== "asked");

/** @param {string[]} emails */
export function begin(emails) {
  last.value?.stop.abort();
  const of = { asker: asker(), rows: emails.map((email) => /** @type {Row} */ ({ email, state: "waits" })), stop: new AbortController() };
  last.value = of;
  for (let n = 0; n < AT_ONCE; n += 1) work(of.stop.signal);
}

/** Stops the run. Requests in flight are charged and still complete; the rest is skipped. */
export function stop() {
  const now = last.value;
  now?.stop.abort();
  if (now) last.value = { ...now, until: undefined, rows: now.rows.map((row) => (row.state === "waits" ? { ...row, state: "left" } : row)) };
}

/** Retries addresses without a verdict. */
export function retry() {
  const now = last.value;
  if (!now) return;
  const of = { ...now, failure: undefined, stop: new AbortController(), rows: now.rows.map((row) => (row.state === "told" ? row : /** @type {Row} */ ({ email: row.email, state: "waits" }))) };
  last.value = of;
  for (let n = 0; n < AT_ONCE; n += 1) work(of.stop.signal);
}

export function forget() {
  last.value?.stop.abort();
  last.value = undefined;
}

whenGone(forget);

/** Updates a row if its run is still current. @param {AbortSignal} of @param {string} email @param {Partial<Row>} row */
function note(of, email, row) {
  const now = last.value;
  if (now?.stop.signal === of) last.value = { ...now, rows: now.rows.map((one) => (one.email === email ? { ...one, ...row } : one)) };
}

/** @param {AbortSignal} of */
async function work(of) {
  while (!of.aborted) {
    const next = last.value?.rows.find(({ state }) => state === "waits");
    if (!next || last.value?.stop.signal !== of) return;
    if (last.value.asker !== asker()) return stop();
    note(of, next.email, { state: "asked" });
    await one(of, next.email);
  }
}

/** @param {AbortSignal} of @param {string} email */
async function one(of, email) {
  for (let tries = 1; ; tries += 1) {
    const begun = performance.now();
    try {
      const { verdict } = await verdictOf(email);
      return note(of, email, { state: "told", verdict, ms: Math.round(performance.now() - begun) });
    } catch (failure) {
      const limited = failure instanceof Refused && failure.status === 429 && tries < TRIES;
      if (!limited) return failed(of, email, failure);
      await pause(of, failure.wait ?? WAIT_S);
      if (of.aborted) return note(of, email, { state: "left" });
      if (last.value?.asker !== asker()) return stop();
    }
  }
}

/** @param {AbortSignal} of @param {string} email @param {unknown} failure */
function failed(of, email, failure) {
  note(of, email, { state: "failed", failure });
  if (!(failure instanceof Refused && FINAL.includes(failure.code)) || last.value?.stop.signal !== of) return;
  stop();
  last.value = { ...last.value, failure };
}

/** @param {AbortSignal} of @param {number} seconds */
function pause(of, seconds) {
  const now = last.value;
  if (now?.stop.signal === of) last.value = { ...now, until: Math.max(now.until ?? 0, Date.now() + seconds * 1000) };
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer);
      const then = last.value;
      if (then?.stop.signal === of && then.until && then.until <= Date.now()) last.value = { ...then, until: undefined };
      resolve(undefined);
    };
    const timer = setTimeout(over, seconds * 1000);
    of.addEventListener("abort", over, { once: true });
  });
}
