/** Late and missing responses: no unwanted navigation, no lost input. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { asOwner, reader, server } from "./owner.mjs";
import { act, becomes, downloadAs, settled, signOut } from "./reader.mjs";

asOwner();
afterEach(() => reader.nothingWrong());

const heading = (page, name, level = 1) => page.getByRole("heading", { name, level, exact: true }).waitFor();

/** Holds matching requests until released; later ones pass. */
async function hold(page, pattern) {
  let release = () => {};
  const released = new Promise((resolve) => {
    release = () => resolve(undefined);
  });
  let asked = 0;
  const wait = async (route) => {
    asked += 1;
    await released;
    await route.continue().catch(() => {});
  };
  await page.route(pattern, wait);
  return {
    asked: () => asked,
    async letGo() {
      const answer = page.waitForResponse(pattern);
      release();
      await answer;
      await page.unroute(pattern, wait);
      // The response is handled in the following tasks.
      await page.evaluate(() => new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve), 100)));
    },
  };
}

/** Opens Settings by its link and types there. */
async function typeInSettings(page) {
  await page.getByRole("link", { name: "Settings" }).click();
  await heading(page, "Settings");
  await page.getByRole("navigation", { name: "Settings" }).getByRole("link", { name: "Verdicts" }).click();
  await settled(page);
  const words = page.locator("main textarea").first();
  await words.fill("not saved yet");
  return words;
}

/** Asserts that Settings is still open with the typed text. */
async function stillThere(page, words) {
  assert.match(page.url(), /#\/settings\?tab=results$/);
  assert.equal(await words.inputValue(), "not saved yet");
}

test("a verdict that comes when the reader is elsewhere waits for them where they asked", async () => {
  const { page, go } = reader;
  await go("verify");
  const held = await hold(page, /\/app\/v1\/verify\?/);
  await page.getByLabel("Address", { exact: true }).fill("role_based@sandbox.test");
  await page.getByRole("button", { name: "Verify", exact: true }).click();
  await page.getByRole("status").getByText("Verifying role_based@sandbox.test").waitFor({ state: "attached" });
  const words = await typeInSettings(page);
  await held.letGo();
  await stillThere(page, words);
  await page.getByRole("link", { name: "Verify an address" }).click();
  await page.getByRole("heading", { name: "What was checked" }).waitFor();
  await page.getByRole("status").getByText("role_based@sandbox.test: Risky. Role mailbox.").waitFor({ state: "attached" });
  await becomes(() => page.getByLabel("Address", { exact: true }).inputValue(), "role_based@sandbox.test");
  assert.equal(held.asked(), 1);
});

test("a search in all lists, and a list that is started, leave the reader where they have gone", async () => {
  const { page, go } = reader;
  await go("lists/find");
  const search = await hold(page, /\/app\/lookup\?/);
  await page.getByLabel("Part of an address, domain, or name of a list").fill("sandbox.test");
  await page.getByRole("button", { name: "Find" }).click();
  const words = await typeInSettings(page);
  // The page has aborted the request.
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await stillThere(page, words);
  await becomes(search.asked, 1);

  await go("lists/new");
  await page.getByLabel("Addresses").fill("valid@sandbox.test");
  await page.getByRole("button", { name: "Continue" }).click();
  await heading(page, "Forecast", 2);
  await settled(page);
  const started = await hold(page, /\/app\/uploads\/[^/]+\/start$/);
  await page.getByRole("button", { name: "Start" }).click();
  const others = await typeInSettings(page);
  await started.letGo();
  await stillThere(page, others);
});

test("an erasure that is asked for, and a webhook that is deleted, leave the reader where they have gone", async () => {
  const { page, go } = reader;
  await go("privacy");
  await page.getByLabel("Addresses").fill("forgotten@sandbox.test");
  await page.getByLabel("Type 1 to confirm").fill("1");
  const erased = await hold(page, /\/app\/v1\/erasures$/);
  await page.getByRole("button", { name: "Erase 1 address" }).click();
  const words = await typeInSettings(page);
  await erased.letGo();
  await stillThere(page, words);

  const { id } = await server.api("POST", "/webhooks", { name: "Shop", url: "https://shop.example.com/hook", events: ["job.finished"] });
  await go(`webhooks/${id}`);
  await act(page, "Delete");
  const deleted = await hold(page, new RegExp(`/app/v1/webhooks/${id}$`));
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.keyboard.press("Escape");
  const others = await typeInSettings(page);
  await deleted.letGo();
  await stillThere(page, others);
});

test("a list that is sent while the reader goes elsewhere waits to be started", async () => {
  const { page, go } = reader;
  await go("lists/new");
  const sent = await hold(page, /\/app\/uploads\?/);
  await page.getByLabel("Addresses").fill("valid@sandbox.test\nrole_based@sandbox.test");
  await page.getByRole("button", { name: "Continue" }).click();
  const words = await typeInSettings(page);
  await sent.letGo();
  await page.getByText("Pasted list is uploaded and ready to start.").waitFor();
  await stillThere(page, words);
  await go("lists/new");
  await page.getByRole("table", { name: "Ready to start" }).getByRole("link", { name: "Pasted list" }).waitFor();
});

test("pasted addresses that cannot be sent, or are held back, stay", async () => {
  const { page, go } = reader;
  const list = "valid@sandbox.test\nsecond@sandbox.test";
  await go("lists/new");
  const busy = { error: { code: "service_unavailable", message: "busy", request_id: "req_1" } };
  await page.route(/\/app\/uploads\?/, (route) => route.fulfill({ status: 503, json: busy }), { times: 1 });
  await page.getByLabel("Addresses").fill(list);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("alert").getByText("The service is busy.").waitFor();
  await becomes(() => page.getByLabel("Addresses").inputValue(), list);
  await hold(page, /\/app\/uploads\?/);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await becomes(() => page.getByLabel("Addresses").inputValue(), list);
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await page.getByRole("button", { name: "Continue" }).click();
  await heading(page, "Forecast", 2);
});

test("a list of many pages has each row once, and keeps them where a page cannot be fetched", async () => {
  const { page, go } = reader;
  for (let n = 0; n < 60; n += 1) await server.api("POST", "/batch-verify", { emails: [`page${n}@sandbox.test`] });
  await go("lists");
  const rows = page.getByRole("table", { name: "Lists" }).locator("tbody tr");
  const places = async () => new Set(await rows.locator("a").evaluateAll((links) => links.map(({ href }) => href))).size;
  const first = await rows.count();
  const more = page.getByRole("button", { name: "Show more" });
  await page.route(/\/app\/lists\?.*next=/, (route) => route.fulfill({ status: 503, json: { error: { code: "service_unavailable", message: "busy" } } }), { times: 1 });
  await more.click();
  await page.getByRole("alert").getByText("The service is busy.").waitFor();
  await becomes(() => rows.count(), first);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("alert").waitFor({ state: "detached" });
  await becomes(async () => (await rows.count()) > first, true);
  const second = await rows.count();
  await becomes(places, second);

  await go("lists");
  const held = await hold(page, /\/app\/lists\?.*next=/);
  await more.dblclick();
  await held.letGo();
  await settled(page);
  await becomes(async () => [held.asked(), await rows.count(), await places()], [1, second, second]);
});

test("a list cannot be started before the forecast of the column that was chosen is there", async () => {
  const { page, go } = reader;
  await go("lists/new");
  const csv = "email,second\nvalid@sandbox.test,a@sandbox.test\nvalid@sandbox.test,b@sandbox.test\n";
  await page.locator("#list-file").setInputFiles({ name: "two.csv", mimeType: "text/csv", buffer: Buffer.from(csv) });
  await heading(page, "Forecast", 2);
  const start = page.getByRole("button", { name: "Start" });
  const providers = page.getByRole("heading", { name: "Mail providers" });
  await providers.waitFor();
  await becomes(() => start.getAttribute("aria-disabled"), "false");
  const held = await hold(page, /\/app\/uploads\/[^/]+\/forecast$/);
  await page.getByRole("button", { name: "second", exact: true, pressed: false }).click();
  await page.getByRole("button", { name: "second", exact: true, pressed: true }).waitFor();
  await providers.waitFor({ state: "detached" });
  await becomes(() => start.getAttribute("aria-disabled"), "true");
  await start.click({ force: true });
  await held.letGo();
  await providers.waitFor();
  await becomes(() => start.getAttribute("aria-disabled"), "false");
  assert.match(page.url(), /lists\/new\?upload=/);
});

test("what a button could not do, and a file that is refused, are told of until the reader closes it", async () => {
  const { page, go } = reader;
  const job = (await server.api("POST", "/batch-verify", { emails: ["valid@sandbox.test"] })).id;
  await server.finished(job);
  await go(`lists/${job}`);
  await page.clock.install();
  const gone = { error: { code: "not_found", message: "gone", request_id: "req_of_the_file" } };
  await page.route(/\/download\?/, (route) => route.fulfill({ status: 404, ...(route.request().method() === "HEAD" ? {} : { json: gone }) }));
  await (await downloadAs(page, "CSV")).click();
  const told = page.getByRole("alert").filter({ hasText: "Not found. It may have been deleted." });
  await told.getByText("req_of_the_file").waitFor();
  await page.clock.fastForward(60_000);
  await told.waitFor();
  await told.locator("..").getByRole("button", { name: "Close" }).click();
  await told.waitFor({ state: "detached" });
  await page.unrouteAll();

  await go("account");
  await page.route(/\/app\/sign-out$/, (route) => route.fulfill({ status: 503, json: { error: { code: "service_unavailable", message: "busy", request_id: "req_of_the_button" } } }), { times: 1 });
  await signOut(page);
  await page.getByRole("alert").getByText("req_of_the_button").waitFor();
});

test("where too many lists wait, it is said what to do", async () => {
  const { page, go } = reader;
  await go("lists/new");
  const full = { error: { code: "conflict", message: "there are 50 files already", request_id: "req_1" } };
  await page.route(/\/app\/uploads\?/, (route) => route.fulfill({ status: 409, json: full }), { times: 1 });
  await page.getByLabel("Addresses").fill("valid@sandbox.test");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("alert").getByText("50 lists are ready to start").waitFor();
});
