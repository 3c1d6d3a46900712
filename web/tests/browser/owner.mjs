/**
 * What most files of tests begin with: a server and a browser of their own, and the installation's owner, signed in.
 *
 * All three stand here from before the first test of a file on that calls `asOwner`, and are gone after its last. A test that fails
 * leaves nothing behind in a browser (mode, dialogs, routes, another language): the next one begins as the first did.
 */
import { after, afterEach, before, beforeEach } from "node:test";
import { becomeOwner, becomeOwnerAgain, launch, newReader, readers } from "./reader.mjs";
import { startPlatform } from "./platform.mjs";
import { start } from "./server.mjs";

/** @type {import("./server.mjs").Server} */
export let server;
/** @type {import("playwright-core").Browser} */
export let browser;
/** The owner. @type {Awaited<ReturnType<typeof newReader>>} */
export let reader;

/** A platform, where a file has one. @type {import("./platform.mjs").Platform} */
export let platform;

/** Who was there before the first test, and what their browsers knew. @type {Map<typeof reader, any>} */
const first = new Map();

/** A new window for each of them, as it was, and none for those who came in a test that failed. */
async function beginAgain() {
  const theirs = [...first.keys()].map(({ context }) => context);
  await Promise.all(browser.contexts().filter((context) => !theirs.includes(context)).map((context) => context.close()));
  for (const [each, state] of first) await each.again(state);
  const session = await reader.context.request.get(`${server.origin}/app/session`);
  if (!session.ok()) await becomeOwnerAgain(reader, server);
}

/**
 * @param {() => Promise<void>} [prepare] what a file makes besides, once the owner is in
 * @param {{ platform?: string[], networks?: string, env?: Record<string, string> }} [options] `platform`: which one is played, with
 *   its arguments; the others as the server takes them
 */
export function asOwner(prepare = async () => {}, { platform: played, networks, env } = {}) {
  let wasWhole = true;
  before(async () => {
    if (played) platform = await startPlatform(...played);
    server = await start({ allow: platform?.host, networks, env });
    browser = await launch();
    reader = await newReader(browser, server);
    await becomeOwner(reader, server);
    await prepare();
    for (const each of readers) first.set(each, await each.context.storageState());
  });
  beforeEach(async () => {
    if (!wasWhole) await beginAgain();
    wasWhole = false;
  });
  afterEach((test) => { wasWhole = /** @type {any} */ (test).passed !== false; });
  after(async () => {
    await browser?.close();
    await server?.stop();
    await platform?.stop();
  });
}
