/**
 * Common setup of test files: a server, a browser, and the signed-in owner.
 *
 * All three exist from before the first test of a file that calls `asOwner` until after its last. A failed test leaves no browser
 * state (mode, dialogs, routes, language): the next one starts as the first did.
 */
import { after, afterEach, before, beforeEach } from "node:test";
import { becomeOwner, becomeOwnerAgain, launch, newReader, readers } from "./reader.mjs";
import { startPlatform } from "./platform.mjs";
import { start } from "./server.mjs";

/** @type {import("./server.mjs").Server} */
export let server;
/** @type {import("playwright-core").Browser} */
export let browser;
/** Signed-in owner. @type {Awaited<ReturnType<typeof newReader>>} */
export let reader;

/** Email platform, if the file uses one. @type {import("./platform.mjs").Platform} */
export let platform;

/** Readers from before the first test, with their storage. @type {Map<typeof reader, any>} */
const first = new Map();

/** Reopens their windows in the initial state, and closes those of a failed test. */
async function beginAgain() {
  const theirs = [...first.keys()].map(({ context }) => context);
  await Promise.all(browser.contexts().filter((context) => !theirs.includes(context)).map((context) => context.close()));
  for (const [each, state] of first) await each.again(state);
  const session = await reader.context.request.get(`${server.origin}/app/session`);
  if (!session.ok()) await becomeOwnerAgain(reader, server);
}

/**
 * @param {() => Promise<void>} [prepare] further setup after the owner's sign-in
 * @param {{ platform?: string[], networks?: string, env?: Record<string, string> }} [options] `platform`: simulated platform, with
 *   its arguments; the others are server options
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
