/**
 * The rows of a list, while it runs and after: all of them, or those that are looked for.
 *
 * Without a filter each row can be fetched by its place, in pages, when it comes in sight. With one the server looks through the
 * list and says how far; what is found is added to the end, as far as the reader scrolls.
 */
import { useEffect, useMemo, useRef, useState } from "../../../vendor/lib.js";
import { Refused, get } from "../../api.js";

const PAGE = 200;
/** How often rows in sight are read again while verdicts come. */
const AGAIN_MS = 2_000;
/** How often, and after what time, a server is asked again that has other searches to do. */
const TRIES = 3;
const BUSY_MS = 1_000;

/** @param {import("../../live.js").Progress} of @param {Record<string, string>} filter */
export function useRows(of, filter) {
  const [, draw] = useState(0);
  const [turn, setTurn] = useState(0);
  const filtered = Object.values(filter).some(Boolean);
  const source = useMemo(() => (filtered ? new Sought(of.id, filter) : new All(of.id)), [of.id, filter, turn]);
  source.rows = of.rows;
  useEffect(() => {
    source.changed = () => draw((before) => before + 1);
    source.begin();
    return () => source.end();
  }, [source]);
  // Verdicts have come: rows in sight are read again.
  const read = useRef(of.processed);
  useEffect(() => {
    if (read.current === of.processed) return undefined;
    const timer = setTimeout(() => {
      read.current = of.processed;
      source.refresh();
    }, of.over ? 0 : AGAIN_MS);
    return () => clearTimeout(timer);
  }, [source, of.over, Math.floor(of.processed / Math.max(1, of.rows / 50))]);
  return {
    filtered,
    rows: of.rows,
    total: source.total,
    isWhole: source.isWhole,
    scanned: source.scanned,
    failure: source.failure,
    row: source.row,
    want: source.want,
    again: () => setTurn((before) => before + 1),
  };
}

/** What both ways of reading have in common. */
class Source {
  /** @param {string} id @param {Record<string, string>} filter */
  constructor(id, filter) {
    this.path = `/app/jobs/${encodeURIComponent(id)}/rows`;
    this.filter = filter;
    this.rows = 0;
    this.stop = new AbortController();
    /** @type {unknown} */
    this.failure = undefined;
    this.changed = () => {};
  }

  /** @param {Record<string, unknown>} query @param {number} [tries] a busy server is asked again so often */
  async ask(query, tries = TRIES) {
    try {
      const answer = await get(this.path, { ...this.filter, ...query }, this.stop.signal);
      this.failure = undefined;
      return answer;
    } catch (failure) {
      if (this.stop.signal.aborted) return undefined;
      if (tries > 0 && failure instanceof Refused && [429, 503].includes(failure.status)) {
        await new Promise((resolve) => setTimeout(resolve, BUSY_MS));
        return this.ask(query, tries - 1);
      }
      this.failure = failure;
      return undefined;
    } finally {
      if (!this.stop.signal.aborted) setTimeout(this.changed);
    }
  }

  end() {
    this.changed = () => {};
    this.stop.abort();
  }
}

/** All rows, each at its place. */
class All extends Source {
  constructor(id) {
    super(id, {});
    /** @type {Map<number, any[]>} those that have come */
    this.pages = new Map();
    /** @type {Set<number>} those that are on their way */
    this.asked = new Set();
    this.sight = [0, PAGE];
  }

  get total() {
    return this.rows;
  }

  isWhole = true;
  scanned = 0;

  row = (index) => this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];

  want = (from, to) => {
    this.sight = [from, to];
    for (let page = Math.floor(from / PAGE); page * PAGE < to; page += 1) this.fetch(page);
  };

  begin() {
    this.stop = new AbortController();
    this.want(...this.sight);
  }

  /** @param {number} page */
  async fetch(page) {
    if (this.pages.has(page) || this.asked.has(page)) return;
    this.asked.add(page);
    // While somebody scrolls fast, most pages are out of sight before they could be fetched.
    await new Promise((resolve) => setTimeout(resolve, 60));
    const [from, to] = this.sight;
    const wanted = page * PAGE < to && (page + 1) * PAGE > from && !this.stop.signal.aborted;
    const answer = wanted ? await this.ask({ after: page * PAGE, per_page: PAGE }) : undefined;
    this.asked.delete(page);
    if (answer) this.pages.set(page, answer.data);
  }

  /** Forgets pages with rows that had no verdict, and reads those in sight again. */
  refresh() {
    const before = new Map(this.pages);
    for (const [page, rows] of before) {
      if (rows.some((row) => !row.processed)) this.again(page);
    }
  }

  /** Reads a page again where it is in sight; what stands stays until then. @param {number} page */
  async again(page) {
    const [from, to] = this.sight;
    if (page * PAGE >= to || (page + 1) * PAGE <= from) {
      this.pages.delete(page);
      return;
    }
    const answer = await this.ask({ after: page * PAGE, per_page: PAGE });
    if (answer) this.pages.set(page, answer.data);
  }
}

/** Rows that are looked for, in the order in which they are found. */
class Sought extends Source {
  constructor(id, filter) {
    super(id, filter);
    /** @type {any[]} */
    this.found = [];
    /** @type {number | null} */
    this.next = 0;
    this.scanned = 0;
    this.busy = false;
    this.scrolled = false;
    this.wanted = PAGE;
  }

  get total() {
    return this.found.length;
  }

  get isWhole() {
    return this.next === null;
  }

  row = (index) => this.found[index];

  want = (from, to) => {
    // Nothing moves under the hand of somebody who has scrolled.
    this.scrolled = from > 0;
    this.wanted = Math.max(this.wanted, to + PAGE);
    this.look();
  };

  begin() {
    this.stop = new AbortController();
    this.look();
  }

  /** Looks again from the beginning, for verdicts have come since; what was found stays until then. */
  async refresh() {
    if (this.busy || this.scrolled) return;
    this.busy = true;
    const begun = { found: /** @type {any[]} */ ([]), next: /** @type {number | null} */ (0), scanned: 0 };
    while (begun.next !== null && begun.found.length < this.wanted) {
      const answer = await this.ask({ after: begun.next, per_page: PAGE });
      if (!answer) break;
      begun.found.push(...answer.data);
      Object.assign(begun, { next: answer.next, scanned: answer.scanned });
    }
    if (!this.stop.signal.aborted && this.failure === undefined) Object.assign(this, begun);
    this.busy = false;
  }

  async look() {
    if (this.busy) return;
    this.busy = true;
    while (this.next !== null && this.found.length < this.wanted && !this.stop.signal.aborted) {
      const answer = await this.ask({ after: this.next, per_page: PAGE });
      if (!answer) break;
      this.found.push(...answer.data);
      this.scanned = answer.scanned;
      this.next = answer.next;
    }
    this.busy = false;
  }
}
