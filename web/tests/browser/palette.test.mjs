/** Keyboard control: palette, letter shortcuts, and their suppression while typing. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { obstacles } from "./axe.mjs";
import { asOwner, browser, reader, server } from "./owner.mjs";
import { SCHEMES, WIDTHS, becomes, focused, heading, newReader, picture, settled } from "./reader.mjs";

asOwner(async () => {
  const { id } = await server.api("POST", "/batch-verify", { emails: ["valid@sandbox.test"] });
  await server.finished(id);
});
afterEach(() => reader.nothingWrong());

const field = (page) => page.getByRole("combobox", { name: "Search pages, lists, keys or actions, or enter an address" });

test("screens, acts and an address are found by their names, with nothing but the keyboard", async () => {
  const { page, go } = reader;
  const { keyboard } = page;
  await go("");
  await keyboard.press("Control+k");
  await focused(field(page));
  await keyboard.type("webh");
  await becomes(() => page.getByRole("option").count(), 2);
  await keyboard.press("Enter");
  await heading(page, "Webhooks");
  await becomes(() => page.getByRole("dialog").count(), 0);

  await keyboard.press("Control+k");
  await focused(field(page));
  await keyboard.type("ann@sandbox.test");
  await page.getByRole("option", { name: "Verify ann@sandbox.test", selected: true }).waitFor();
  await keyboard.press("Enter");
  await heading(page, "Verify an address");
  await becomes(() => page.getByLabel("Address", { exact: true }).inputValue(), "ann@sandbox.test");
  // Also with the action's name before it.
  await keyboard.press("Control+k");
  await focused(field(page));
  await keyboard.type("verify cid@sandbox.test");
  await page.getByRole("option", { name: "Verify cid@sandbox.test", exact: true, selected: true }).waitFor();
  await keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("input")?.value === "cid@sandbox.test");
  // Repeated from this screen.
  await keyboard.press("Control+k");
  await focused(field(page));
  await keyboard.type("bea@sandbox.test");
  await keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("input")?.value === "bea@sandbox.test");

  await page.getByRole("button", { name: /^Search/ }).click();
  await focused(field(page));
  const selected = () => page.getByRole("option", { selected: true }).innerText();
  const first = await selected();
  await keyboard.press("ArrowDown");
  await becomes(async () => (await selected()) === first, false);
  const active = await page.getByRole("option", { selected: true }).getAttribute("id");
  await becomes(() => field(page).getAttribute("aria-activedescendant"), active);
  await keyboard.press("ArrowUp");
  await becomes(selected, first);
  await keyboard.type("no such thing");
  // What is nothing's name may be in a list.
  await becomes(() => page.getByRole("option").allInnerTexts(), ["Find “no such thing” in lists"]);
  await keyboard.press("Escape");
  await focused(page.getByRole("button", { name: /^Search/ }));
});

test("a list is found by its name", async () => {
  const { page, go } = reader;
  await go("lists/new");
  await page.locator("#list-file").setInputFiles({ name: "autumn.csv", mimeType: "text/csv", buffer: Buffer.from("email\nvalid@sandbox.test\n") });
  await heading(page, "Forecast", 2);
  await page.getByRole("button", { name: "Start" }).click();
  await page.waitForURL(/#\/lists\/job_/);
  await go("");
  await page.keyboard.press("Control+k");
  await focused(field(page));
  await page.keyboard.type("AUTUMN");
  await page.getByRole("option", { name: "autumn.csv" }).click();
  await page.waitForURL(/#\/lists\/job_/);
});

test("a list that is not among the newest is asked for by what was typed", async () => {
  const { page, go } = reader;
  const id = "job_00000000000000000000000000";
  await page.route("**/app/lists?*", (route) => {
    const sought = new URL(route.request().url()).searchParams.get("q");
    return route.fulfill({ json: { data: sought === "harvest" ? [{ id, name: "Harvest 2019", tags: [], rows: 12, created_at: new Date().toISOString() }] : [], has_more: false } });
  });
  await go("keys");
  await page.keyboard.press("Control+k");
  await focused(field(page));
  await page.keyboard.type("harvest");
  await page.getByRole("option", { name: /^Harvest 2019 12 rows · / }).waitFor();
  await page.keyboard.press("Escape");
  await page.unroute("**/app/lists?*");
});

test("a key is found by its name, in the mode that it is of", async () => {
  const { page, go } = reader;
  await server.api("POST", "/api-keys", { name: "Shop window", kind: "live" });
  await go("");
  await page.keyboard.press("Control+k");
  await focused(field(page));
  await page.keyboard.type("shop");
  await page.getByRole("option", { name: "Shop window API key" }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByRole("heading", { name: "Usage of “Shop window”" }).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await page.waitForURL(/#\/keys$/);
  await page.getByRole("button", { name: "Test mode" }).click();
  await settled(page);
  await page.keyboard.press("Control+k");
  await focused(field(page));
  await page.keyboard.type("shop");
  await becomes(() => page.getByRole("option").allInnerTexts(), ["Find “shop” in lists"]);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Live mode" }).click();
});

test("letters go to screens, keep still where somebody types, and can be switched off", async () => {
  const { page, go } = reader;
  const { keyboard } = page;
  await go("");
  await keyboard.press("g");
  await keyboard.press("k");
  await heading(page, "API keys");
  await keyboard.press("n");
  await page.waitForURL(/#\/lists\/new$/);
  await settled(page);
  await page.getByLabel("Addresses").fill("");
  await keyboard.type("gonk?");
  await becomes(() => page.getByLabel("Addresses").inputValue(), "gonk?");
  assert.match(page.url(), /#\/lists\/new$/);
  await go("keys");
  await page.getByRole("button", { name: "New key" }).first().click();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).focus();
  await keyboard.press("n");
  assert.match(page.url(), /#\/keys$/);
  await keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await keyboard.press("?");
  await page.getByRole("option", { name: "Lists g l" }).waitFor();
  await keyboard.press("Escape");

  await go("account");
  await page.getByLabel("Single-key shortcuts").uncheck();
  await page.getByRole("heading", { level: 1 }).click();
  await keyboard.press("n");
  await keyboard.press("?");
  await keyboard.press("Control+k");
  await focused(field(page));
  await becomes(() => page.locator(".entries kbd").count(), 0);
  await keyboard.press("Escape");
  assert.match(page.url(), /#\/account$/);
  await page.getByLabel("Single-key shortcuts").check();
});

test("the mode stays while a form has input that nobody has sent", async () => {
  const { page, go } = reader;
  const { keyboard } = page;
  const test = page.getByText("Test mode", { exact: true });
  const leave = () => page.getByRole("heading", { level: 1 }).click();
  await go("verify");
  await settled(page);
  await page.getByLabel("Address", { exact: true }).fill("half@sandbox.test");
  await leave();
  await keyboard.press("t");
  await keyboard.press("g");
  await keyboard.press("v");
  assert.equal(await test.count(), 0);
  assert.equal(await page.getByLabel("Address", { exact: true }).inputValue(), "half@sandbox.test");
  await page.getByRole("button", { name: "Verify", exact: true }).click();
  await page.locator(".verdict-card").getByText("half@sandbox.test").waitFor();
  await leave();
  await keyboard.press("t");
  await test.waitFor();
  await keyboard.press("t");
  await test.waitFor({ state: "detached" });
});

test("what fails says so, by the palette and by letters", async () => {
  const storageState = await reader.context.storageState();
  const [first, second] = [await newReader(browser, server, { storageState }), await newReader(browser, server, { storageState })];
  const down = { error: { code: "unavailable", message: "down", type: "api_error", request_id: "req_1" } };
  await first.page.route("**/app/sign-out", (route) => route.fulfill({ status: 503, json: down }));
  await first.page.goto(server.origin);
  await settled(first.page);
  await first.page.keyboard.press("Control+k");
  await focused(field(first.page));
  await first.page.keyboard.type("sign out");
  await first.page.keyboard.press("Enter");
  await first.page.locator(".toast-bad").waitFor();
  await first.context.close();

  await second.page.route(/commands[^/]*\.js/, (route) => route.abort());
  await second.page.goto(server.origin);
  await settled(second.page);
  await second.page.keyboard.press("n");
  await second.page.locator(".toast-bad").waitFor();
  await second.page.keyboard.press("Control+k");
  await second.page.locator(".toast-bad").nth(1).waitFor();
  await second.context.close();
});

test("on a Mac, Ctrl with K is the editor's", async () => {
  const mac = await newReader(browser, server, { storageState: await reader.context.storageState() });
  const { page } = mac;
  await page.addInitScript(() => Object.defineProperty(navigator, "platform", { get: () => "MacIntel" }));
  await page.goto(server.origin);
  await settled(page);
  await page.keyboard.press("Control+k");
  assert.equal(await page.getByRole("dialog").count(), 0);
  await page.keyboard.press("Meta+k");
  await focused(field(page));
  mac.nothingWrong();
  await mac.context.close();
});

for (const width of WIDTHS) {
  for (const scheme of SCHEMES) {
    test(`the palette at ${width} pixels, ${scheme}`, async () => {
      const { page, go } = reader;
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      await go("");
      await page.keyboard.press("Control+k");
      await focused(field(page));
      await picture(page, `palette-${width}-${scheme}`);
      assert.deepEqual(await obstacles(page), []);
      await page.keyboard.press("Escape");
    });
  }
}
