/**
 * What has changed of what the page shows: one stream tells of all its parts, which are then read again.
 *
 * The stream is closed while nobody sees the page, and all is read again when they come back. Where the server sends none, because
 * there are too many open pages or something in between holds them back, all is read from time to time.
 */
import { useEffect, useRef } from "../vendor/lib.js";
import { address } from "./api.js";
import { testing } from "./mode.js";

/** How often all is read where there is no stream. */
const ASK_MS = 5_000;
/** How long the first event is waited for, and the next: the server sends a `beat` every 15 seconds. */
const FIRST_MS = 10_000;
const SILENCE_MS = 40_000;

/** Who hears of which part. @type {Map<string, Set<() => unknown>>} */
const parts = new Map();
/** @type {EventSource | undefined} */
let stream;
/** What the stream tells of. */
let told = "";
/** @type {Record<"arranging" | "silence" | "asking", ReturnType<typeof setTimeout> | undefined>} */
const timers = { arranging: undefined, silence: undefined, asking: undefined };

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
  const source = new EventSource(wanted);
  stream = source;
  expect(FIRST_MS);
  source.addEventListener("beat", () => expect(SILENCE_MS));
  // Something may have changed before the stream began.
  source.addEventListener("ready", () => {
    expect(SILENCE_MS);
    tellAll();
  });
  source.addEventListener("changed", ({ data }) => {
    expect(SILENCE_MS);
    for (const hear of parts.get(JSON.parse(data).of) ?? []) hear();
  });
  // The browser comes back by itself where the connection broke; where it was refused, it does not.
  source.addEventListener("error", () => source.readyState === EventSource.CLOSED && stream === source && ask());
}

function close() {
  stream?.close();
  stream = undefined;
  clearTimeout(timers.silence);
  clearInterval(timers.asking);
}

/** @param {number} ms */
function expect(ms) {
  clearTimeout(timers.silence);
  timers.silence = setTimeout(ask, ms);
}

/** Without a stream. */
function ask() {
  close();
  timers.asking = setInterval(tellAll, ASK_MS);
}

function tellAll() {
  for (const hears of parts.values()) for (const hear of hears) hear();
}

document.addEventListener("visibilitychange", arrange);
testing.subscribe(arrange);
