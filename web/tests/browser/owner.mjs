/**
 * What most files of tests begin with: a server and a browser of their own, and the installation's owner, signed in.
 *
 * All three stand here from before the first test of a file on that calls `asOwner`, and are gone after its last.
 */
import { after, before } from "node:test";
import { becomeOwner, launch, newReader } from "./reader.mjs";
import { start } from "./server.mjs";

/** @type {import("./server.mjs").Server} */
export let server;
/** @type {import("playwright-core").Browser} */
export let browser;
/** The owner. @type {Awaited<ReturnType<typeof newReader>>} */
export let reader;

/** @param {() => Promise<void>} [prepare] what a file makes besides, once the owner is in */
export function asOwner(prepare = async () => {}) {
  before(async () => {
    server = await start();
    browser = await launch();
    reader = await newReader(browser, server);
    await becomeOwner(reader, server);
    await prepare();
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });
}
