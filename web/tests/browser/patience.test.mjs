/** Page behavior while the server is slow. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { asOwner, browser, reader, server } from "./owner.mjs";
import { newReader, settled } from "./reader.mjs";

asOwner();
afterEach(() => reader.nothingWrong());

/**
 * Replacement for `EventSource`: reports a list's progress once, sends a `beat` on request, and is otherwise silent. The stream
 * of changes is always silent.
 */
function silentStream(progress) {
  globalThis.EventSource = class extends EventTarget {
    static CLOSED = 2;
    constructor(url) {
      super();
      this.tells = url.includes("/app/jobs/");
      if (!this.tells) return;
      setTimeout(() => this.dispatchEvent(new MessageEvent("progress", { data: JSON.stringify(progress) })));
      globalThis.beat = () => this.dispatchEvent(new Event("beat"));
    }
    close() {
      if (this.tells) globalThis.streamClosed = true;
    }
  };
}

test("a stream that falls silent for 40 seconds is given up, and the list asked after", async () => {
  const { id } = await server.api("POST", "/batch-verify", { emails: ["valid@sandbox.test"] });
  await server.finished(id);
  const other = await newReader(browser, server, { storageState: await reader.context.storageState() });
  const { page, go } = other;
  const answer = await page.context().request.get(`${server.origin}/app/jobs/${id}/progress`);
  const progress = await answer.json();
  await page.addInitScript(silentStream, { ...progress, over: false, status: "processing", processed: 0, finished_at: null });
  await page.clock.install({ time: 0 });
  await go(`lists/${id}`);
  await page.getByText("0 of 1 verified", { exact: true }).waitFor();
  // Before the timeout, regardless of the machine's load.
  await page.clock.pauseAt(35_000);
  await page.evaluate(() => globalThis.beat());
  await page.clock.runFor(39_999);
  assert.equal(await page.evaluate(() => globalThis.streamClosed), undefined);
  await page.clock.runFor(1);
  assert.equal(await page.evaluate(() => globalThis.streamClosed), true);
  await page.getByText("1 of 1 verified", { exact: true }).waitFor();
  other.nothingWrong();
  await other.context.close();
});

test("a list is not started while another column is being counted", async () => {
  const { page, go } = reader;
  await go("lists/new");
  const text = "Mail;Second\nvalid@sandbox.test;info@sandbox.test\n";
  await page.locator("#list-file").setInputFiles({ name: "two.csv", mimeType: "text/csv", buffer: Buffer.from(text) });
  await page.getByRole("heading", { name: "Forecast" }).waitFor();
  await settled(page);
  let open = () => {};
  const gate = new Promise((resolve) => { open = () => resolve(undefined); });
  await page.route("**/app/uploads/*", async (route) => {
    if (route.request().method() === "PATCH") await gate;
    await route.continue();
  });
  const started = [];
  page.on("request", (request) => request.url().endsWith("/start") && started.push(request.url()));
  await page.getByRole("button", { name: "Second", exact: true }).click();
  const button = page.getByRole("button", { name: "Start" });
  await page.waitForFunction(() => document.querySelector("button.primary[aria-disabled=true]"));
  await button.click({ force: true });
  open();
  await page.waitForFunction(() => !document.querySelector("button.primary[aria-disabled=true]"));
  assert.deepEqual(started, []);
  await button.click();
  await page.getByRole("gridcell", { name: "info@sandbox.test" }).waitFor();
  assert.equal(started.length, 1);
});
