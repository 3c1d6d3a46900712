/**
 * Hash router.
 *
 * The part after `#` never reaches a server, so one-time links carry their token there. `#/lists/job_1?status=risky` has the
 * parts `["lists", "job_1"]` and the query `status=risky`. A plus sign is literal, as in addresses.
 */
import { signal, useEffect, useRef } from "../vendor/lib.js";
import { mayLeave } from "./unsent.js";

/** @typedef {{ parts: string[], query: URLSearchParams }} Place */

/** Location of the browser, which {@link where} follows. @returns {Place} */
export function read() {
  return placeOf(location.hash);
}

/** @param {string} hash @returns {Place} */
function placeOf(hash) {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { parts: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query.replaceAll("+", "%2B")) };
}

/** Decodes a part; returns it unchanged if its percent-encoding is invalid. */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Current location. */
export const where = signal(read());

/** Hash of {@link where}. */
let hash = location.hash;

/** True if a location shows other content; filters and open rows do not count. @param {Place} to */
const isElsewhere = (to) => contentOf(to) !== contentOf(where.value);

/** Screens whose tabs keep their edits while another is shown. */
const KEEPING = ["settings"];

/** @param {Place} place */
const contentOf = ({ parts, query }) => [...parts, KEEPING.includes(parts[0]) ? "" : query.get("tab")].join("/");

function follow() {
  hash = location.hash;
  where.value = read();
}

/** Location to which a finished act leads, without a question. @type {string | undefined} */
let led;

addEventListener("hashchange", () => {
  const to = location.hash;
  const isLed = to === led;
  led = undefined;
  if (isLed || !isElsewhere(read()) || mayLeave(to)) return follow();
  // Back or Forward: the page stays until the user has decided.
  history.pushState(null, "", hash || "#/");
});

document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  const to = link?.getAttribute("href");
  if (!to?.startsWith("#/") || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (isElsewhere(placeOf(to)) && !mayLeave(to)) event.preventDefault();
}, { capture: true });

/**
 * URL of a location, for links.
 * @param {string[]} parts
 * @param {Record<string, string | undefined>} [query]
 */
export function link(parts, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&");
  return `#/${parts.map(encodeURIComponent).join("/")}${search && `?${search}`}`;
}

/**
 * Navigation after an await: a late response must not move users who have left the screen. What they entered is sent, so nothing is
 * asked.
 * @returns {{ signal: AbortSignal, go: typeof go }} `signal` aborts with the screen; `go` then does nothing
 */
export function useHere() {
  const here = useRef(/** @type {{ stop: AbortController, signal: AbortSignal, go: typeof go } | undefined} */ (undefined));
  if (!here.current) {
    const stop = new AbortController();
    here.current = { stop, signal: stop.signal, go: (...to) => stop.signal.aborted || lead(...to) };
  }
  useEffect(() => () => here.current?.stop.abort(), []);
  return here.current;
}

/** Navigates, unless edits would be lost; `replace` adds no history entry. */
export function go(parts, query, replace = false) {
  const to = link(parts, query);
  if (replace || !isElsewhere(placeOf(to)) || mayLeave(to)) lead(parts, query, replace);
}

/** Navigates in any case. @type {typeof go} */
function lead(parts, query, replace = false) {
  const to = link(parts, query);
  if (replace) {
    history.replaceState(history.state, "", to);
    follow();
  } else if (to !== location.hash) {
    led = to;
    location.hash = to;
  }
}

/** Opens something within the screen, such as a row, which Back closes. @type {(parts: string[], query?: Record<string, string | undefined>) => void} */
export function open(parts, query) {
  history.pushState({ opened: true }, "", link(parts, query));
  follow();
}

/** Closes it: goes back to where it was opened. A reload or a link opened it without such a place. @type {typeof open} */
export function shut(parts, query) {
  if (history.state?.opened) history.back();
  else go(parts, query, true);
}
