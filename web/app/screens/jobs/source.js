/**
 * The rows of a list, while it runs and after: all of them, or those that are looked for.
 *
 * Without a filter each row can be fetched by its place, in pages, when it comes in sight. With one the server looks through the
 * list and says how far; what is found is added to the end, as far as the reader scrolls.
 */
import { useEffect, useMemo, useState } from "../../../vendor/lib.js";
import { Refused, get } from "../../api.js";

const PAGE = 200;
/** How long rows in sight stand at least before they are read again for the verdicts that have come. */
const AGAIN_MS = 1_000;
/** A search that took long is repeated less often: it takes this part of the time at most. */
const SHARE = 0.2;
/** How often, and after what time, a server is asked again that has other searches to do. */
const TRIES = 3;
const BUSY_MS = 1_000;

/**
 * How many rows a filter finds, where the figures of the list say so; otherwise nothing.
 * @param {import("../../live.js").Progress} of @param {Record<string, string>} filter
 */
export function countOf(of, { q, status, reason, provider, domain }) {
  if (q || provider || domain) return undefined;
  if (reason) return of.reasons[reason] ?? 0;
  return status === "pending" ? of.rows - of.processed : of[status];
}

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
  // Verdicts have come: rows that have none yet are read again, at once when the list is over.
  useEffect(() => source.renew(of.over), [source, of.over, of.processed]);
  return {
    filtered,
    rows: of.rows,
    total: source.total,
    count: filtered && !source.isWhole ? countOf(of, filter) : undefined,
    isWhole: source.isWhole,
    scanned: source.scanned,
    failure: source.failure,
    row: source.row,
    placeOf: source.placeOf,
    want: source.want,
    again: () => setTurn((before) => before + 1),
  };
}

/** Instead of what is looked for: all rows. */
const UNFILTERED = { q: "", status: "", reason: "", provider: "", domain: "" };

/** What both ways of reading have in common. */
class Source {
  /** @param {string} id @param {Record<string, string>} filter */
  constructor(id, filter) {
    this.path = `/app/jobs/${encodeURIComponent(id)}/rows`;
    this.filter = filter;
    this.rows = 0;
    /** How many rows have a verdict, as far as the page was told. */
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

  /** Whether something that stands there may have changed. @returns {boolean} */
  get isBehind() {
    return false;
  }

  /** Reads again what may have changed. */
  async refresh() {}

  /** Has everything read again that may have changed, now or after a while. @param {boolean} [now] */
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
      // Verdicts that came meanwhile, and answers that were given before them.
      if (this.isBehind && this.failure === undefined && !this.stop.signal.aborted) this.renew();
    }, now ? 0 : Math.max(0, this.renewedAt + rest - performance.now()));
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
    clearTimeout(this.timer);
    this.timer = undefined;
    this.stop.abort();
  }
}

/** All rows, each at its place. */
class All extends Source {
  constructor(id) {
    super(id, {});
    /** @type {Map<number, any[]>} those that have come */
    this.pages = new Map();
    /** Those with rows without a verdict, and how many verdicts there were then. @type {Map<number, number>} */
    this.open = new Map();
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

  /** Where a row stands, by its index. */
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
    // While somebody scrolls fast, most pages are out of sight before they could be fetched.
    await new Promise((resolve) => setTimeout(resolve, 60));
    const [from, to] = this.sight;
    const wanted = page * PAGE < to && (page + 1) * PAGE > from && !this.stop.signal.aborted;
    const known = this.processed;
    const answer = wanted ? await this.ask({ after: page * PAGE, per_page: PAGE }) : undefined;
    this.asked.delete(page);
    if (answer) this.put(page, answer.data, known);
  }

  /** @param {number} page @param {any[]} rows @param {number} known how many verdicts there were when they were asked for */
  put(page, rows, known) {
    this.pages.set(page, rows);
    if (rows.every((row) => row.processed)) this.open.delete(page);
    else this.open.set(page, known);
    if (this.isBehind) this.renew();
  }

  get isBehind() {
    return [...this.open.values()].some((known) => known < this.processed);
  }

  /** Reads pages again that had rows without a verdict; those out of sight are forgotten. */
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

/** Rows that are looked for, in the order in which they are found. */
class Sought extends Source {
  constructor(id, filter) {
    super(id, filter);
    /** @type {any[]} */
    this.found = [];
    /** @type {number | null} */
    this.next = 0;
    this.scanned = 0;
    /** How many verdicts there were when the search began. */
    this.known = 0;
    /** How many when those in sight were read again. */
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

  /** Where a row stands, by its index: -1 where it is not found any more. */
  placeOf = (index) => this.found.findIndex((row) => row.index === index);

  want = (from, to) => {
    // Nothing moves under the hand of somebody who has scrolled.
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

  /** Rows in sight without a verdict. */
  get open() {
    return this.found.slice(...this.sight).filter((row) => !row.processed);
  }

  /** Looks again from the beginning, for verdicts have come since; what was found stays until then. */
  async refresh() {
    if (this.busy) return;
    if (this.scrolled) return this.update();
    this.busy = true;
    const begun = { found: /** @type {any[]} */ ([]), next: /** @type {number | null} */ (0), scanned: 0, known: this.processed };
    await this.search(begun);
    if (!this.stop.signal.aborted && this.failure === undefined) Object.assign(this, begun);
    this.busy = false;
    this.changed();
  }

  /** Reads rows in sight again, each at its place, also where what was looked for is no longer true of them. */
  async update() {
    this.updated = this.processed;
    for (const page of new Set(this.open.map(({ index }) => Math.floor(index / PAGE)))) {
      const answer = await this.ask({ ...UNFILTERED, after: page * PAGE, per_page: PAGE });
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

  /** Goes on until as much is found as is wanted. @param {{ found: any[], next: number | null, scanned: number }} into */
  async search(into) {
    while (into.next !== null && into.found.length < this.wanted && !this.stop.signal.aborted) {
      const answer = await this.ask({ after: into.next, per_page: PAGE });
      if (!answer) break;
      into.found.push(...answer.data);
      into.scanned = answer.scanned;
      into.next = answer.next;
    }
  }
}
