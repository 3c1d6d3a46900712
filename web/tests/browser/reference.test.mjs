/** Documentation at `/docs`: pages, guides, search, runnable samples, the user's test key, size, axe-core checks. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { obstacles } from "./axe.mjs";
import { asOwner, browser, reader, server } from "./owner.mjs";
import { OWNER, SCHEMES, WIDTHS, becomes, heading, newReader, picture, signOut } from "./reader.mjs";

/** @type {Awaited<ReturnType<typeof newReader>>} */
let stranger;

asOwner(async () => { stranger = await newReader(browser, server); });

/** True if a sample contains the test key. */
const hasKey = (page) => page.locator("#get_job .sample pre").innerText().then((text) => text.includes(server.testKey));

const FILLED_IN = "The examples use your test key";
const BYTES_MAX = 300_000;
const HEIGHT_MAX = 12_000;
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "probity-reference-"));
after(() => rmSync(folder, { recursive: true }));

/** Opens the page and waits for its script to render the samples and load the session. */
async function open({ page }, place = "") {
  await page.goto("about:blank");
  await page.goto(`${server.origin}/docs${place}`);
  await page.locator("body > nav [aria-current]").first().waitFor({ state: "attached" });
  await page.locator("#key > *").first().waitFor();
}

test("the page with all that it loads is small", async (context) => {
  const { page } = stranger;
  await open(stranger);
  const bytes = await page.evaluate(() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
    .reduce((sum, entry) => sum + /** @type {PerformanceResourceTiming} */ (entry).transferSize, 0));
  context.diagnostic(`${bytes} bytes`);
  assert.ok(bytes > 20_000 && bytes < BYTES_MAX, `${bytes} bytes`);
  stranger.nothingWrong();
});

test("an operation is found, and gone to, by keyboard only", async () => {
  const { page } = stranger;
  await open(stranger);
  await page.keyboard.press("/");
  await page.keyboard.type("delete_api");
  await page.getByText("1 match", { exact: true }).waitFor();
  await page.keyboard.press("ArrowDown");
  await becomes(() => page.evaluate(() => document.activeElement?.textContent), "Revoke an API key");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/docs#delete_api_key");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("mx[].preference");
  await page.locator("nav .match", { hasText: "evidence.domain.mx[].preference" }).first().waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("nothing like this");
  await page.getByText("Nothing found.").waitFor();
  await page.keyboard.press("Escape");
  await becomes(async () => (await page.locator("nav li a:visible").count()) > 60, true);
  stranger.nothingWrong();
});

test("words of any text are found, with what surrounds them", async () => {
  const { page } = stranger;
  await open(stranger);
  for (const [word, place] of [["signature", "Receive webhooks"], ["retry", "Retries and limits"], ["429", "Retries and limits"], ["429", "Errors"], ["replayed", "Idempotent requests"]]) {
    await page.getByRole("searchbox", { name: "Search the documentation" }).fill(word);
    const link = page.locator("body > nav li a:visible", { hasText: place });
    await becomes(() => link.locator(".match").innerText(), new RegExp(word, "i"));
  }
  // Every operation can be refused with 429: that would find them all.
  await page.getByRole("searchbox").fill("429");
  await becomes(async () => (await page.locator("body > nav li a:visible").count()) < 10, true);
  stranger.nothingWrong();
});

test("every page has less than 12,000 pixels and a title of its own", async () => {
  const { page } = stranger;
  await open(stranger);
  const pages = await page.evaluate(async () => {
    const found = [];
    for (const link of document.querySelectorAll("body > nav :is(li, h2) a")) {
      const turned = new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
      /** @type {HTMLElement} */ (link).click();
      await turned;
      found.push({ place: location.hash, title: document.title, height: document.documentElement.scrollHeight, shown: document.querySelectorAll("main > section:not([hidden])").length });
    }
    return found;
  });
  assert.ok(pages.length > 80);
  assert.deepEqual(pages.filter(({ height }) => height >= HEIGHT_MAX), []);
  assert.deepEqual(pages.filter(({ shown }) => shown !== 1), []);
  assert.equal(new Set(pages.map(({ title }) => title)).size, pages.length);
});

test("pages are turned, gone back from, and reached from the dashboard", async () => {
  const { page, go } = reader;
  await go("");
  await page.getByRole("link", { name: "Documentation" }).click();
  await page.waitForURL("**/docs");
  await page.getByRole("link", { name: "Your first call" }).last().click();
  await heading(page, "Your first call", 2);
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Receive webhooks" }).click();
  await heading(page, "Receive webhooks", 2);
  await becomes(() => page.getByRole("heading", { name: "Your first call" }).count(), 0);
  await page.goBack();
  await heading(page, "Your first call", 2);
  await page.goto(`${server.origin}/docs#section-webhooks`);
  await page.getByRole("link", { name: "Create a webhook", exact: true }).last().click();
  await page.locator("#create_webhook .reply").getByText("whsec_").waitFor();
  reader.nothingWrong();
});

test("a link leads to its operation", async () => {
  const { page } = stranger;
  await open(stranger, "#get_usage");
  await page.waitForFunction(() => {
    const { top } = document.querySelector("#get_usage").getBoundingClientRect();
    return top >= 0 && top < innerHeight / 2;
  });
  await page.locator("nav a[aria-current]", { hasText: "Get usage" }).waitFor();
});

test("the language that was chosen is that of every example, by keyboard too, and stays", async () => {
  const { page } = stranger;
  await open(stranger, "#submit_batch");
  await page.locator("#submit_batch").getByRole("tab", { name: "curl" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await becomes(() => page.locator("#verify_email pre").first().innerText(), /urllib/);
  await open(stranger, "#get_job");
  await becomes(() => page.locator("#get_job").getByRole("tab", { selected: true }).innerText(), "Python");
  await becomes(() => page.locator("#get_job .sample pre").innerText(), /probity_test_…/);
  stranger.nothingWrong();
});

test("a key that is no test key is not taken, and a test key fills the examples until it is removed", async () => {
  const { page } = stranger;
  await open(stranger);
  await page.getByLabel("Your test key").fill(server.key);
  await page.getByRole("button", { name: "Fill in" }).click();
  await page.getByText("This isn't a test key.").waitFor();
  await page.getByLabel("Your test key").fill(server.testKey);
  await page.getByLabel("Your test key").press("Enter");
  await page.getByText(FILLED_IN).waitFor();
  await becomes(() => hasKey(page), true);
  await page.getByRole("button", { name: "Remove it" }).click();
  await becomes(() => hasKey(page), false);
  stranger.nothingWrong();
});

test("a key that was pasted without signing in stays in its tab, and is gone when somebody signs in there", async () => {
  const own = await newReader(browser, server);
  const { page, go } = own;
  await open(own);
  await page.getByLabel("Your test key").fill(server.testKey);
  await page.getByLabel("Your test key").press("Enter");
  await page.getByText("Settings, suppression lists and the callback secret are the real ones.").waitFor();
  const other = { ...own, page: await own.context.newPage() };
  await open(other);
  await other.page.getByLabel("Your test key").waitFor();
  await open(own);
  await page.getByText(FILLED_IN).waitFor();
  await go("");
  await page.getByLabel("Email address").fill(OWNER.email);
  await page.getByLabel("Password").fill(OWNER.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await heading(page, "Overview");
  await open(own);
  await page.getByLabel("Your test key").waitFor();
  await go("");
  await signOut(page);
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  await open(own);
  await page.getByLabel("Your test key").waitFor();
  await becomes(() => hasKey(page), false);
  await own.context.close();
});

test("a member's key is gone once nobody is signed in any more, whatever ended the session", async () => {
  const own = await newReader(browser, server);
  await open(own);
  await own.page.evaluate((secret) => localStorage.setItem("probity.testkey", JSON.stringify({ user: "usr_gone", secret })), server.testKey);
  await open(own);
  await own.page.getByLabel("Your test key").waitFor();
  await becomes(() => own.page.evaluate(() => localStorage.getItem("probity.testkey")), null);
  await own.context.close();
});

/** Commands that run the samples. @type {Record<string, [program: string, file: string, ...before: string[]]>} */
const RUN = { curl: ["sh", "call.sh"], JavaScript: ["node", "call.mjs"], Python: ["python3", "call.py"], PHP: ["php", "call.php"], Go: ["go", "call.go", "run"] };

/** Runs the sample of a place in every language, as it is copied. */
async function runAll(page, context, place, said) {
  await page.evaluate((hash) => { location.hash = hash; }, place.replace(/-\d$/, ""));
  for (const [language, [program, file, ...first]] of Object.entries(RUN)) {
    await page.locator(`#${place}`).getByRole("tab", { name: language, exact: true }).click();
    const path = join(folder, file);
    writeFileSync(path, await page.locator(`#${place} .sample pre`).innerText());
    try {
      const { stdout } = await run(program, [...first, path]);
      assert.match(stdout, said, `${place} in ${language}`);
    } catch (error) {
      // Without the program, the sample is checked but not run.
      if (/** @type {any} */ (error).code !== "ENOENT") throw error;
      context.diagnostic(`${program} is missing: ${language} was not run`);
    }
  }
}

test("who signed in creates a test key with one click, and examples run as they are copied", async (context) => {
  const { page } = reader;
  await open(reader);
  await page.getByRole("button", { name: "Create a test key" }).click();
  await page.getByText(FILLED_IN).waitFor();
  const { data } = await server.api("GET", "/api-keys");
  const { expires_at: ends } = data.find(({ name }) => name === "API reference");
  assert.equal(Math.round((Date.parse(ends) - Date.now()) / 86_400_000), 30);
  for (const [place, said] of /** @type {const} */ ([
    ["verify_email", /evidence|reason/], ["submit_batch", /job_/], ["get_organization", /credits/], ["create_webhook", /secret|whsec/],
    ["guide-first-call-2", /status\W+passed/], ["guide-retries-1", /status\W+passed/], ["guide-idempotency-1", /job_/], ["guide-paging-1", /^job_\w+ completed$/m],
  ])) await runAll(page, context, place, said);
  reader.nothingWrong();
});

test("a call is run on the page, with the test key and without the session", async () => {
  const { page } = reader;
  await open(reader);
  const create = page.getByRole("button", { name: "Create a test key" });
  if (await create.isVisible()) await create.click();
  await page.getByText(FILLED_IN).waitFor();
  const first = page.locator("#first");
  const asked = page.waitForRequest(/\/v1\/verify/);
  await first.getByRole("button", { name: "Run" }).click();
  assert.equal((await (await asked).allHeaders()).cookie, undefined);
  await becomes(() => first.locator(".reply").innerText(), /200, \d+ ms[^]+"status": "passed"/);
  reader.nothingWrong();
});

test("an example prints what the server refuses with", async (context) => {
  const { page } = stranger;
  await open(stranger, "#get_organization");
  for (const [language, [program, file, ...first]] of Object.entries(RUN)) {
    await page.locator("#get_organization").getByRole("tab", { name: language, exact: true }).click();
    const path = join(folder, file);
    writeFileSync(path, (await page.locator("#get_organization .sample pre").innerText()).replace("…", "unknown"));
    const said = await run(program, [...first, path]).then(({ stdout }) => stdout, (error) => error);
    if (said.code === "ENOENT") context.diagnostic(`${program} is missing: ${language} was not run`);
    else assert.match(said, /request_id/, language);
  }
});

test("the key stays for its reader, and is gone after they sign out", async () => {
  const { page, go } = reader;
  await open(reader);
  const create = page.getByRole("button", { name: "Create a test key" });
  if (await create.isVisible()) await create.click();
  await open(reader);
  await page.getByText(FILLED_IN).waitFor();
  await go("");
  await signOut(page);
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  await open(reader);
  await page.getByLabel("Your test key").waitFor();
  await becomes(() => page.evaluate(() => localStorage.getItem("probity.testkey")), null);
});

for (const width of WIDTHS) {
  for (const scheme of SCHEMES) {
    test(`the reference at ${width} px, ${scheme}`, async () => {
      const { page } = stranger;
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      for (const place of ["", "#verify_email", "#section-verification", "#guide-webhooks", "#errors"]) {
        await open(stranger, place);
        await picture(page, `reference${place.replace("#", "-")}-${width}-${scheme}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(wide <= 0, `${place} is ${wide} px wider than the window`);
        assert.deepEqual(await obstacles(page), [], place);
      }
      stranger.nothingWrong();
    });
  }
}
