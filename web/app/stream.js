/** Server-sent events ({@link EventSource}) with timeout detection. */
import { check, heard } from "./away.js";

/** Timeout of the first event. It is sent at once, unless a proxy buffers events. */
const FIRST_MS = 10_000;
/** Timeout of later events. An idle server sends a `beat` every 15 seconds; silence means a lost connection. */
const SILENCE_MS = 40_000;

/**
 * Receives events until the stream ends or stalls, because of too many open pages or a buffering proxy.
 * @param {string} url
 * @param {Record<string, (data: string) => unknown>} hears handlers by event name
 * @param {() => unknown} lost called once when the stream is lost
 * @returns {() => void} closes the stream
 */
export function listen(url, hears, lost) {
  const events = new EventSource(url);
  let silence = setTimeout(fail, FIRST_MS);
  function end() {
    clearTimeout(silence);
    events.close();
  }
  function fail() {
    end();
    lost();
  }
  for (const [name, hear] of Object.entries(/** @type {typeof hears} */ ({ beat() {}, ...hears }))) {
    events.addEventListener(name, ({ data }) => {
      clearTimeout(silence);
      silence = setTimeout(fail, SILENCE_MS);
      heard();
      hear(data);
    });
  }
  // Browsers reconnect after a broken connection, but not after an error response.
  events.addEventListener("error", () => (events.readyState === EventSource.CLOSED ? fail() : check()));
  return end;
}
