/** Manual verification: pasted text, the last 20 verdicts, several addresses. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { afterEach, test } from "node:test";
import { promisify } from "node:util";
import { asOwner, browser, reader, server } from "./owner.mjs";
import { OWNER, becomes, heading, newReader, notByBiDi, settled, signOut } from "./reader.mjs";

const ODD = `o'brien"$(id)\`id\`\\@sandbox.test`;

asOwner();
afterEach(() => reader.nothingWrong());

const past = (page) => page.getByRole("region", { name: "Last twenty" }).getByRole("listitem");

async function verify(page, email, verdict) {
  await page.getByLabel("Address", { exact: true }).fill(email);
  await page.getByRole("button", { name: "Verify", exact: true }).click();
  await page.waitForFunction((wanted) => document.querySelector("main .verdict-card .mail")?.textContent === wanted, email);
  if (verdict) await heading(page, verdict, 2);
}

test("what is copied as curl gives the same verdict, whatever the address is, and has no key", { skip: notByBiDi("the clipboard") }, async () => {
  const { page, context, go } = reader;
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await go("verify");
  for (const email of ["inbox_full@sandbox.test", ODD]) {
    await verify(page, email);
    await page.locator(".verdict-card").getByText("From the sandbox", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Copy as curl" }).click();
    await page.getByRole("status").getByText("Copied").first().waitFor();
    await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith("curl"));
    const command = await page.evaluate(() => navigator.clipboard.readText());
    assert.ok(command.includes("$PROBITY_KEY") && !command.includes(server.key), command);
    const { stdout } = await promisify(execFile)("sh", ["-c", command], { env: { ...process.env, PROBITY_KEY: server.key } });
    await page.getByRole("button", { name: "Copy result" }).click();
    await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith("{"));
    const shown = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
    const { email: said, status, reason } = JSON.parse(stdout);
    assert.deepEqual({ said, status, reason }, { said: email, status: shown.status, reason: shown.reason });
  }
});

test("the last twenty are looked at again without asking, of one mode, until they are cleared or the reader signs out", async () => {
  const other = await newReader(browser, server, { storageState: await reader.context.storageState() });
  const { page, go } = other;
  await go("verify");
  for (let n = 1; n <= 21; n += 1) await verify(page, `past${n}@sandbox.test`);
  await verify(page, "inbox_full@sandbox.test", "Undeliverable");
  await becomes(() => past(page).count(), 20);
  await becomes(() => past(page).first().innerText(), /Undeliverable\s+inbox_full@sandbox\.test/);
  await page.getByText("Kept in this browser tab only, until you sign out.").waitFor();
  let asked = 0;
  page.on("request", (request) => { asked += Number(request.url().includes("/verify?")); });
  await past(page).getByRole("button", { name: "past20@sandbox.test" }).click();
  await page.locator(".verdict-card").getByText("past20@sandbox.test").waitFor();
  await becomes(() => page.url(), /email=past20%40sandbox\.test/);
  await page.reload();
  await page.locator(".verdict-card").getByText("past20@sandbox.test").waitFor();
  await page.getByRole("group", { name: "Mode" }).getByRole("button", { name: "Test" }).click();
  await past(page).first().waitFor({ state: "detached" });
  await page.getByRole("group", { name: "Mode" }).getByRole("button", { name: "Live" }).click();
  await past(page).first().waitFor();
  assert.equal(asked, 0);
  const kept = () => page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }).includes("past20@"));
  await becomes(kept, true);
  await page.getByRole("button", { name: "Clear" }).click();
  await past(page).first().waitFor({ state: "detached" });
  await becomes(kept, false);
  other.nothingWrong();
  await other.context.close();
});

test("who signs out leaves no address behind", async () => {
  const other = await newReader(browser, server);
  const { page, go } = other;
  await page.goto(server.origin);
  await page.getByLabel("Email address").fill(OWNER.email);
  await page.getByLabel("Password").fill(OWNER.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await heading(page, "Overview");
  await go("verify");
  await verify(page, "leaves@sandbox.test");
  await signOut(page);
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  await becomes(() => page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }).includes("leaves@")), false);
  other.nothingWrong();
  await other.context.close();
});

test("several are pasted and each is answered as it comes, no more than four at a time", async () => {
  const { page, go } = reader;
  await go("verify/several");
  let [open, most] = [0, 0];
  await page.route(/\/app\/v1\/verify\?/, async (route) => {
    open += 1;
    most = Math.max(most, open);
    const response = await route.fetch();
    open -= 1;
    await route.fulfill({ response });
  });
  await page.getByLabel("Addresses").fill("Ada <valid@sandbox.test>, nonexistent@sandbox.test; nonexistent@sandbox.test\ninbox_full@sandbox.test\n\ninfo@sandbox.test\nanybody@catchall.sandbox.test\n");
  await page.getByRole("button", { name: "Verify 5 addresses" }).click();
  await page.getByText("5 of 5 answered").waitFor();
  await page.unroute(/\/app\/v1\/verify\?/);
  assert.ok(most <= 4, `${most} at a time`);
  const table = page.getByRole("table", { name: "Verdicts" });
  await becomes(() => table.getByRole("row", { name: /inbox_full@/ }).innerText(), /Undeliverable/);
  // Its evidence is already loaded.
  let asked = 0;
  page.on("request", (request) => { asked += Number(request.url().includes("/verify?")); });
  await table.getByRole("link", { name: "inbox_full@sandbox.test" }).click();
  await heading(page, "The conversation", 2);
  assert.equal(asked, 0);
  await page.goBack();
  await page.getByText("5 of 5 answered").waitFor();
});

test("names are left out, what is no address is named, and a mailbox is asked about once", async () => {
  const { page, go } = reader;
  await go("verify/several");
  /** @type {(string | null)[]} */
  const asked = [];
  const note = (request) => { if (request.url().includes("/verify?")) asked.push(new URL(request.url()).searchParams.get("email")); };
  page.on("request", note);
  await page.getByLabel("Addresses").fill('"Doe, Ann" <valid@sandbox.test>, valid@SANDBOX.test; nobody\nmailto:inbox_full@sandbox.test');
  await page.getByText("Skipped, no @: nobody").waitFor();
  await page.getByRole("button", { name: "Verify 2 addresses" }).click();
  await page.getByText("2 of 2 answered").waitFor();
  assert.deepEqual(asked.toSorted(), ["inbox_full@sandbox.test", "valid@sandbox.test"]);
  await go("verify");
  await page.getByLabel("Address", { exact: true }).fill('"Jane Doe" <jane@sandbox.test>');
  await page.getByRole("button", { name: "Verify", exact: true }).click();
  await page.locator(".verdict-card").getByText("jane@sandbox.test").waitFor();
  page.off("request", note);
  assert.equal(asked.at(-1), "jane@sandbox.test");
});

test("an answer takes nobody away from another that they look at meanwhile", async () => {
  const { page, go } = reader;
  await go("verify");
  await verify(page, "looked@sandbox.test");
  let release = () => {};
  const released = new Promise((resolve) => { release = () => resolve(undefined); });
  await page.route(/\/verify\?.*slow/, async (route) => {
    await released;
    await route.continue();
  });
  await page.getByLabel("Address", { exact: true }).fill("slow@sandbox.test");
  await page.getByRole("button", { name: "Verify", exact: true }).click();
  await past(page).getByRole("button", { name: "looked@sandbox.test" }).click();
  const answered = page.waitForResponse(/\/verify\?.*slow/);
  release();
  await answered;
  await past(page).getByRole("button", { name: "slow@sandbox.test" }).waitFor();
  await settled(page);
  assert.match(page.url(), /email=looked%40sandbox\.test/);
  await page.locator(".verdict-card").getByText("looked@sandbox.test").waitFor();
  await page.unroute(/\/verify\?.*slow/);
});

test("too many are no few, and a refusal for the rate is waited out", async () => {
  const other = await newReader(browser, server, { storageState: await reader.context.storageState() });
  const { page, go } = other;
  await page.clock.install();
  await go("verify/several");
  await page.getByLabel("Addresses").fill(Array.from({ length: 21 }, (_, n) => `many${n}@sandbox.test`).join("\n"));
  await page.getByText("You entered 21 addresses; the limit is 20.").waitFor();
  await page.getByRole("link", { name: "Verify them as a list" }).waitFor();
  await becomes(() => page.getByRole("button", { name: "Verify 21 addresses" }).getAttribute("aria-disabled"), "true");

  const limited = { error: { code: "rate_limited", message: "too many", type: "rate_limit_error", request_id: "req_1" } };
  await page.route(/\/app\/v1\/verify\?.*limited/, (route) => route.fulfill({ status: 429, json: limited, headers: { "retry-after": "600" } }), { times: 1 });
  await page.getByLabel("Addresses").fill("limited@sandbox.test\nother@sandbox.test");
  await page.getByRole("button", { name: "Verify 2 addresses" }).click();
  await page.getByText("Too many requests at once.", { exact: false }).waitFor();
  await page.clock.fastForward(600_000);
  await page.getByText("2 of 2 answered").waitFor();
  await page.getByText("Too many requests at once.", { exact: false }).waitFor({ state: "detached" });
  other.nothingWrong();
  await other.context.close();
});

test("what costs too much ends the rest, which can be asked about again", async () => {
  const { page, go } = reader;
  await go("verify/several");
  const poor = { error: { code: "insufficient_credits", message: "no credits", type: "billing_error", request_id: "req_2" } };
  await page.route(/\/app\/v1\/verify\?/, (route) => route.fulfill({ status: 402, json: poor }));
  await page.getByLabel("Addresses").fill(Array.from({ length: 9 }, (_, n) => `poor${n}@sandbox.test`).join("\n"));
  await page.getByRole("button", { name: "Verify 9 addresses" }).click();
  await page.getByRole("alert").getByText("Not enough credits for this.").waitFor();
  await becomes(async () => (await page.getByText("Not verified", { exact: true }).count()) >= 5, true);
  await page.unroute(/\/app\/v1\/verify\?/);
  await page.getByRole("button", { name: "Verify 9 again" }).click();
  await page.getByText("9 of 9 answered").waitFor();
});

test("in another mode nothing more is asked about", async () => {
  const { page, go } = reader;
  await go("verify/several");
  /** @type {string[]} */
  const asked = [];
  let release = () => {};
  const released = new Promise((resolve) => { release = () => resolve(undefined); });
  await page.route(/\/app\/v1\/verify\?/, async (route) => {
    asked.push(route.request().url());
    await released;
    await route.continue().catch(() => {});
  });
  await page.getByLabel("Addresses").fill(Array.from({ length: 9 }, (_, n) => `mode${n}@sandbox.test`).join("\n"));
  await page.getByRole("button", { name: "Verify 9 addresses" }).click();
  await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 9);
  await page.getByRole("group", { name: "Mode" }).getByRole("button", { name: "Test" }).click();
  await page.getByText("Test mode", { exact: true }).waitFor();
  const answered = page.waitForResponse(/\/app\/v1\/verify\?/);
  release();
  await answered;
  await page.getByRole("group", { name: "Mode" }).getByRole("button", { name: "Live" }).click();
  await settled(page);
  await page.getByRole("button", { name: "Several" }).click();
  await page.waitForFunction(() => [...document.querySelectorAll("main tbody tr")].filter((row) => row.textContent?.includes("Not verified")).length === 5);
  await page.unroute(/\/app\/v1\/verify\?/);
  assert.equal(asked.length, 4);
  assert.ok(asked.every((url) => !url.includes("mode=test")));
});
