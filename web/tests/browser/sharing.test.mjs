/** Summary link of a list: created, opened without an account, printed, revoked. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { obstacles } from "./axe.mjs";
import { asOwner, browser, reader, server } from "./owner.mjs";
import { SCHEMES, WIDTHS, act, becomes, heading, newReader, notByBiDi, picture, settled } from "./reader.mjs";

const EMAILS = ["valid@sandbox.test", "nonexistent@sandbox.test", "inbox_full@sandbox.test", "role_based@sandbox.test", "accept_all@sandbox.test", "no address"];
/** A4 at 96 dpi, without margins. */
const PAPER = { width: 688, height: 1017 };

/** @type {Awaited<ReturnType<typeof newReader>>} */
let colleague;
let job;

asOwner(async () => {
  colleague = await newReader(browser, server);
  job = (await server.api("POST", "/batch-verify", { emails: EMAILS })).id;
  await server.finished(job);
  await reader.go(`lists/${job}`);
  await reader.page.getByRole("button", { name: "Rename" }).click();
  await reader.page.getByLabel("Name of the list", { exact: true }).fill("Kunden 2026");
  await reader.page.getByRole("button", { name: "Save" }).click();
  await heading(reader.page, "Kunden 2026");
});
afterEach(() => {
  reader.nothingWrong();
  colleague.nothingWrong();
});

/** Creates a link in the dialog and returns it. */
async function share({ named, id = job }) {
  const { page, go } = reader;
  await go(`lists/${id}`);
  await act(page, "Share the summary");
  const dialog = page.getByRole("dialog");
  if (named) await dialog.getByLabel("Show the name “Kunden 2026”").check();
  await dialog.getByRole("button", { name: /^Create/ }).click();
  await dialog.getByText("It is shown only once.").waitFor();
  const link = await dialog.getByLabel("Link to the summary", { exact: true }).last().innerText();
  await dialog.getByRole("button", { name: "Close" }).click();
  return link;
}

async function open(link) {
  await colleague.page.goto("about:blank");
  const response = await colleague.page.goto(link);
  await settled(colleague.page);
  return response;
}

test("a colleague without an account sees the figures, and neither the name nor an address", async () => {
  const link = await share({ named: false });
  assert.ok(link.startsWith(`${server.origin}/#/shared/`), link);
  const asked = [];
  colleague.page.on("request", (request) => asked.push(request));
  const answered = colleague.page.waitForResponse("**/app/shared");
  const page = await open(link);
  assert.equal(page?.headers()["referrer-policy"], "no-referrer");
  const summary = await answered;
  assert.deepEqual([summary.headers()["x-robots-tag"], summary.headers()["cache-control"]], ["noindex", "no-store"]);
  await heading(colleague.page, "Summary of a list");
  await colleague.page.getByText("1 of 6", { exact: false }).first().waitFor();
  const said = `${await colleague.page.locator("main").innerText()} ${await summary.text()}`;
  assert.ok(!(await summary.text()).includes("@"));
  for (const secret of ["Kunden", "sandbox.test", "no address", job]) assert.ok(!said.includes(secret), secret);
  const token = link.split("/").at(-1);
  assert.ok(asked.every((request) => !request.url().slice(0, request.url().indexOf("#") >>> 0).includes(token)), "no address that a server sees has the token");
});

test("the name is shown if the sender wants it; a newer link ends the one before, and a revoked one is gone", async () => {
  const first = await share({ named: true });
  await open(first);
  await heading(colleague.page, "Kunden 2026");
  const second = await share({ named: false });
  await open(first);
  await heading(colleague.page, "This link doesn't work");
  await open(second);
  await heading(colleague.page, "Summary of a list");
  await act(reader.page, "Share the summary");
  await reader.page.getByText("This list has a link.").waitFor();
  await reader.page.getByRole("button", { name: "Revoke link" }).click();
  await reader.page.getByText("Link revoked").first().waitFor();
  await open(second);
  await heading(colleague.page, "This link doesn't work");
  await reader.go("timeline");
  await reader.page.getByText("Ada Lovelace shared the summary of Kunden 2026").first().waitFor();
  await reader.page.getByText("Ada Lovelace revoked the link to the summary of Kunden 2026").waitFor();
});

test("the timeline tells of a list without a name as of a list", async () => {
  const { id } = await server.api("POST", "/batch-verify", { emails: EMAILS });
  await server.finished(id);
  await share({ named: false, id });
  await reader.go("timeline");
  await reader.page.getByText("Ada Lovelace shared the summary of a list").waitFor();
});

test("a member prints the report from the list", async () => {
  const { page, go } = reader;
  await go(`lists/${job}`);
  await page.getByRole("button", { name: "More", exact: true }).click();
  await page.getByRole("link", { name: "Print report" }).click();
  await heading(page, "Kunden 2026");
  await page.evaluate(() => { globalThis.print = () => { globalThis.printed = true; }; });
  await page.getByRole("button", { name: "Print report" }).click();
  await becomes(() => page.evaluate(() => globalThis.printed), true);
  await page.getByRole("link", { name: "Back to the list" }).click();
  await page.getByRole("button", { name: "More", exact: true }).waitFor();
});

test("a report offers nothing to press: it has all providers, what a list waits for, and when it was stopped", async () => {
  const { page, go } = reader;
  const counts = { processed: 1, passed: 1, undeliverable: 0, risky: 0, unknown: 0 };
  const providers = Array.from({ length: 9 }, (_, n) => ({ id: `p${n}`, name: `Provider ${n}`, ...counts }));
  const later = { addresses: 2, first_at: new Date().toISOString(), last_at: new Date(Date.now() + 600_000).toISOString() };
  const shown = async (changes) => {
    await page.route(`**/app/jobs/${job}/progress*`, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), ...changes } });
    });
    await go(`report/${job}`);
    await heading(page, "Kunden 2026");
  };
  await shown({ providers, over: false, deferred: later });
  await page.getByText("Provider 8").waitFor();
  await page.locator(".waits").waitFor();
  await becomes(() => page.locator(".report").getByRole("button").allTextContents(), ["Print report"]);
  await page.unroute(`**/app/jobs/${job}/progress*`);
  await shown({ status: "cancelled" });
  await page.getByText(/^Stopped \d/).waitFor();
  assert.equal(await page.getByText(/^Verified \d/).count(), 0);
  await page.unroute(`**/app/jobs/${job}/progress*`);
});

test("on paper it is one page, light, and without what can only be pressed", { skip: notByBiDi("paper") }, async () => {
  const link = await share({ named: true });
  const { page } = colleague;
  await page.setViewportSize(PAPER);
  await open(link);
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await picture(page, `report-paper`, { fullPage: true });
  await becomes(() => page.getByRole("button", { name: "Print report" }).isVisible(), false);
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  assert.ok(height <= PAPER.height, `${height} px`);
  await becomes(() => page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), "light");
  await page.emulateMedia({ media: "screen" });
});

for (const width of WIDTHS) {
  for (const scheme of SCHEMES) {
    test(`the report at ${width} px, ${scheme}`, async () => {
      const link = await share({ named: true });
      const { page } = colleague;
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      await open(link);
      await picture(page, `report-${width}-${scheme}`, { fullPage: true });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(wide <= 0, `the page is ${wide} px wider than the window`);
      assert.deepEqual(await obstacles(page), []);
    });
  }
}
