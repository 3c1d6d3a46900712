/**
 * Benchmark of list interactions: forecast of a file, first verdict, filtered rows, row details. Each time is from the click to
 * the frame that shows the result.
 *
 * usage: .ci/browser browser/interaction.bench.mjs (BROWSER=firefox for Firefox)
 */
import { becomeOwner, launch, newReader, settled } from "./reader.mjs";
import { start } from "./server.mjs";

const ROWS = 20_000;
const TURNS = 9;
/** Selectors to click, and selectors that must then appear. */
const FILTERS = { undeliverable: ".pick.undeliverable", passed: ".pick.passed" };

const server = await start();
const browser = await launch();
try {
  const reader = await newReader(browser, server);
  await becomeOwner(reader, server);
  const { page, go } = reader;
  await go("lists/new");
  const emails = Array.from({ length: ROWS }, (_, n) => `reader${n}@letter-${n % 97}.example.com`);
  const began = performance.now();
  await page.locator("#list-file").setInputFiles({ name: "readers.csv", mimeType: "text/csv", buffer: Buffer.from(["email", ...emails].join("\n")) });
  await page.locator(".forecast form button").waitFor();
  const file_to_forecast_ms = Math.round(performance.now() - began);
  const start_to_first_verdict_ms = Math.round(await page.evaluate(clicked, [".forecast form button", ".virtual-body .verdict-word:not(.pending)"]));
  const job = /job_\w+/.exec(page.url())?.[0];
  await server.finished(String(job));
  await page.getByText("Completed", { exact: true }).waitFor();
  await settled(page);
  const filters = [];
  const panels = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const [status, pick] of Object.entries(FILTERS)) filters.push(await page.evaluate(clicked, [pick, `.virtual-body:has(.${status}):not(:has(.verdict-word:not(.${status})))`]));
    panels.push(await page.evaluate(clicked, [".virtual-body [role=gridcell].email", ".panel h3"]));
    await page.locator(".panel header button").click();
  }
  console.log(JSON.stringify({
    browser: `${browser.browserType().name()} ${browser.version()}`, rows: ROWS, file_to_forecast_ms, start_to_first_verdict_ms,
    filter_to_rows_ms: middle(filters), row_to_panel_ms: middle(panels),
  }));
} finally {
  await browser.close();
  await server.stop();
}

/** @param {number[]} times */
function middle(times) {
  return Math.round(times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]);
}

/** Runs in the page: clicks, waits for a selector; returns the time up to the frame showing it. @param {string[]} selectors */
function clicked([click, shown]) {
  const begun = performance.now();
  /** @type {HTMLElement} */ (document.querySelector(click)).click();
  return new Promise((resolve) => {
    const look = () => (document.querySelector(shown) ? requestAnimationFrame(() => resolve(performance.now() - begun)) : requestAnimationFrame(look));
    look();
  });
}
