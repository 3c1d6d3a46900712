/** API keys: permissions, first call in five languages, renaming, rotation, public key. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, test } from "node:test";
import { promisify } from "node:util";
import { asOwner, reader, server } from "./owner.mjs";
import { becomes, heading, settled } from "./reader.mjs";

asOwner();
afterEach(() => reader.nothingWrong());

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "probity-snippets-"));
after(() => rmSync(folder, { recursive: true }));

const row = (page, text) => page.getByRole("row").filter({ hasText: text });

/** Creates a key in the dialog and returns its secret. */
async function create(page, name, preset) {
  await page.getByRole("button", { name: "New key" }).first().click();
  await page.getByLabel("Name").fill(name);
  await page.getByRole("radio", { name: preset }).check();
  await page.getByRole("button", { name: "Create key" }).click();
  return page.getByLabel("Your new key", { exact: true }).last().innerText();
}

/** Commands that run the snippets. @type {Record<string, [program: string, file: string, ...before: string[]]>} */
const RUN = { curl: ["sh", "call.sh"], JavaScript: ["node", "call.mjs"], Python: ["python3", "call.py"], PHP: ["php", "call.php"], Go: ["go", "call.go", "run"] };

for (const [preset, said] of /** @type {const} */ ([["Verify only", /unknown|undeliverable|passed|risky/], ["Read only", /First calls/]])) {
  test(`the first call of a key works in each language as it is pasted: ${preset}`, async (context) => {
    const { page, go } = reader;
    await go("keys");
    const secret = await create(page, "First calls", preset);
    for (const [language, [program, file, ...before]] of Object.entries(RUN)) {
      await page.getByRole("button", { name: language, exact: true }).click();
      const code = await page.locator(`.snippet[aria-label="${language}"]`).innerText();
      assert.ok(code.includes(secret) && code.includes(server.origin), language);
      const path = join(folder, file);
      writeFileSync(path, code);
      try {
        const { stdout } = await run(program, [...before, path]);
        assert.match(stdout, said, language);
      } catch (error) {
        // Without the program, the snippet is checked but not run.
        if (/** @type {any} */ (error).code !== "ENOENT") throw error;
        context.diagnostic(`${program} is missing: ${language} was not run`);
      }
    }
    await page.getByText(`Keys that begin with ${secret.split("_", 2).join("_")}_ are secret`).waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await row(page, `${secret.slice(-4)}`).getByText(preset).waitFor();
  });
}

test("a preset gives what it says", async () => {
  const { page, go } = reader;
  await go("keys");
  const secret = await create(page, "Lists", "Verify and lists");
  await page.getByRole("button", { name: "Close" }).click();
  const ask = (path) => fetch(`${server.origin}/v1${path}`, { headers: { authorization: `Bearer ${secret}` } });
  assert.deepEqual([(await ask("/jobs")).status, (await ask("/users")).status], [200, 403]);
  const { data } = await server.api("GET", "/api-keys");
  assert.deepEqual(data.find(({ name }) => name === "Lists").scopes.toSorted(), ["read:jobs", "verify", "write:jobs"]);
});

test("a key is renamed, and replaced by one with the same rights while it still works", async () => {
  const { page, go } = reader;
  await go("keys");
  const old = await create(page, "Shop", "Verify only");
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Rename Shop" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("Web shop");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Rotate Web shop" }).click();
  await heading(page, "Rotate “Web shop”", 2);
  await page.getByRole("radio", { name: "in 7 days" }).check();
  await page.getByRole("dialog").getByRole("button", { name: "Rotate" }).click();
  const fresh = await page.getByLabel("Your new key", { exact: true }).last().innerText();
  await page.getByText("The old key “Web shop” works until").waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  assert.notEqual(fresh, old);
  for (const secret of [old, fresh]) {
    const { status } = await fetch(`${server.origin}/v1/verify?email=valid@sandbox.test`, { headers: { authorization: `Bearer ${secret}` } });
    assert.equal(status, 200);
  }
  await becomes(() => row(page, "Web shop").count(), 2);
  await row(page, old.slice(-4)).getByText(/^Ends /).waitFor();
  await becomes(() => row(page, old.slice(-4)).getByRole("button", { name: "Rotate" }).count(), 0);
  await becomes(() => row(page, fresh.slice(-4)).getByRole("button", { name: "Rotate" }).count(), 1);
});

test("the timeline says that the operator rotated a key", async () => {
  const { page, go } = reader;
  const { id } = await server.api("POST", "/api-keys", { name: "Of the operator", kind: "live" });
  await server.admin("keys", "rotate", id);
  await go("timeline");
  await page.getByText("The operator rotated the key Of the operator").waitFor();
  assert.doesNotMatch(await page.locator("main").innerText(), /no addresses/);
});

test("keys that others make are there without a second look, and the code for a page can be had again", async () => {
  const { page, go } = reader;
  await go("keys");
  const { secret } = await server.api("POST", "/api-keys", { name: "Landing page", kind: "pub", allowed_origins: ["https://www.example.com"] });
  await row(page, "Landing page").getByRole("link", { name: "Code for your page" }).click();
  await heading(page, "Widget");
  await settled(page);
  await becomes(() => page.getByLabel("Public key").inputValue(), secret);
  await page.getByLabel("Public key").fill("");
  await page.getByRole("button", { name: "Use this key Landing page" }).click();
  await becomes(async () => (await page.getByLabel("For your page", { exact: true }).innerText()).includes(`data-key="${secret}"`), true);
});

test("requests are logged as they come, and found by status, route and key", async () => {
  const { page, go } = reader;
  const { id, secret } = await server.api("POST", "/api-keys", { name: "Logged", kind: "rk", scopes: ["verify"] });
  const call = (path) => fetch(`${server.origin}/v1${path}`, { headers: { authorization: `Bearer ${secret}` } });
  await go("requests");
  await call("/verify?email=valid@sandbox.test");
  const mine = page.getByRole("row").filter({ hasText: "Logged" });
  await mine.filter({ hasText: "200" }).waitFor();
  const refused = await call("/jobs/job_00000000000000000000000000");
  const requestId = refused.headers.get("x-request-id");
  await page.getByRole("row").filter({ hasText: requestId }).getByText("403").waitFor();
  assert.ok(!(await page.locator("main").innerText()).includes("valid@"));
  await page.getByRole("row").filter({ hasText: requestId }).getByTitle("Request details").click();
  const details = page.getByRole("dialog", { name: "Request details" });
  for (const text of ["GET /v1/jobs/{id}", "The key lacks a permission", "Logged", requestId]) await details.getByText(text).first().waitFor();
  await page.reload();
  await details.getByText(requestId).waitFor();
  await details.getByRole("button", { name: "Close" }).click();
  await details.waitFor({ state: "detached" });
  assert.ok(!page.url().includes(requestId));
  await page.getByLabel("Response").selectOption({ label: "Refused (4xx)" });
  await settled(page);
  await page.getByRole("row").filter({ hasText: requestId }).waitFor();
  await becomes(() => mine.filter({ hasText: "200" }).count(), 0);
  await page.getByRole("button", { name: "/v1/jobs/{id}" }).first().click();
  await page.getByText("Route:").waitFor();
  await page.getByLabel("API key").selectOption({ label: "Logged" });
  await settled(page);
  await becomes(() => page.locator("tbody tr").count(), 1);
  await page.getByLabel("Method").selectOption({ label: "DELETE" });
  await page.getByText("No request matches").waitFor();
  await page.getByRole("button", { name: /Show everything|Clear/ }).first().click();
  await mine.first().waitFor();
  await server.api("DELETE", `/api-keys/${id}`);
});
