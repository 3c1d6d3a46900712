/** Icons, and verdict glyphs (disc, triangle, square, octagon) that differ in shape as well as color. */
import { html } from "../../vendor/lib.js";

/** Stroked paths in a 20-unit grid. */
const PATHS = {
  pencil: "m12.5 4.5 3 3L7 16H4v-3zM10.5 6.5l3 3",
  tag: "M3 4.5v5.2c0 .4.2.8.5 1.1l6.2 6.2c.6.6 1.5.6 2.1 0l5.2-5.2c.6-.6.6-1.5 0-2.1L10.8 3.5c-.3-.3-.7-.5-1.1-.5H4.5C3.7 3 3 3.7 3 4.5zM6.7 6.7h.01",
  bell: "M5.5 13.5V9a4.5 4.5 0 0 1 9 0v4.5l1.5 1H4zM8.5 17h3",
  download: "M10 3v9M6.3 8.5 10 12.2l3.7-3.7M3.5 14v1.2c0 .7.6 1.3 1.3 1.3h10.4c.7 0 1.3-.6 1.3-1.3V14",
  down: "m5.5 8 4.5 4.5L14.5 8",
  dots: "M4.5 10h.01M10 10h.01M15.5 10h.01",
  retry: "M16.5 10a6.5 6.5 0 1 1-2-4.7l2 1.9M16.5 3.7v3.5H13",
  stop: "M5.5 5.5h9v9h-9z",
  bin: "M4 6h12M8 6V4h4v2M5.5 6l.8 10h7.4l.8-10M8.5 9v4.5M11.5 9v4.5",
  clock: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 6v4.2l2.7 1.7",
  search: "M8.8 3.5a5.3 5.3 0 1 0 0 10.6 5.3 5.3 0 0 0 0-10.6zM12.8 12.8l4 4",
  close: "m5 5 10 10M15 5 5 15",
  plus: "M10 4v12M4 10h12",
  copy: "M9 7h6a2 2 0 0 1 2 2v6a2 2 0 0 1-2 2H9a2 2 0 0 1-2-2V9a2 2 0 0 1 2-2zM13 4.8C13 3.8 12.2 3 11.2 3H4.8C3.8 3 3 3.8 3 4.8v6.4c0 1 .8 1.8 1.8 1.8",
  verify: "M17 9.2V5.8A1.8 1.8 0 0 0 15.2 4H4.8A1.8 1.8 0 0 0 3 5.8v8.4A1.8 1.8 0 0 0 4.8 16h4.4M3.5 6l6.5 4.5L16.5 6M12 14.5l2 2 3.5-4",
  code: "m6.5 6-4 4 4 4M13.5 6l4 4-4 4",
  plug: "M7 3v3.5M13 3v3.5M5 6.5h10v3a5 5 0 0 1-10 0zM10 14.5V17",
  key: "M12.5 3.5a4 4 0 1 0-3.6 5.8L4 14.2V17h2.8v-2h2v-2h1.6l1-1.1a4 4 0 0 0 1.1-8.4zM13.7 6.3h.01",
  people: "M7.5 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 16.5c0-2.8 2.2-4.5 5-4.5s5 1.7 5 4.5M13 4a2.8 2.8 0 0 1 0 5.3M14.5 12.3c1.8.5 3 2 3 4.2",
  sliders: "M3 6.5h8M15 6.5h2M3 13.5h2M9 13.5h8M13 4.5v4M7 11.5v4",
  hook: "M10 5.5a2.5 2.5 0 1 1 3 2.4l-2.4 4.4M7.6 12.4A2.5 2.5 0 1 0 9.9 15H14M9.5 7.5 7 12M15 12.6A2.5 2.5 0 1 1 13 16",
  lock: "M5.5 9h9v7.5h-9zM7 9V6.5a3 3 0 0 1 6 0V9",
  check: "m4.5 10.5 3.7 3.7L15.5 6.5",
  theme: "M10 3.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13z",
  overview: "M3 10.5h3.2l2-5.5 3.6 10 2-4.5H17",
  list: "M5 3.5h10a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2v-9a2 2 0 0 1 2-2zM3 8h14M3 12.25h14M8 8v8.5",
  activity: "M3.5 10a6.5 6.5 0 1 0 2-4.7L3.5 7.2M3.5 3.7v3.5H7M10 6.7V10l2.4 1.5",
  usage: "M3 16.5h14M5.5 13.5v-3M10 13.5v-9M14.5 13.5v-6",
  widget: "M4.5 6h11a2 2 0 0 1 2 2v4a2 2 0 0 1-2 2h-11a2 2 0 0 1-2-2V8a2 2 0 0 1 2-2zM6 8.5v3M9 10h.01M11.5 10h.01",
  book: "M10 5.2C8.3 4.1 6 3.7 3 3.8v11.5c3-.1 5.3.3 7 1.4 1.7-1.1 4-1.5 7-1.4V3.8c-3-.1-5.3.3-7 1.4zM10 5.2v11.5",
  gear: "M3 6h7M14 6h3M3 14h3M10 14h7M12 4a2 2 0 1 0 0 4 2 2 0 0 0 0-4zM8 12a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  shield: "M10 2.8 4 5v4.6c0 3.6 2.3 6.2 6 7.6 3.7-1.4 6-4 6-7.6V5z",
  menu: "M3 6h14M3 10h14M3 14h14",
  flask: "M7.5 3h5M8.5 3v5L4 15.1c-.5.8.1 1.9 1.1 1.9h9.8c1 0 1.6-1.1 1.1-1.9L11.5 8V3M6 12.5h8",
  globe: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM3 10h14M10 3c2.2 2 3.2 4.3 3.2 7s-1 5-3.2 7c-2.2-2-3.2-4.3-3.2-7s1-5 3.2-7z",
  person: "M10 10a3.25 3.25 0 1 0 0-6.5 3.25 3.25 0 0 0 0 6.5zM4 17c0-3 2.6-4.75 6-4.75S16 14 16 17",
  leave: "M12 6V4.5c0-.6-.4-1-1-1H5c-.6 0-1 .4-1 1v11c0 .6.4 1 1 1h6c.6 0 1-.4 1-1V14M8 10h9M14.3 7.2 17 10l-2.7 2.8",
  file: "M5 3h6.5L15.5 7v10H5zM11.5 3v4h4",
};

/** Stroke widths other than the default. @type {Record<string, number>} */
const WIDTHS = { dots: 2.4 };
/** Filled parts. @type {Record<string, string>} */
const FILLED = { theme: "M10 3.5v13a6.5 6.5 0 0 0 0-13z" };

/** @param {{ name: keyof typeof PATHS, large?: boolean }} props */
export function Icon({ name, large = false }) {
  return html`<svg class=${large ? "icon" : "icon s"} viewBox="0 0 20 20" aria-hidden="true"><path d=${PATHS[name]} stroke-width=${WIDTHS[name]} />${FILLED[name] && html`<path d=${FILLED[name]} fill="currentColor" />`}</svg>`;
}

/** Background of a glyph and the mark cut out of it. @type {Record<string, [string, string]>} */
const GLYPHS = {
  passed: ["M10 2.5a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15z", "m6.6 10.3 2.3 2.3 4.5-5"],
  risky: ["M8.7 3.3 1.9 14.9A1.5 1.5 0 0 0 3.2 17.2h13.6a1.5 1.5 0 0 0 1.3-2.3L11.3 3.3a1.5 1.5 0 0 0-2.6 0z", "M10 7.8v3.6M10 14.2h.01"],
  unknown: ["M7 2.5h6A4.5 4.5 0 0 1 17.5 7v6a4.5 4.5 0 0 1-4.5 4.5H7A4.5 4.5 0 0 1 2.5 13V7A4.5 4.5 0 0 1 7 2.5z", "M7.9 8a2.15 2.15 0 1 1 3.3 1.8c-.8.5-1.2.9-1.2 1.7M10 14h.01"],
  undeliverable: ["M6.9 2.5h6.2l4.4 4.4v6.2l-4.4 4.4H6.9l-4.4-4.4V6.9z", "m7.3 7.3 5.4 5.4M12.7 7.3l-5.4 5.4"],
  pending: ["M10 2.5a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15z", "M10 6v4.2l2.7 1.7"],
};

/** @param {{ of: string }} props verdict */
export function Glyph({ of }) {
  const [ground, mark] = GLYPHS[of] ?? GLYPHS.pending;
  return html`<svg class=${`glyph ${of}`} viewBox="0 0 20 20" aria-hidden="true"><path class="f" d=${ground} /><path class="m" d=${mark} /></svg>`;
}
