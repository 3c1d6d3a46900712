/** Events of the server ({@link EventSource}), and how it is noticed that they do not come. */

/** How long the first event is waited for: it comes at once, unless something in between holds events back. */
const FIRST_MS = 10_000;
/** How long the next is: the server sends a `beat` every 15 seconds where there is nothing to tell. Who hears none is cut off. */
const SILENCE_MS = 40_000;

/**
 * Hears events until they end or do not come, because there are too many open pages or something in between holds them back.
 * @param {string} url
 * @param {Record<string, (data: string) => unknown>} hears by the names of events
 * @param {() => unknown} lost told once that no more come
 * @returns {() => void} what ends it
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
      hear(data);
    });
  }
  // The browser comes back by itself where the connection broke; where it was refused, it does not.
  events.addEventListener("error", () => events.readyState === EventSource.CLOSED && fail());
  return end;
}
