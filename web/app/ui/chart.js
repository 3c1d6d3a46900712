/**
 * Stacked daily bars. The drawing is decorative; a collapsed table below has the same figures.
 *
 * The library loads with the first chart. Stacks are drawn as cumulative sums, the largest at the back. A tooltip shows the day's
 * figures.
 */
import { html, useEffect, useRef, useState } from "../../vendor/lib.js";
import { number, percent, utcDay } from "../format.js";
import { locale, t } from "../text.js";
import { theme } from "../theme.js";
import { STATUSES } from "./strip.js";
import { Table } from "./table.js";

const HEIGHT = 240;
const DAY_S = 86_400;
/** Axis steps: counts are integers. */
const WHOLE = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

const QUARTERS = [0.25];

/** Part of each bar. @typedef {{ id: string, label: string, kind: string }} Part `kind`: color class, also a token name */
/** @typedef {{ date: string, counts: number[], before?: number }} Day counts by part; `before`: value of the compared day */

/** @param {{ days: { date: string, statuses: Record<string, number> }[], caption: string, before?: number[], isShare?: boolean }} props oldest first */
export function DailyChart({ days, caption, before, isShare = false }) {
  const parts = STATUSES.map((status) => ({ id: status, label: t(`status.${status}`), kind: status }));
  const rows = days.map(({ date, statuses }, n) => ({ date, counts: STATUSES.map((status) => statuses[status] ?? 0), before: before?.[n] }));
  return html`<${StackedChart} days=${rows} parts=${parts} caption=${caption} isShare=${isShare} />`;
}

/**
 * @param {{ days: Day[], parts: Part[], caption: string, isShare?: boolean }} props oldest day first; parts from the bottom up; `isShare`: all
 *   nonempty days have the same height, and parts are shares
 */
export function StackedChart({ days, parts, caption, isShare = false }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const [pointed, setPointed] = useState(/** @type {Pointed | undefined} */ (undefined));
  const colours = theme();
  // Compare by value: a remounted screen must not redraw the same data.
  const drawn = JSON.stringify([days, parts, isShare]);
  useEffect(() => {
    /** @type {import("../../vendor/chart.js").default | undefined} */
    let chart;
    let gone = false;
    const style = document.createElement("link");
    setPointed(undefined);
    import("../../vendor/chart.js").then(({ default: Plot }) => {
      if (gone || !place.current) return;
      style.rel = "stylesheet";
      style.href = new URL("../../vendor/chart.css", import.meta.url).href;
      document.head.append(style);
      chart = new Plot(options(Plot, place.current.clientWidth, parts, isShare, setPointed), stacked(days, parts, isShare), place.current);
    }, () => {
      // If the library fails to load, the table remains.
    });
    const resize = new ResizeObserver(([{ contentRect }]) => chart?.setSize({ width: contentRect.width, height: HEIGHT }));
    if (place.current) resize.observe(place.current);
    return () => {
      gone = true;
      resize.disconnect();
      chart?.destroy();
      style.remove();
    };
  }, [drawn, colours]);
  const columns = [
    { title: t("chart.day"), cell: (row) => utcDay(row.date) },
    ...parts.map(({ label }, n) => ({ title: label, number: true, cell: (row) => number(row.counts[n]) })),
  ];
  return html`<figure class="stack">
    <div class="charted"><div class="chart" ref=${place} aria-hidden="true"></div>
      ${pointed && days[pointed.day] && html`<${Tip} of=${days[pointed.day]} parts=${parts} isShare=${isShare} at=${pointed} />`}</div>
    <figcaption class="row small">${parts.map(({ id, label, kind }) => html`<span key=${id} class=${`legend ${kind}`}>${label}</span>`)}</figcaption>
    <details><summary>${t("chart.table")}</summary>
      <${Table} caption=${caption} columns=${columns} rows=${[...days].reverse()} id=${(row) => row.date} /></details>
  </figure>`;
}

/** Day under the pointer, and the tooltip position. @typedef {{ day: number, left: number, isRight: boolean }} Pointed */

/** @param {{ of: Day, parts: Part[], isShare: boolean, at: Pointed }} props */
function Tip({ of: { date, counts, before }, parts, isShare, at }) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  return html`<div class=${`tip small ${at.isRight ? "ends" : ""}`} aria-hidden="true" style=${{ left: `${at.left}px` }}>
    <strong>${utcDay(date)}</strong>
    ${parts.map(({ id, label, kind }, n) => counts[n] > 0 && html`<div key=${id} class="row apart"><span class=${`legend ${kind}`}>${label}</span><span>${isShare ? percent(counts[n], total) : number(counts[n])}</span></div>`).reverse()}
    <div class="row apart total"><span>${t("usage.total")}</span><span>${number(total)}</span></div>
    ${before !== undefined && html`<div class="row apart quiet"><span>${t("chart.before")}</span><span>${number(before)}</span></div>`}
  </div>`;
}

/**
 * Timestamps, then cumulative sums, largest first: later series are drawn on top.
 * @param {Day[]} days
 * @param {Part[]} parts
 * @param {boolean} isShare
 * @returns {import("../../vendor/chart.js").default.AlignedData}
 */
function stacked(days, parts, isShare) {
  const sum = (counts) => counts.reduce((all, count) => all + count, 0);
  const sums = parts.map((_, upTo) => days.map(({ counts }) => sum(counts.slice(0, upTo + 1)) / (isShare ? Math.max(1, sum(counts)) : 1)));
  return [days.map((row) => Date.parse(row.date) / 1000), ...sums.reverse()];
}

/**
 * @param {typeof import("../../vendor/chart.js").default} Plot
 * @param {number} width
 * @param {Part[]} parts
 * @param {boolean} isShare
 * @param {(pointed: Pointed | undefined) => unknown} point
 * @returns {import("../../vendor/chart.js").default.Options}
 */
function options(Plot, width, parts, isShare, point) {
  const style = getComputedStyle(document.documentElement);
  // `light-dark()` is only resolved where a color is used.
  const colour = (name) => {
    const probe = document.createElement("span");
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  };
  const axis = { stroke: colour("--text-2"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: `12px ${style.getPropertyValue("--font")}` };
  const bars = Plot.paths.bars?.({ size: [0.7, 36] });
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { x: false, y: false, points: { show: false }, drag: { x: false, y: false } },
    hooks: {
      setCursor: [(chart) => {
        const { idx, left = -1 } = chart.cursor;
        const at = left + chart.over.offsetLeft;
        point(typeof idx !== "number" || left < 0 ? undefined : { day: idx, left: at, isRight: at > chart.width / 2 });
      }],
    },
    // Axis labels mark UTC days, as in the API.
    tzDate: (s) => Plot.tzDate(new Date(s * 1000), "UTC"),
    // The first and last days get the same width as the others.
    scales: { x: { range: (_, first, last) => [first - DAY_S / 2, last + DAY_S / 2] }, y: { range: (_, __, most) => [0, isShare ? 1 : Math.max(4, most * 1.05)] } },
    axes: [
      { ...axis, size: 38, gap: 11, grid: { show: false }, values: (_, at) => at.map((s) => new Date(s * 1000).toLocaleDateString(locale(), { day: "numeric", month: "short", timeZone: "UTC" })) },
      { ...axis, size: 60, incrs: isShare ? QUARTERS : WHOLE, values: (_, values) => values.map((value) => (isShare ? percent(value, 1) : number(value))) },
    ],
    series: [{}, ...parts.toReversed().map(({ kind }) => ({ fill: colour(`--${kind}-fill`), width: 0, points: { show: false }, paths: bars }))],
  };
}
