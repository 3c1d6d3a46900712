/** Report periods in UTC days, as in the API. */

/** Days up to today, calendar months, or a custom range. */
export const PERIODS = ["7", "30", "90", "366", "this_month", "last_month", "own"];

/** @param {number} at */
const text = (at) => new Date(at).toISOString().slice(0, 10);
const DAY_MS = 86_400_000;

/** First and last day of a named period. @param {string} name */
export function periodOf(name) {
  const now = Date.now();
  const today = new Date(now);
  const month = (/** @type {number} */ by) => Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + by, 1);
  if (name === "this_month") return { from: text(month(0)), to: text(now) };
  if (name === "last_month") return { from: text(month(-1)), to: text(month(0) - DAY_MS) };
  return { from: text(now - ((Number(name) || 30) - 1) * DAY_MS), to: text(now) };
}
