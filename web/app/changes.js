/**
 * What has changed of what the page shows: one stream tells of all its parts, which are then read again.
 *
 * The stream is closed while nobody sees the page, and all is read again when they come back. Where no events come, all is read from
 * time to time.
 */
import { useEffect, useRef } from "../vendor/lib.js";
import { address } from "./api.js";
import { testing } from "./mode.js";
import { listen } from "./stream.js";

/** How often all is read where there is no stream. */
const ASK_MS = 5_000;

/** Who hears of which part. @type {Map<string, Set<() => unknown>>} */
const parts = new Map();
/** Ends the stream. */
let end = () => {};
/** What the stream tells of. */
let told = "";
/** @type {Record<"arranging" | "asking", ReturnType<typeof setTimeout> | undefined>} */
const timers = { arranging: undefined, asking: undefined };

/**
 * Has a part read again whenever it has changed.
 * @param {string | undefined} part as `of` of `GET /app/changes` takes it
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

/** A little later, so that the parts of a screen come together. */
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
  // Something may have changed before the stream began.
  end = listen(wanted, { ready: tellAll, changed }, ask);
}

/** @param {string} data of the event */
function changed(data) {
  for (const hear of parts.get(JSON.parse(data).of) ?? []) hear();
}

function close() {
  end();
  clearInterval(timers.asking);
}

/** Without a stream. */
function ask() {
  timers.asking = setInterval(tellAll, ASK_MS);
}

function tellAll() {
  for (const hears of parts.values()) for (const hear of hears) hear();
}

document.addEventListener("visibilitychange", arrange);
testing.subscribe(arrange);
