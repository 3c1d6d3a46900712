/** What the first look at the dashboard costs: bytes, which are held to a limit, and time, which is told. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { becomeOwner, launch, newReader, settled } from "./reader.mjs";
import { start } from "./server.mjs";

const BYTES_MAX = 150_000;

let server, browser, reader;

before(async () => {
  server = await start();
  browser = await launch();
  reader = await newReader(browser, server);
  await becomeOwner(reader, server);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

for (const [name, signedIn] of /** @type {const} */ ([["somebody who is signed in", true], ["a stranger", false]])) {
  test(`the first load for ${name} is small`, async (context) => {
    const cold = await newReader(browser, server, signedIn ? { storageState: await reader.context.storageState() } : {});
    await cold.page.goto(server.origin);
    await settled(cold.page);
    const { bytes, files, shown, interactive } = await cold.page.evaluate(measure);
    context.diagnostic(`${bytes} bytes in ${files} answers; first drawn after ${shown} ms, all there after ${interactive} ms`);
    assert.ok(files > 10);
    assert.ok(bytes < BYTES_MAX, `${bytes} bytes`);
    cold.nothingWrong();
    await cold.context.close();
  });
}

test("a file of a build is kept, and the page is asked for anew", async () => {
  const { page, go, nothingWrong } = reader;
  await go("");
  await page.reload();
  await settled(page);
  const asked = await page.evaluate(() => performance.getEntriesByType("resource")
    .filter((entry) => entry.name.includes("/assets/") && /** @type {PerformanceResourceTiming} */ (entry).transferSize > 0).map(({ name }) => name));
  assert.deepEqual(asked, []);
  nothingWrong();
});

/** In the page: what was transferred, headers included, and when the reader saw something and had everything. */
function measure() {
  const [page] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
  const files = /** @type {PerformanceResourceTiming[]} */ (performance.getEntriesByType("resource"));
  const [shown] = performance.getEntriesByName("first-contentful-paint");
  return {
    bytes: [page, ...files].reduce((sum, { transferSize }) => sum + transferSize, 0),
    files: files.length + 1,
    shown: Math.round(shown?.startTime ?? 0),
    interactive: Math.round(Math.max(page.domInteractive, ...files.map(({ responseEnd }) => responseEnd))),
  };
}
