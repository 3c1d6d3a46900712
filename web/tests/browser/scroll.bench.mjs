/**
 * Benchmark of scrolling through a million rows: time between frames while the wheel turns.
 *
 * The list has three real rows; this program answers for its progress and rows as if it had a million, so only the page is
 * measured. usage: .ci/browser browser/scroll.bench.mjs (BROWSER=firefox for Firefox)
 */
import { launch, becomeOwner, newReader, settled } from "./reader.mjs";
import { start } from "./server.mjs";

const ROWS = 1_000_000;
/** Wheel events, and pixels per event: trackpad, and a fast wheel. */
const WAYS = { slow: [300, 80], fast: [300, 1_200] };
/** Frame time at 60 Hz in milliseconds; a frame 50% longer counts as dropped. */
const FRAME_MS = 1_000 / 60;
const DROPPED_MS = FRAME_MS * 1.5;

/** @type {import("playwright-core").CDPSession | undefined} */
let session;
const server = await start();
const browser = await launch();
try {
  const reader = await newReader(browser, server);
  await becomeOwner(reader, server);
  const { id } = await server.api("POST", "/batch-verify", { emails: ["a@sandbox.test", "b@sandbox.test", "c@sandbox.test"] });
  await server.finished(id);
  await pretend(reader.page, id);
  await reader.go(`lists/${id}`);
  const grid = reader.page.getByRole("grid", { name: "Results" });
  await grid.getByRole("gridcell", { name: "reader0@sandbox.test" }).waitFor();
  await grid.hover();
  for (const [way, [turns, pixels]] of Object.entries(WAYS)) {
    await grid.evaluate((element) => element.scrollTo({ top: 0 }));
    await settled(reader.page);
    const before = await work(reader);
    const times = await measured(reader.page, grid, turns, pixels);
    const after = await work(reader);
    const at = await grid.evaluate((element) => Math.round(element.scrollTop));
    console.log(JSON.stringify({ browser: `${browser.browserType().name()} ${browser.version()}`, way, rows: ROWS, scrolled_px: at, ...summary(times), ...(after && { page_ms_per_frame: Number(((after - before) / times.length).toFixed(2)) }) }));
  }
} finally {
  await browser.close();
  await server.stop();
}

/** @param {import("playwright-core").Page} page @param {string} id */
async function pretend(page, id) {
  const progress = await (await page.request.get(`${server.origin}/app/jobs/${id}/progress`)).json();
  const row = (index) => ({ index, email: `reader${index}@sandbox.test`, processed: true, status: "passed", reason: "valid", provider: null, host: null, suggestion: null });
  await page.route("**/app/jobs/*/events", (route) => route.fulfill({ status: 429, body: "" }));
  await page.route("**/app/jobs/*/progress", (route) => route.fulfill({ json: { ...progress, rows: ROWS, processed: ROWS, passed: ROWS } }));
  await page.route("**/app/jobs/*/rows?*", (route) => {
    const query = new URL(route.request().url()).searchParams;
    const [after, most] = [Number(query.get("after")), Number(query.get("per_page"))];
    const data = Array.from({ length: Math.min(most, ROWS - after) }, (_, n) => row(after + n));
    return route.fulfill({ json: { data, rows: ROWS, scanned: ROWS, next: null } });
  });
}

/**
 * Page time for scripts, styles and layout, in milliseconds: the part of a frame that other programs barely affect. Chromium
 * only.
 */
async function work({ context, page }) {
  if (process.env.BROWSER === "firefox") return undefined;
  session ??= await context.newCDPSession(page);
  await session.send("Performance.enable");
  const { metrics } = await session.send("Performance.getMetrics");
  const parts = ["ScriptDuration", "RecalcStyleDuration", "LayoutDuration"];
  return 1_000 * metrics.filter(({ name }) => parts.includes(name)).reduce((sum, { value }) => sum + value, 0);
}

/** Times between frames while the wheel turns, in milliseconds. */
async function measured(page, grid, turns, pixels) {
  await page.evaluate(() => {
    const times = [];
    let last = performance.now();
    let on = true;
    const frame = (now) => {
      times.push(now - last);
      last = now;
      if (on) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    globalThis.stopFrames = () => {
      on = false;
      // The first interval started before the wheel.
      return times.slice(1);
    };
  });
  await grid.hover();
  for (let turn = 0; turn < turns; turn += 1) await page.mouse.wheel(0, pixels);
  return page.evaluate(() => globalThis.stopFrames());
}

/** @param {number[]} times */
function summary(times) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part) => Number(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))].toFixed(1));
  const seconds = times.reduce((sum, time) => sum + time, 0) / 1_000;
  return {
    seconds: Number(seconds.toFixed(1)), frames: times.length, frames_per_second: Number((times.length / seconds).toFixed(1)),
    median_ms: at(0.5), p95_ms: at(0.95), p99_ms: at(0.99), longest_ms: at(1), dropped: times.filter((time) => time > DROPPED_MS).length,
  };
}
