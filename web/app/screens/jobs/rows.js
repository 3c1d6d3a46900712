/**
 * The rows of a list, while it runs and after: all of them, or those that are looked for.
 *
 * Without a filter each row can be fetched by its place, in pages, when it comes in sight. With one the server looks through the
 * list and says how far; what is found is added to the end, as far as the reader scrolls.
 */
import { html, useEffect, useMemo, useRef, useState } from "../../../vendor/lib.js";
import { get } from "../../api.js";
import { number, percent } from "../../format.js";
import { go, link } from "../../route.js";
import { t } from "../../text.js";
import { Button } from "../../ui/buttons.js";
import { Field, Select } from "../../ui/fields.js";
import { Empty, Failure } from "../../ui/notes.js";
import { Virtual } from "../../ui/virtual.js";
import { Status, reason } from "../../ui/verdict.js";

const STATUSES = ["passed", "undeliverable", "risky", "unknown"];
const PAGE = 200;
/** How long after a keystroke what was typed is looked for. */
const TYPING_MS = 300;
/** How often rows in sight are read again while verdicts come. */
const AGAIN_MS = 2_000;

/** @param {{ of: import("../../live.js").Progress, query?: URLSearchParams }} props */
export function Rows({ of, query }) {
  const [filter, setFilter] = useState(() => filterOf(query));
  const set = (name) => (value) => setFilter((before) => ({ ...before, [name]: value }));
  useEffect(() => go(["lists", of.id], filter, true), [filter]);
  const sought = useSettled(filter);
  const rows = useRows(of, sought);
  const providers = of.providers.map(({ id, name }) => [id ?? "other", name ?? t("provider.other")]);
  const statuses = [...STATUSES, ...(of.over && of.processed === of.rows ? [] : ["pending"])];
  const any = [["", t("lists.any")]];
  return html`<div class="stack">
    <div class="row" role="search">
      <${Field} label=${t("lists.search")} type="search" autocomplete="off" spellcheck=${false} maxlength="320" value=${filter.q} set=${set("q")} />
      <${Select} label=${t("lists.verdict")} value=${filter.status} set=${set("status")} options=${[...any, ...statuses.map((one) => [one, t(`status.${one}`)])]} />
      <${Select} label=${t("usage.reason")} value=${filter.reason} set=${set("reason")} options=${[...any, ...Object.keys(of.reasons).map((one) => [one, reason(one)])]} />
      <${Select} label=${t("provider.provider")} value=${filter.provider} set=${set("provider")} options=${[...any, ...providers]} />
    </div>
    <${Found} of=${rows} />
    ${rows.failure ? html`<${Failure} of=${rows.failure} again=${rows.again} />` : html`<${Virtual} caption=${t("lists.results")} columns=${columns(of)}
      total=${rows.total} isWhole=${rows.isWhole} row=${rows.row} want=${rows.want}
      empty=${html`<${Empty} title=${t("lists.found_none")}>${t("lists.found_none_text")}<//>`} />`}
  </div>`;
}

const NOTHING = { q: "", status: "", reason: "", provider: "" };
const filterOf = (query) => Object.fromEntries(Object.keys(NOTHING).map((name) => [name, query?.get(name) ?? ""]));

/** What is no address, such as the word for one that was erased, cannot be verified anew. */
const address = ({ email }) => (email.includes("@") ? html`<a href=${link(["verify"], { email })} tabindex="-1">${email}</a>` : email);

function columns(of) {
  const names = Object.fromEntries(of.providers.map(({ id, name }) => [id, name]));
  return [
    { name: "place", title: t("lists.row"), cell: (row) => number(row.index + 1) },
    { name: "email", title: t("verify.email"), cell: address },
    { name: "verdict", title: t("lists.verdict"), cell: (row) => html`<${Status} of=${row.processed ? row.status : "pending"} />` },
    { name: "why", title: t("usage.reason"), cell: (row) => (row.reason ? reason(row.reason) : "") },
    { name: "provider", title: t("provider.server"), cell: (row) => names[row.provider] ?? row.provider ?? row.host ?? "" },
    { name: "meant", title: t("verify.meant"), cell: (row) => row.suggestion ?? "" },
  ];
}

/** How far was looked, and a way to read anew where verdicts have come since. */
function Found({ of: { filtered, scanned, rows, total, isWhole, stale, again } }) {
  if (!filtered) return null;
  return html`<div class="row small" role="status">
    <span>${t("lists.found", { n: total })} ${!isWhole && t("lists.looked", { share: percent(scanned, rows) })}</span>
    ${stale && html`<${Button} kind="slim" work=${again}>${t("lists.again")}<//>`}
  </div>`;
}

/** A value, when it has not changed for a moment. */
function useSettled(value) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

/** @param {import("../../live.js").Progress} of @param {Record<string, string>} filter */
function useRows(of, filter) {
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
  // Verdicts have come: rows in sight that had none are read again.
  const read = useRef(of.processed);
  useEffect(() => {
    if (filtered || read.current === of.processed) return undefined;
    const timer = setTimeout(() => {
      read.current = of.processed;
      source.refresh();
    }, of.over ? 0 : AGAIN_MS);
    return () => clearTimeout(timer);
  }, [source, of.over, Math.floor(of.processed / Math.max(1, of.rows / 50))]);
  const begun = useMemo(() => of.processed, [source]);
  return {
    filtered,
    rows: of.rows,
    total: source.total,
    isWhole: source.isWhole,
    scanned: source.scanned,
    failure: source.failure,
    stale: begun !== of.processed,
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

  /** @param {Record<string, unknown>} query */
  async ask(query) {
    try {
      const answer = await get(this.path, { ...this.filter, ...query }, this.stop.signal);
      this.failure = undefined;
      return answer;
    } catch (failure) {
      if (!this.stop.signal.aborted) this.failure = failure;
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
    this.wanted = PAGE;
  }

  get total() {
    return this.found.length;
  }

  get isWhole() {
    return this.next === null;
  }

  row = (index) => this.found[index];

  want = (_, to) => {
    this.wanted = Math.max(this.wanted, to + PAGE);
    this.look();
  };

  begin() {
    this.stop = new AbortController();
    this.look();
  }

  refresh() {}

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
