/**
 * Bars by day, stacked by status. The drawing is for those who see it; the same figures stand in a table below, folded.
 *
 * The library is fetched with the first chart. It draws what is stacked as sums, the largest behind.
 */
import { html, useEffect, useRef } from "../../vendor/lib.js";
import { number, utcDay } from "../format.js";
import { locale, t } from "../text.js";
import { Table } from "./table.js";

/** From the ground up. */
const STATUSES = ["passed", "risky", "unknown", "undeliverable"];
const COLOURS = { passed: "--good", risky: "--warn", unknown: "--line-strong", undeliverable: "--bad" };
const HEIGHT = 240;
/** Steps of the scale: addresses come whole. */
const WHOLE = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

/** @param {{ days: { date: string, statuses: Record<string, number> }[], caption: string }} props oldest first */
export function DailyChart({ days, caption }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    /** @type {import("../../vendor/chart.js").default | undefined} */
    let chart;
    let gone = false;
    const style = document.createElement("link");
    import("../../vendor/chart.js").then(({ default: Plot }) => {
      if (gone || !place.current) return;
      style.rel = "stylesheet";
      style.href = new URL("../../vendor/chart.css", import.meta.url).href;
      document.head.append(style);
      chart = new Plot(options(Plot, place.current.clientWidth), stacked(days), place.current);
    });
    const resize = new ResizeObserver(([{ contentRect }]) => chart?.setSize({ width: contentRect.width, height: HEIGHT }));
    if (place.current) resize.observe(place.current);
    return () => {
      gone = true;
      resize.disconnect();
      chart?.destroy();
      style.remove();
    };
  }, [days]);
  const columns = [
    { title: t("chart.day"), cell: (row) => utcDay(row.date) },
    ...STATUSES.map((status) => ({ title: t(`status.${status}`), number: true, cell: (row) => number(row.statuses[status]) })),
  ];
  return html`<figure class="stack">
    <div class="chart" ref=${place} aria-hidden="true"></div>
    <figcaption class="row small">${STATUSES.map((status) => html`<span class=${`legend ${status}`}>${t(`status.${status}`)}</span>`)}</figcaption>
    <details><summary>${t("chart.table")}</summary>
      <${Table} caption=${caption} columns=${columns} rows=${[...days].reverse()} id=${(row) => row.date} /></details>
  </figure>`;
}

/**
 * Times, then the sums, largest first: what is drawn later stands before it.
 * @param {{ date: string, statuses: Record<string, number> }[]} days
 * @returns {import("../../vendor/chart.js").default.AlignedData}
 */
function stacked(days) {
  const sums = STATUSES.map((_, upTo) =>
    days.map((row) => STATUSES.slice(0, upTo + 1).reduce((sum, status) => sum + (row.statuses[status] ?? 0), 0)));
  return [days.map((row) => Date.parse(row.date) / 1000), ...sums.reverse()];
}

/**
 * @param {typeof import("../../vendor/chart.js").default} Plot
 * @param {number} width
 * @returns {import("../../vendor/chart.js").default.Options}
 */
function options(Plot, width) {
  const style = getComputedStyle(document.documentElement);
  // `light-dark()` is only worked out where a colour is used.
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
    cursor: { show: false },
    // The marks of the axis stand at the days of the API, which are those of UTC.
    tzDate: (s) => Plot.tzDate(new Date(s * 1000), "UTC"),
    scales: { y: { range: (_, __, most) => [0, Math.max(4, most * 1.05)] } },
    axes: [
      { ...axis, size: 32, grid: { show: false }, values: (_, at) => at.map((s) => new Date(s * 1000).toLocaleDateString(locale(), { day: "numeric", month: "short", timeZone: "UTC" })) },
      { ...axis, size: 60, incrs: WHOLE, values: (_, values) => values.map(number) },
    ],
    series: [{}, ...STATUSES.toReversed().map((status) => ({ fill: colour(COLOURS[status]), width: 0, points: { show: false }, paths: bars }))],
  };
}
