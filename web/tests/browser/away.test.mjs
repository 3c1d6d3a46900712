/** The server stops and starts again while pages are open; sessions that end elsewhere. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { obstacles } from "./axe.mjs";
import { asOwner, browser, reader, server } from "./owner.mjs";
import { OWNER, SCHEMES, becomes, heading, isFirefox, newReader, picture, settled } from "./reader.mjs";

asOwner();
/** What browsers log of requests that nothing answers. */
const UNANSWERED = /Failed to load resource|ERR_CONNECTION_REFUSED|can.t establish a connection|NetworkError|error loading dynamically imported module|Loading failed for the module/;
afterEach(async () => {
  await server.resume();
  reader.nothingWrong(UNANSWERED);
});

const line = (page) => page.getByRole("complementary", { name: "Can't reach the server." });

test("a list under way says that the server is away, writes nothing, and goes on when the server is back", async () => {
  const { page, go } = reader;
  const { id } = await server.api("POST", "/batch-verify", { emails: ["valid@sandbox.test", "late+delay-20s@catchall.sandbox.test"] });
  await go(`lists/${id}`);
  await page.getByText("1 of 2 verified", { exact: true }).waitFor();
  await page.getByRole("gridcell", { name: "valid@sandbox.test" }).click();
  const button = page.getByRole("button", { name: "Verify again", exact: true });
  await button.waitFor();
  const sent = [];
  page.on("request", (request) => request.method() !== "GET" && sent.push(request.url()));

  await server.halt();
  await line(page).getByText(/^Data from \d\d:\d\d\.$/).waitFor();
  await line(page).getByText(/^Trying again/).waitFor();
  await page.getByRole("gridcell", { name: "late+delay-20s@catchall.sandbox.test" }).waitFor();
  await becomes(() => button.getAttribute("aria-disabled"), "true");
  await becomes(() => button.getAttribute("title"), /server can't be reached/);
  await button.click({ force: true });
  // The reason is in the dialog of a change, too.
  await page.getByRole("button", { name: "More", exact: true }).click();
  await page.getByRole("button", { name: "Stop verification", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("This works again once it is back.").waitFor();
  const stop = dialog.getByRole("button", { name: "Stop verification" });
  await becomes(() => stop.getAttribute("aria-disabled"), "true");
  await stop.click({ force: true });
  assert.deepEqual(sent, []);
  for (const scheme of SCHEMES) {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    if (!isFirefox) assert.deepEqual(await obstacles(page), [], scheme);
  }
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await picture(page, "away-list");

  await server.resume();
  await line(page).waitFor({ state: "detached" });
  await page.getByText("2 of 2 verified", { exact: true }).waitFor();
  await page.getByText("Completed", { exact: true }).waitFor();
  await becomes(() => button.getAttribute("aria-disabled"), "false");
});

test("a page that did not load says why, and loads when the server is back", async () => {
  const { page, go } = await newReader(browser, server, { storageState: await reader.context.storageState() });
  await go("");
  await heading(page, "Overview");
  await server.halt();
  await line(page).waitFor();
  await page.getByRole("link", { name: "Usage" }).click();
  await page.getByRole("alert").filter({ hasText: "The server can't be reached." }).waitFor();
  assert.equal(await page.getByText("A new version is available.").count(), 0);
  // Its module is there, its data is not.
  await page.getByRole("link", { name: "Overview" }).click();
  await page.locator("main").getByRole("alert").first().waitFor();
  await page.getByRole("link", { name: "Usage" }).click();
  await page.locator("main").getByRole("alert").first().waitFor();
  await server.resume();
  await heading(page, "Usage");
  await settled(page);
  await line(page).waitFor({ state: "detached" });
  await page.context().close();
});

test("parts of a page that failed are fetched again when the server is back", async () => {
  const { page, go } = reader;
  await go("timeline");
  await go("keys");
  await server.halt();
  await line(page).waitFor();
  // Loaded before: only its data is missing.
  await page.evaluate(() => { location.hash = "#/timeline"; });
  await page.locator("main").getByRole("alert").waitFor();
  await server.resume();
  await page.locator(".happened li").first().waitFor();
  await becomes(() => page.getByRole("alert").count(), 0);
});

test("only another version of the server is called a new version", async () => {
  const { page, go } = await newReader(browser, server, { storageState: await reader.context.storageState() });
  await go("");
  await page.route("**/screens/requests.js", (route) => route.abort());
  await page.getByRole("link", { name: "Requests" }).click();
  await page.getByText("A part of this page didn't load.").waitFor();
  const there = await (await page.request.get(`${server.origin}/`)).text();
  await page.route(`${server.origin}/`, (route) => route.fulfill({ contentType: "text/html", body: there.replace(/data-build="\w+"/, 'data-build="other"') }));
  await page.route("**/screens/webhooks.js", (route) => route.abort());
  await page.getByRole("link", { name: "Webhooks" }).click();
  await page.getByText("A new version is available.").waitFor();
  await becomes(() => line(page).count(), 0);
  await page.context().close();
});

test("whoever is signed out elsewhere is told so, and led back", async () => {
  const other = await newReader(browser, server);
  const { page, go } = other;
  const signIn = async () => {
    await page.getByLabel("Email address").fill(OWNER.email);
    await page.getByLabel("Password").fill(OWNER.password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
  };
  await go("timeline");
  await heading(page, "Sign in");
  assert.equal(await page.getByText("You were signed out.").count(), 0);
  await signIn();
  await heading(page, "Timeline");
  const session = await (await reader.page.request.get(`${server.origin}/app/session`)).json();
  const ended = await reader.page.request.delete(`${server.origin}/app/sessions`, { headers: { "x-csrf-token": session.csrf, origin: server.origin } });
  assert.ok(ended.ok(), String(ended.status()));
  await page.getByRole("link", { name: "Usage" }).click();
  await page.getByText("You were signed out. Sign in to continue where you were.").waitFor();
  await signIn();
  await heading(page, "Usage");
  other.nothingWrong(UNANSWERED);
  await page.context().close();
});
