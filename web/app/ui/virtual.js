/**
 * Virtual table: renders only visible rows, about 30 of a million.
 *
 * Rows have a fixed height, so positions can be computed. Browsers limit element heights; a longer table scrolls proportionally.
 * Screen readers see a grid with row count and row indexes; arrows, Page Up and Page Down, Home and End move through it, and
 * Enter opens the current row.
 */
import { html, useEffect, useId, useRef, useState } from "../../vendor/lib.js";
import { number } from "../format.js";
import { t } from "../text.js";

/** Maximum height in pixels; Firefox mispositions content beyond it. */
const HEIGHT_MAX = 8_000_000;
/** Rows rendered before and after the visible ones. */
const MARGIN = 6;
const NARROW = matchMedia("(max-width: 52rem)");
const heightOfRow = () => (NARROW.matches ? 68 : 40);

/**
 * @typedef {object} Column
 * @property {string} title
 * @property {string} name class of its cells
 * @property {(row: any, index: number) => unknown} cell
 */

/**
 * @param {{ caption: string, columns: Column[], total: number, count?: number, isWhole?: boolean, row: (index: number) => any,
 *   want: (from: number, to: number) => void, empty: unknown, open?: (index: number) => void, opened?: number }} props
 *   `open` gets the position of a row to open: by Enter, a click, or movement while one is open. `opened`: position of the open
 *   row, -1 if the table no longer has it. `isWhole`: all rows are known; `count`: their number, if it is known before. `row` returns
 *   nothing for a row that is not loaded; `want` gets the visible range.
 */
export function Virtual({ caption, columns, total, count, isWhole = true, row, want, empty, open, opened }) {
  const id = useId();
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const height = useHeight();
  const [sight, look] = useSight(place, total > 0);
  const [reached, setActive] = useState(0);
  // New matches above shift the open row; when it closes, keyboard navigation continues from there.
  const active = opened !== undefined && opened >= 0 ? opened : reached;
  useEffect(() => {
    if (opened !== undefined && opened >= 0) setActive(opened);
  }, [opened]);

  const whole = total * height;
  const shown = Math.min(whole, HEIGHT_MAX);
  const inView = Math.ceil(sight.view / height);
  // For a height-limited table, the scrolled share determines the visible part.
  const scale = shown < whole ? (whole - sight.view) / (shown - sight.view) : 1;
  const within = (place, tall) => Math.max(0, Math.min(tall - sight.view, place));
  const scrolled = within(sight.top, shown);
  const top = within(sight.went ? sight.went.row * height : scrolled * scale, whole);
  const first = Math.max(0, Math.min(total - inView, Math.floor(top / height)));
  const from = Math.max(0, first - MARGIN);
  const to = Math.min(total, first + inView + MARGIN);
  const offset = scrolled - top;

  useEffect(() => want(from, to), [from, to, total, want]);
  useHistory(first, total, (row) => {
    want(row, row + inView);
    if (row < total) look(row, scale, height);
  });
  // A row that was opened elsewhere: by the URL, Back or Forward.
  const isOpen = opened !== undefined && opened >= 0;
  useEffect(() => {
    if (isOpen && place.current && (opened < first || opened >= first + inView)) look(Math.max(0, opened - 1), scale, height);
  }, [isOpen]);

  if (total === 0 && isWhole) return empty;

  function press(event) {
    const step = stepOf(event, inView, total);
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(total - 1, active + step));
    setActive(next);
    if (opened !== undefined) open?.(next);
    if (next * height < top) look(next, scale, height);
    else if ((next + 1) * height > top + sight.view) look(next + 1 - sight.view / height, scale, height);
    if (event.key === "Enter" && open) open(active);
    else if (event.key === "Enter") document.getElementById(`${id}-${active}`)?.querySelector("a")?.click();
  }

  const pick = (index) => {
    setActive(index);
    open?.(index);
  };
  const indexes = Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at);
  const known = active >= from && active < to;
  const seen = { from: number(total === 0 ? 0 : first + 1), to: number(Math.min(total, first + inView)) };
  return html`<div class="virtual" role="grid" tabindex="0" ref=${place} aria-label=${caption} style=${{ "--rows": `${shown}px` }} aria-rowcount=${isWhole ? total + 1 : count === undefined ? -1 : count + 1}
      aria-colcount=${columns.length} aria-activedescendant=${known ? `${id}-${active}` : undefined} onKeyDown=${press}>
    <div class="virtual-head" role="rowgroup"><div role="row" aria-rowindex="1">
      ${columns.map(({ title, name }) => html`<span role="columnheader" class=${name}>${title}</span>`)}
    </div></div>
    <div class="virtual-body" role="rowgroup" style=${{ height: `${shown}px` }}>
      ${indexes.map((index) => html`<${Line} key=${index} id=${`${id}-${index}`} index=${index} of=${row(index)} columns=${columns}
        top=${offset + index * height} height=${height} active=${index === active} pick=${pick} />`)}
    </div>
  </div>
  <p class="quiet small" role="status">${isWhole || count !== undefined ? t("virtual.sight", { ...seen, total: number(count ?? total) }) : t("virtual.sight_open", seen)}</p>`;
}

/** Delay until the position is stored. */
const KEPT_MS = 300;

/**
 * Stores the first visible row in the history entry, and returns to it after Back, Forward or a reload.
 * @param {number} first @param {number} total @param {(row: number) => void} show wants a row, and shows it once it is there
 */
function useHistory(first, total, show) {
  const due = useRef(Number(history.state?.first ?? 0));
  useEffect(() => {
    if (due.current === 0) return;
    show(due.current);
    if (due.current < total) due.current = 0;
  }, [total]);
  useEffect(() => {
    if (due.current > 0) return undefined;
    const timer = setTimeout(() => history.replaceState({ ...history.state, first }, ""), KEPT_MS);
    return () => clearTimeout(timer);
  }, [first]);
}

/** Row step of a key; `undefined` for keys that the table ignores. Enter has step 0. */
function stepOf({ key, target, currentTarget, ctrlKey, altKey, metaKey }, inView, total) {
  if (ctrlKey || altKey || metaKey || (key === "Enter" && target !== currentTarget)) return undefined;
  const page = Math.max(1, inView - 1);
  return { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -total, End: total, Enter: 0 }[key];
}

function useHeight() {
  const [height, setHeight] = useState(heightOfRow);
  useEffect(() => {
    const resized = () => setHeight(heightOfRow());
    NARROW.addEventListener("change", resized);
    return () => NARROW.removeEventListener("change", resized);
  }, []);
  return height;
}

/**
 * Scroll position and the space for rows below the column header. `went` is the row (fractional) at the top that the user moved
 * to, until the next scroll: in a height-limited table, one pixel spans several rows.
 * @typedef {{ top: number, view: number, went?: { row: number, top: number } }} Sight
 * @returns {[Sight, (row: number, scale: number, height: number) => void]}
 */
function useSight(place, isThere) {
  const [sight, setSight] = useState(/** @type {Sight} */ ({ top: 0, view: 480 }));
  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    let frame = 0;
    // Once per frame, regardless of the number of scroll events.
    const look = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        const top = element.scrollTop;
        // Far down, Firefox is off by up to half a pixel after scrolling.
        setSight(({ went }) => ({ top, view: roomIn(element), went: went && Math.abs(top - went.top) < 1 ? went : undefined }));
      });
    };
    const resize = new ResizeObserver(look);
    element.addEventListener("scroll", look, { passive: true });
    resize.observe(element);
    return () => {
      cancelAnimationFrame(frame);
      element.removeEventListener("scroll", look);
      resize.disconnect();
    };
  }, [isThere]);
  const look = (row, scale, height) => {
    place.current.scrollTop = (row * height) / scale;
    const top = place.current.scrollTop;
    setSight({ top, view: roomIn(place.current), went: { row, top } });
  };
  return [sight, look];
}

/** Height left for rows below the header; on narrow screens the header takes no space. */
function roomIn(element) {
  const head = element.querySelector(".virtual-head");
  const stays = head && getComputedStyle(head).position === "sticky";
  return element.clientHeight - (stays ? head.offsetHeight : 0);
}

function Line({ id, index, of, columns, top, height, active, pick }) {
  return html`<div role="row" id=${id} aria-rowindex=${index + 2} aria-selected=${active} class=${active ? "active" : undefined}
      style=${{ top: `${top}px`, height: `${height}px` }} onClick=${() => pick(index)}>
    ${columns.map(({ name, cell }) => drawn(name, of ? cell(of, index) : "…"))}
  </div>`;
}

/** Cell; a truncated text is readable on hover. @param {string} name @param {unknown} value */
const drawn = (name, value) => html`<span role="gridcell" class=${name} title=${typeof value === "string" ? value : undefined}>${value}</span>`;
