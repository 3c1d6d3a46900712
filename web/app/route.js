/**
 * Where the reader is: the part of the address after `#`.
 *
 * It never reaches a server, so one-time links can carry their token there. `#/lists/job_1?status=risky` has the parts
 * `["lists", "job_1"]` and the query `status=risky`. A plus is a plus, as in addresses.
 */
import { signal, useEffect, useRef } from "../vendor/lib.js";

/** @typedef {{ parts: string[], query: URLSearchParams }} Place */

/** @returns {Place} */
function read() {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { parts: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query.replaceAll("+", "%2B")) };
}

/** A part that is no proper percent-encoding stands for itself. */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The reader's place. */
export const where = signal(read());

addEventListener("hashchange", () => {
  where.value = read();
});

/**
 * The address of a place, for links.
 * @param {string[]} parts
 * @param {Record<string, string | undefined>} [query]
 */
export function link(parts, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&");
  return `#/${parts.map(encodeURIComponent).join("/")}${search && `?${search}`}`;
}

/**
 * For what a screen does when it has waited: an answer must not take readers away from where they have gone meanwhile.
 * @returns {{ signal: AbortSignal, go: typeof go }} `signal` is over when the screen is, and from then on `go` does nothing
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

/** Goes to a place; `replace` leaves no step back to where the reader was. */
export function go(parts, query, replace = false) {
  const to = link(parts, query);
  if (replace) {
    history.replaceState(null, "", to);
    where.value = read();
  } else {
    location.hash = to;
  }
}
