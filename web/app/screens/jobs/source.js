/**
 * Rows of a list, running or completed: all rows or filtered ones.
 *
 * Without a filter, pages are fetched by position as they scroll into view. With a filter, the server scans the list and reports
 * its position; matches are appended as the user scrolls.
 */
import { useEffect, useMemo, useState } from "../../../vendor/lib.js";
import { Refused, get } from "../../api.js";
import { useReturn } from "../../ui/table.js";
import { NOTHING } from "./filter.js";

const PAGE = 200;
/** Minimum interval between refreshes of visible rows. */
const AGAIN_MS = 1_000;
/** Maximum share of time spent on repeated searches; long searches repeat less often. */
const SHARE = 0.2;
/** Retries, and their delay, while the server is busy with other searches. */
const TRIES = 3;
const BUSY_MS = 1_000;

/** @param {import("../../live.js").Progress} of @param {Record<string, string>} filter */
export function useRows(of, filter) {
  const [, draw] = useState(0);
  const [turn, setTurn] = useState(0);
  const filtered = Object.values(filter).some(Boolean);
  const source = useMemo(() => (filtered ? new Sought(of.id, filter) : new All(of.id)), [of.id, filter, turn]);
  source.rows = of.rows;
  source.processed = of.processed;
  useEffect(() => {
    source.changed = () => draw((before) => before + 1);
    source.begin();
    return () => source.end();
  }, [source]);
  // New verdicts: refresh pending rows, at once if the list is over.
  useEffect(() => source.renew(of.over), [source, of.over, of.processed]);
  const again = () => setTurn((before) => before + 1);
  useReturn(source.failure, again);
  return {
    total: source.total,
    isWhole: source.isWhole,
    failure: source.failure,
    row: source.row,
    placeOf: source.placeOf,
    want: source.want,
    again,
  };
}

/** Common base of both row sources. */
class Source {
  /** @param {string} id @param {Record<string, string>} filter */
  constructor(id, filter) {
    this.path = `/app/jobs/${encodeURIComponent(id)}/rows`;
    this.filter = filter;
    this.rows = 0;
    /** Rows with a verdict, as last reported to the page. */
    this.processed = 0;
    this.stop = new AbortController();
    /** @type {unknown} */
    this.failure = undefined;
    this.changed = () => {};
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.renewedAt = -Infinity;
    this.took = 0;
  }

  /** True if loaded rows may be stale. @returns {boolean} */
  get isBehind() {
    return false;
  }

  /** Reloads stale rows. */
  async refresh() {}

  /** Schedules a refresh of stale rows, now or after the interval. @param {boolean} [now] */
  renew(now = false) {
    if (now) clearTimeout(this.timer);
    else if (this.timer !== undefined) return;
    const rest = Math.max(AGAIN_MS, this.took / SHARE);
    this.timer = setTimeout(async () => {
      if (this.isBehind) {
        const begun = performance.now();
        await this.refresh();
        this.renewedAt = performance.now();
        this.took = this.renewedAt - begun;
      }
      this.timer = undefined;
      // Verdicts may have arrived since these responses.
      if (this.isBehind && this.failure === undefined && !this.stop.signal.aborted) this.renew();
    }, now ? 0 : Math.max(0, this.renewedAt + rest - performance.now()));
  }

  /** @param {Record<string, unknown>} query @param {number} [tries] attempts while the server is busy */
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
    clearTimeout(this.timer);
    this.timer = undefined;
    this.stop.abort();
  }
}

/** All rows, by position. */
class All extends Source {
  constructor(id) {
    super(id, {});
    /** @type {Map<number, any[]>} loaded pages */
    this.pages = new Map();
    /** Pages with pending rows, and the verdict count when they were loaded. @type {Map<number, number>} */
    this.open = new Map();
    /** @type {Set<number>} pages being loaded */
    this.asked = new Set();
    this.sight = [0, PAGE];
  }

  get total() {
    return this.rows;
  }

  isWhole = true;

  row = (index) => this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];

  /** Position of a row by its index. */
  placeOf = (index) => index;

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
    // During fast scrolling, most pages leave the view before they are fetched.
    await new Promise((resolve) => setTimeout(resolve, 60));
    const [from, to] = this.sight;
    const wanted = page * PAGE < to && (page + 1) * PAGE > from && !this.stop.signal.aborted;
    const known = this.processed;
    const answer = wanted ? await this.ask({ after: page * PAGE, per_page: PAGE }) : undefined;
    this.asked.delete(page);
    if (answer) this.put(page, answer.data, known);
  }

  /** @param {number} page @param {any[]} rows @param {number} known verdict count at the time of the request */
  put(page, rows, known) {
    this.pages.set(page, rows);
    if (rows.every((row) => row.processed)) this.open.delete(page);
    else this.open.set(page, known);
    if (this.isBehind) this.renew();
  }

  get isBehind() {
    return [...this.open.values()].some((known) => known < this.processed);
  }

  /** Reloads pages with pending rows; drops those out of view. */
  async refresh() {
    const [from, to] = this.sight;
    for (const page of [...this.open.keys()]) {
      const seen = page * PAGE < to && (page + 1) * PAGE > from;
      const known = this.processed;
      const answer = seen ? await this.ask({ after: page * PAGE, per_page: PAGE }) : undefined;
      if (answer) this.put(page, answer.data, known);
      else if (!seen) {
        this.pages.delete(page);
        this.open.delete(page);
      } else return;
    }
  }
}

/** Filtered rows, in search order. */
class Sought extends Source {
  constructor(id, filter) {
    super(id, filter);
    /** @type {any[]} */
    this.found = [];
    /** @type {number | null} */
    this.next = 0;
    /** Verdict count when the search started. */
    this.known = 0;
    /** Verdict count when the visible rows were last refreshed. */
    this.updated = 0;
    /** @type {[number, number]} */
    this.sight = [0, PAGE];
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

  /** Position of a row by its index; -1 if it no longer matches. */
  placeOf = (index) => this.found.findIndex((row) => row.index === index);

  want = (from, to) => {
    // After the user has scrolled, rows must not move.
    const back = this.scrolled && from === 0;
    this.sight = [from, to];
    this.scrolled = from > 0;
    if (back) this.renew();
    this.wanted = Math.max(this.wanted, to + PAGE);
    this.look();
  };

  begin() {
    this.stop = new AbortController();
    this.look();
  }

  get isBehind() {
    if (!this.scrolled) return this.known < this.processed;
    return this.updated < this.processed && this.open.length > 0;
  }

  /** Visible rows without a verdict. */
  get open() {
    return this.found.slice(...this.sight).filter((row) => !row.processed);
  }

  /** Restarts the search because of new verdicts; current results stay until then. */
  async refresh() {
    if (this.busy) return;
    if (this.scrolled) return this.update();
    this.busy = true;
    const begun = { found: /** @type {any[]} */ ([]), next: /** @type {number | null} */ (0), known: this.processed };
    await this.search(begun);
    if (!this.stop.signal.aborted && this.failure === undefined) Object.assign(this, begun);
    this.busy = false;
    this.changed();
  }

  /** Refreshes visible rows in place, even if they no longer match the filter. */
  async update() {
    this.updated = this.processed;
    for (const page of new Set(this.open.map(({ index }) => Math.floor(index / PAGE)))) {
      const answer = await this.ask({ ...NOTHING, after: page * PAGE, per_page: PAGE });
      if (!answer) return;
      const now = new Map(answer.data.map((row) => [row.index, row]));
      this.found = this.found.map((row) => now.get(row.index) ?? row);
    }
  }

  async look() {
    if (this.busy) return;
    this.busy = true;
    if (this.next === 0) this.known = this.processed;
    await this.search(this);
    this.busy = false;
    if (this.isBehind) this.renew();
  }

  /** Searches until enough rows are found. @param {{ found: any[], next: number | null }} into */
  async search(into) {
    while (into.next !== null && into.found.length < this.wanted && !this.stop.signal.aborted) {
      const answer = await this.ask({ after: into.next, per_page: PAGE });
      if (!answer) break;
      into.found.push(...answer.data);
      into.next = answer.next;
    }
  }
}
