/**
 * Hash router.
 *
 * The part after `#` never reaches a server, so one-time links carry their token there. `#/lists/job_1?status=risky` has the
 * parts `["lists", "job_1"]` and the query `status=risky`. A plus sign is literal, as in addresses.
 */
import { signal, useEffect, useRef } from "../vendor/lib.js";

/** @typedef {{ parts: string[], query: URLSearchParams }} Place */

/** @returns {Place} */
function read() {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
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

addEventListener("hashchange", () => {
  where.value = read();
});

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
 * Navigation after an await: a late response must not move users who have left the screen.
 * @returns {{ signal: AbortSignal, go: typeof go }} `signal` aborts with the screen; `go` then does nothing
 */
export function useHere() {
  const here = useRef(/** @type {{ stop: AbortController, signal: AbortSignal, go: typeof go } | undefined} */ (undefined));
  if (!here.current) {
    const stop = new AbortController();
    here.current = { stop, signal: stop.signal, go: (...to) => stop.signal.aborted || go(...to) };
  }
  useEffect(() => () => here.current?.stop.abort(), []);
  return here.current;
}

/** Navigates; `replace` adds no history entry. */
export function go(parts, query, replace = false) {
  const to = link(parts, query);
  if (replace) {
    history.replaceState(null, "", to);
    where.value = read();
  } else {
    location.hash = to;
  }
}
