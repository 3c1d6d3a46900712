/** Webhook deliveries: request and response, resending, live updates; and the signature samples, executed. */
import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { asOwner, browser, reader, server } from "./owner.mjs";
import { becomes, heading, newReader } from "./reader.mjs";
import { freePort } from "./server.mjs";

/** Response of the customer's endpoint, and its received requests. */
const theirs = { status: 500, said: "out of <b>paper</b>", requests: /** @type {{ headers: any, body: string }[]} */ ([]), url: "" };
const receiver = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  theirs.requests.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
  response.writeHead(theirs.status).end(theirs.said);
});
const files = mkdtempSync(join(tmpdir(), "probity-webhooks-"));

before(async () => {
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const address = /** @type {import("node:net").AddressInfo} */ (receiver.address());
  theirs.url = `http://127.0.0.1:${address.port}/probity`;
});
asOwner(undefined, { networks: "127.0.0.0/8" });
afterEach(() => reader.nothingWrong());
after(() => {
  receiver.close();
  rmSync(files, { recursive: true });
});

const press = (name) => reader.page.getByRole("button", { name, exact: true }).click();
const attempts = () => reader.page.getByRole("list", { name: "Attempts" }).getByRole("listitem");
const make = (url, events) => server.api("POST", "/webhooks", { name: "Shop", url, events });

test("a delivery shows what was sent and answered, is sent again as the same event, and goes on by itself", async () => {
  const { page, go } = reader;
  const { id } = await make(theirs.url, ["status.undeliverable"]);
  const { id: job } = await server.api("POST", "/batch-verify", { emails: ["nobody@null-mx.invalid", "no address"] });
  await server.finished(job);
  await go(`webhooks/${id}`);
  await page.getByRole("link", { name: "status.undeliverable" }).click();
  await heading(page, "status.undeliverable");
  await attempts().filter({ hasText: "500: your server reports an error" }).first().waitFor();
  await page.getByText("out of <b>paper</b>").first().waitFor();
  await page.getByText(/^Next attempt at/).waitFor();
  await page.getByText(/Its log has the cause\. Attempt \d of 8 follows at \d\d:\d\d\./).waitFor();
  await page.goBack();
  await page.getByRole("row").filter({ hasText: /Retry at \d\d:\d\d/ }).waitFor();
  await page.goForward();
  await heading(page, "status.undeliverable");

  const [first] = theirs.requests;
  const shown = await page.getByLabel("Body", { exact: true }).innerText();
  assert.equal(JSON.stringify(JSON.parse(shown)), first.body);
  const headers = await page.getByLabel("Headers", { exact: true }).innerText();
  for (const name of ["content-type", "user-agent", "webhook-id", "webhook-timestamp"]) assert.ok(headers.includes(`${name}: ${first.headers[name]}`), headers);

  theirs.status = 204;
  theirs.said = "";
  await press("Resend");
  await attempts().filter({ hasText: "204: accepted by your server" }).waitFor();
  await page.getByText("Delivered", { exact: true }).waitFor();
  const again = theirs.requests.at(-1);
  assert.deepEqual([again?.headers["webhook-id"], again?.body], [first.headers["webhook-id"], first.body]);

  await go(`webhooks/${id}`);
  await press("Failed");
  await page.getByText("No such deliveries").waitFor();
  await press("Clear the filter");
  await page.getByRole("row").filter({ hasText: "Delivered" }).waitFor();
});

test("a webhook shows its share of successes, and a failed delivery says what is wrong", async () => {
  const { page, go } = reader;
  const { id } = await make(theirs.url, ["job.finished"]);
  const share = page.getByRole("region", { name: "Deliveries of the last 48 hours" });
  const wrong = { 204: undefined, 401: "asks for credentials or rejects the signature", 404: "Nothing takes POST requests at this URL", 302: "Enter the final URL" };
  for (const [status, text] of Object.entries(wrong)) {
    theirs.status = Number(status);
    const { id: delivery } = await server.api("POST", `/webhooks/${id}/test`);
    await go(`webhooks/${id}/${delivery}`);
    await attempts().filter({ hasText: `${status}: ` }).waitFor();
    if (text) await page.locator(".note").getByText(text).waitFor();
    else assert.equal(await page.locator(".note").count(), 0);
  }
  theirs.status = 204;
  await go(`webhooks/${id}`);
  await share.getByText("25%", { exact: true }).waitFor();
  await share.getByText("1 of 4", { exact: true }).waitFor();
  await becomes(() => share.locator(".bars g").count(), 48);
  // It goes on by itself.
  await server.api("POST", `/webhooks/${id}/test`);
  await share.getByText("2 of 5", { exact: true }).waitFor();
  const { id: gone } = await server.api("PATCH", `/webhooks/${id}`, { url: `http://127.0.0.1:${await freePort()}/` });
  const { id: delivery } = await server.api("POST", `/webhooks/${gone}/test`);
  await go(`webhooks/${id}/${delivery}`);
  await page.locator(".note").getByText("The host name was not found, the connection was refused").waitFor();
  // The filter is a step for Back.
  await go(`webhooks/${id}`);
  await press("Failed");
  await page.waitForURL(/status=exhausted/);
  await page.goBack();
  await page.getByRole("row").filter({ hasText: "Delivered" }).first().waitFor();
});

test("a new webhook is tried at once, beside its secret and the code that checks it", async () => {
  const { page, go } = reader;
  theirs.status = 401;
  await go("webhooks");
  await page.getByRole("button", { name: "New webhook" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Tried at once");
  await dialog.getByLabel("URL").fill(theirs.url);
  await dialog.getByRole("button", { name: "Save" }).click();
  const secret = await dialog.getByLabel("Secret").innerText();
  assert.match(secret, /^whsec_/);
  await dialog.getByRole("button", { name: "Python" }).click();
  await dialog.getByText("PROBITY_WEBHOOK_SECRET").first().waitFor();
  await dialog.getByRole("button", { name: "Send a test" }).click();
  await dialog.getByText("401: refused by your server").waitFor();
  await dialog.getByText("check the signature with this webhook's secret").waitFor();
  theirs.status = 204;
  await dialog.getByRole("button", { name: "Send a test" }).click();
  await dialog.getByText("204: accepted by your server").waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await heading(page, "Tried at once");
});

test("of a webhook that is gone nothing is to change: the stream of the page is not refused", async () => {
  const { page, go } = reader;
  const { id } = await make(theirs.url, ["job.finished"]);
  await server.api("DELETE", `/webhooks/${id}`);
  const asked = /** @type {URL[]} */ ([]);
  page.on("request", (request) => asked.push(new URL(request.url())));
  await go(`webhooks/${id}`);
  await page.getByText("Not found. It may have been deleted.").waitFor();
  const streams = () => asked.filter(({ pathname }) => pathname === "/app/changes").map(({ searchParams }) => searchParams.get("of"));
  await becomes(() => streams().length > 0, true);
  assert.deepEqual(streams().filter((of) => of?.includes("deliveries")), []);
});

test("an answer that comes late does not hide what a later one has shown", async () => {
  const { page, go } = reader;
  await go("overview");
  let isFirst = true;
  /** @type {Promise<void>} */
  const late = new Promise((resolve, reject) => {
    page.route(/\/app\/v1\/webhooks(\?|$)/, async (route) => {
      if (!isFirst) return route.fallback();
      isFirst = false;
      try {
        const before = await route.fetch();
        await server.api("POST", "/webhooks", { name: "Made meanwhile", url: theirs.url, events: ["job.finished"] });
        await page.getByRole("link", { name: "Made meanwhile" }).waitFor();
        await route.fulfill({ response: before });
        resolve();
      } catch (error) {
        reject(error);
      }
    });
  });
  const answered = page.waitForResponse((response) => /\/app\/v1\/webhooks(\?|$)/.test(response.url()));
  await page.evaluate(() => { location.hash = "#/webhooks"; });
  await late;
  await (await answered).finished();
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  assert.equal(await page.getByRole("link", { name: "Made meanwhile" }).count(), 1);
  await page.unrouteAll();
});

test("rows that are gone are said to be gone, and what is turned off cannot be resent", async () => {
  const { page, go } = reader;
  const { id } = await make(theirs.url, ["status.undeliverable"]);
  const { id: job } = await server.api("POST", "/batch-verify", { emails: ["no address at all"] });
  await server.finished(job);
  await server.api("PATCH", `/webhooks/${id}`, { status: "disabled" });
  const { data: [{ id: delivery }] } = await server.api("GET", `/webhooks/${id}/deliveries`);
  await page.route(`**/deliveries/${delivery}`, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), body: null, missing_body: "rows_gone" } });
  });
  await go(`webhooks/${id}/${delivery}`);
  await page.getByText("The rows are gone").waitFor();
  await page.getByText("This webhook is disabled.").waitFor();
  await becomes(() => page.getByRole("button", { name: "Resend" }).isDisabled(), true);
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

/** Commands that run the server samples, if installed. `go run` would leave the server running. */
const RUN = {
  JavaScript: (file) => ["node", file("receiver.mjs")],
  Python: (file) => ["python3", file("receiver.py")],
  PHP: (file, port) => ["php", "-S", `127.0.0.1:${port}`, file("receiver.php")],
  Go: (file) => ["go", "build", "-o", join(files, "receiver"), file("receiver.go")],
};

for (const [language, run] of Object.entries(RUN)) {
  const [program] = run((name) => name, 0);
  const isThere = spawnSync(program, [program === "go" ? "version" : "--version"]).status === 0;
  test(`the code in ${language} takes what Probity signed, and nothing else`, { skip: !isThere && `${program} is not installed` }, async () => {
    const { page, go } = reader;
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/`;
    const { id, secret } = await make(url, ["job.finished"]);
    await go(`webhooks/${id}`);
    const text = (await code(language)).replace("8080", String(port));
    const file = (name) => {
      writeFileSync(join(files, name), text);
      return join(files, name);
    };
    let [command, ...args] = run(file, port);
    if (program === "go") {
      await promisify(execFile)(command, args);
      [command, args] = [join(files, "receiver"), []];
    }
    const env = { ...process.env, PROBITY_WEBHOOK_SECRET: secret };
    const child = spawn(command, args, { env, stdio: "ignore" });
    try {
      await listening(port);
      await press("Send a test");
      await page.getByRole("row").filter({ hasText: "Delivered" }).waitFor();
      const curl = await code("curl");
      const send = async (script, of) => (await promisify(execFile)("sh", ["-c", script], { env: { ...env, PROBITY_WEBHOOK_SECRET: of } })).stdout;
      assert.match(await send(curl, secret), /^HTTP\/1.\d 204/);
      assert.match(await send(curl, `whsec_${Buffer.alloc(32).toString("base64")}`), /^HTTP\/1.\d 401/);
      assert.match(await send(curl.replace("$(date +%s)", "$(($(date +%s) - 400))"), secret), /^HTTP\/1.\d 401/);
      assert.equal((await fetch(url, { method: "POST", body: "{}" })).status, 401);
      if (language === "JavaScript") await hangUp(port);
      assert.equal((await fetch(url, { method: "POST", body: "{}" })).status, 401);
      assert.equal(child.exitCode, null);
    } finally {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  });
}

for (const language of ["JavaScript", "Python"]) {
  test(`the code in ${language} does not start without a secret`, async () => {
    const { id } = await make(theirs.url, ["job.finished"]);
    await reader.go(`webhooks/${id}`);
    const [command, ...args] = RUN[language]((name) => join(files, name), 0);
    writeFileSync(args[0], (await code(language)).replace("8080", String(await freePort())));
    for (const secret of ["", "whsec_", undefined]) {
      const { status, stderr } = spawnSync(command, args, { env: { ...process.env, PROBITY_WEBHOOK_SECRET: secret }, encoding: "utf8", timeout: 20_000 });
      assert.equal(status, 1, `${secret}`);
      assert.match(stderr, /Put the webhook's secret into PROBITY_WEBHOOK_SECRET/);
    }
  });
}

/** Sample shown for a language. */
async function code(language) {
  await press(language);
  return reader.page.getByLabel(language, { exact: true }).innerText();
}

/** Starts to send a body and disconnects while the server reads it. */
async function hangUp(port) {
  const socket = createConnection(port, "127.0.0.1");
  socket.write("POST / HTTP/1.1\r\nhost: here\r\nexpect: 100-continue\r\ncontent-length: 100\r\n\r\n");
  await once(socket, "data");
  socket.write("{");
  socket.resetAndDestroy();
  await once(socket, "close");
}

async function listening(port) {
  for (;;) {
    const socket = createConnection(port, "127.0.0.1");
    const is = await once(socket, "connect").then(() => true, () => false);
    socket.destroy();
    if (is) return;
    await pause(50);
  }
}

test("a contributor reads deliveries, and sees no button for what only administrators may do", async () => {
  const { id } = await make(theirs.url, ["job.finished"]);
  const { id: delivery } = await server.api("POST", `/webhooks/${id}/test`);
  const { invitation_url: link } = await server.api("POST", "/users", { email: "grace@example.com", name: "Grace Hopper", role: "contributor" });
  const { page, go, nothingWrong } = await newReader(browser, server);
  await page.goto(new URL(link, server.origin).href);
  await page.getByLabel("Password", { exact: true }).fill("nanoseconds are that long");
  await page.getByRole("button", { name: "Save and sign in" }).click();
  await heading(page, "Overview");
  await go(`webhooks/${id}/${delivery}`);
  await page.getByText("204: accepted by your server").waitFor();
  await page.getByLabel("Body", { exact: true }).getByText(id).waitFor();
  assert.equal(await page.getByRole("button", { name: "Resend" }).count(), 0);
  await go(`webhooks/${id}`);
  await page.getByRole("table", { name: "Deliveries" }).getByRole("link", { name: "test" }).waitFor();
  for (const name of ["Resend", "Send a test", "Change", "More"]) assert.equal(await page.getByRole("button", { name, exact: true }).count(), 0, name);
  nothingWrong();
});
