/** What the first screen tells of what is going on: lists that are under way, and the way to mail servers. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { asOwner, reader, server } from "./owner.mjs";
import { settled } from "./reader.mjs";

asOwner();
afterEach(() => reader.nothingWrong());

/** A list of one address; it is over at once, or, where the server greylists, not for a minute. */
const list = async (email) => (await server.api("POST", "/batch-verify", { emails: [email] })).id;
const shown = (page) => page.getByRole("region", { name: "Lists under way, and the newest" }).locator("tbody a").evaluateAll((links) => links.map((link) => link.hash.split("/").pop()));

test("a list that is under way is shown before newer ones that are over, and a new one comes by itself", async () => {
  const slow = await list("somebody@greylist.sandbox.test");
  const quick = [];
  for (let n = 0; n < 6; n += 1) {
    quick.push(await list(`quick${n}@sandbox.test`));
    await server.finished(quick[n]);
  }
  const { page, go } = reader;
  await page.clock.install();
  await go("");
  assert.deepEqual(await shown(page), [slow, ...quick.slice(2).reverse()]);
  const later = await list("another@greylist.sandbox.test");
  await page.clock.runFor(10_000);
  await page.locator(`a[href$="${later}"]`).waitFor();
  assert.deepEqual((await shown(page)).slice(0, 2).sort(), [slow, later].sort());
});

test("who does not run the installation is told of the way to mail servers whether there is one", async () => {
  const { page, go } = reader;
  const told = { true: "Mail servers answer.", false: "Mail servers cannot be reached at present.", null: "No mail servers are asked" };
  for (const [reachable, text] of Object.entries(told)) {
    await page.route("**/app/egress", (route) => route.fulfill({ json: { reachable: JSON.parse(reachable), data: null } }));
    await go("");
    await page.getByText(text, { exact: false }).waitFor();
    await page.unroute("**/app/egress");
  }
  await settled(page);
});
