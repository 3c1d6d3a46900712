/**
 * Live updates: one event stream reports which parts of the page changed; those are fetched again.
 *
 * The stream is closed while the page is hidden, and everything is refreshed when it is visible again. Without a stream, all
 * parts are polled.
 */
import { useEffect, useRef } from "../vendor/lib.js";
import { address } from "./api.js";
import { returns } from "./away.js";
import { testing } from "./mode.js";
import { listen } from "./stream.js";

/** Polling interval without a stream. */
const ASK_MS = 5_000;

/** Callbacks by part. @type {Map<string, Set<() => unknown>>} */
const parts = new Map();
/** Closes the stream. */
let end = () => {};
/** Parts that the stream covers. */
let told = "";
/** @type {Record<"arranging" | "asking", ReturnType<typeof setTimeout> | undefined>} */
const timers = { arranging: undefined, asking: undefined };

/**
 * Refetches a part whenever it changes.
 * @param {string | undefined} part a value of `of` in `GET /app/changes`
 * @param {() => unknown} again
 */
export function useChanges(part, again) {
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => {
    if (!part) return undefined;
    const hear = () => latest.current();
    parts.set(part, (parts.get(part) ?? new Set()).add(hear));
    arrange();
    return () => {
      parts.get(part)?.delete(hear);
      if (parts.get(part)?.size === 0) parts.delete(part);
      arrange();
    };
  }, [part]);
}

/** Opens the stream after a short delay, so that all parts of a screen are included. */
function arrange() {
  clearTimeout(timers.arranging);
  timers.arranging = setTimeout(open, 100);
}

function open() {
  const of = document.hidden ? "" : [...parts.keys()].toSorted().join(",");
  const wanted = of && address("/app/changes", { of });
  if (wanted === told) return;
  close();
  told = wanted;
  if (!wanted) return;
  // Changes may precede the start of the stream.
  end = listen(wanted, { ready: tellAll, changed }, ask);
}

/** @param {string} data event data */
function changed(data) {
  for (const hear of parts.get(JSON.parse(data).of) ?? []) hear();
}

function close() {
  end();
  clearInterval(timers.asking);
}

/** Polls when there is no stream. */
function ask() {
  timers.asking = setInterval(tellAll, ASK_MS);
}

function tellAll() {
  for (const hears of parts.values()) for (const hear of hears) hear();
}

document.addEventListener("visibilitychange", arrange);
testing.subscribe(arrange);
// A new stream, in place of polling; its start refreshes all parts.
returns.subscribe(() => {
  told = "";
  arrange();
});
