/** What the first screen tells of what is going on: lists that are under way, and the way to mail servers. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { asOwner, reader, server } from "./owner.mjs";
import { settled } from "./reader.mjs";

asOwner();
afterEach(() => reader.nothingWrong());

/** What a node says that asks mail servers itself, as no node of the sandbox does. */
const ENGINE = {
  connections: 90, connect_failures: 10, recipients: 40, sessions: 2, sessions_limit: 64,
  breakers: { open: 0, paused: 0, closed: 5, half_open: 0 }, held: [], held_others: 0, tight: [], tight_others: 0,
};
const way = (engine) => ({
  reachable: true,
  data: [{ node: "n1", seen_at: new Date().toISOString(), sources: ["192.0.2.1"], state: { may_ask: true, engine: { ...ENGINE, ...engine }, checkup: null } }],
});

/** A list of one address; it is over at once, or, where the server waits, not for most of a minute. */
const list = async (email) => (await server.api("POST", "/batch-verify", { emails: [email] })).id;
const shown = (page) => page.getByRole("region", { name: "Current and recent lists" }).locator("tbody a").evaluateAll((links) => links.map((link) => link.hash.split("/").pop()));

test("a list that is under way is shown before newer ones that are over, and a new one comes by itself", async () => {
  const slow = await list("somebody+delay-50s@catchall.sandbox.test");
  const quick = [];
  for (let n = 0; n < 6; n += 1) {
    quick.push(await list(`quick${n}@sandbox.test`));
    await server.finished(quick[n]);
  }
  const { page, go } = reader;
  await page.clock.install();
  await go("");
  assert.deepEqual(await shown(page), [slow, ...quick.slice(2).reverse()]);
  const later = await list("another+delay-50s@catchall.sandbox.test");
  await page.clock.runFor(10_000);
  await page.locator(`a[href$="${later}"]`).waitFor();
  assert.deepEqual((await shown(page)).slice(0, 2).sort(), [slow, later].sort());
});

test("the operator is told what is left alone and until when, or that nothing is", async () => {
  const { page, go } = reader;
  const until = new Date(Date.now() + 12 * 60_000 + 30_000).toISOString();
  const told = {
    Paused: ["none", "google: client refusal; probes resume in 12 minutes"],
    "Near the limit": ["none", "yahoo: rate 9 / 10"],
  };
  const held = { held: [{ provider: "google", why: "blocked", until }], tight: [{ provider: "yahoo", budget: "rate", used: 9, limit: 10 }] };
  for (const [turn, engine] of [{}, held].entries()) {
    await page.route("**/app/egress", (route) => route.fulfill({ json: way(engine) }));
    await go("");
    for (const [name, texts] of Object.entries(told)) {
      const said = page.locator("dt", { hasText: name }).locator("+ dd");
      assert.equal(await said.innerText(), texts[turn]);
    }
    await page.unroute("**/app/egress");
  }
});

test("a page on an unencrypted connection says so, unless it stays on this machine", async () => {
  const { page, go } = reader;
  await go("usage");
  const note = page.getByText("connection isn't encrypted", { exact: false });
  assert.equal(await note.count(), 0);
  const far = await reader.context.newPage();
  await far.addInitScript(() => Object.defineProperty(globalThis, "isSecureContext", { value: false }));
  await far.goto(`${server.origin}/#/usage`);
  await far.getByRole("complementary").getByText("connection isn't encrypted", { exact: false }).waitFor();
  await far.close();
});

test("who does not run the installation is told of the way to mail servers whether there is one", async () => {
  const { page, go } = reader;
  const told = { true: "Mail servers are reachable.", false: "Mail servers can't be reached right now.", null: "Mail servers aren't probed" };
  for (const [reachable, text] of Object.entries(told)) {
    await page.route("**/app/egress", (route) => route.fulfill({ json: { reachable: JSON.parse(reachable), data: null } }));
    await go("");
    await page.getByText(text, { exact: false }).waitFor();
    await page.unroute("**/app/egress");
  }
  await settled(page);
});
