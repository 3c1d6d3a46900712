/** Test server per file: the real program, the sandbox's mail internet, a new data directory. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
export const PROGRAM = process.env.PROBITY_BIN ?? join(ROOT, "target/debug/probity");
const START_MS = 120_000;
const LOOK_MS = 200;

/**
 * @typedef {object} Server
 * @property {string} origin
 * @property {string} link the owner's one-time link
 * @property {string} key a live key
 * @property {string} testKey
 * @property {() => Promise<void>} stop idempotent
 * @property {() => Promise<void>} halt stops the program and keeps its data, for `resume`
 * @property {() => Promise<void>} resume starts it again at the same address
 * @property {(method: string, path: string, body?: unknown) => Promise<any>} api API call with the live key
 * @property {(job: string) => Promise<void>} finished waits for a job
 * @property {(...args: string[]) => Promise<any>} admin runs an operator command on the same data; resolves to its JSON output
 */

/**
 * @param {{ port?: number, allow?: string, networks?: string, sandbox?: boolean, env?: Record<string, string> }} [options]
 *   `port`: listening port, if it must be known in advance; `allow`: platform host that connections may reach;
 *   `networks`: special network that may be dialed; `sandbox`: the sandbox serves live keys too; `env`: more configuration
 * @returns {Promise<Server>}
 */
export async function start({ port = 0, allow = "", networks = "", sandbox = true, env: more = {} } = {}) {
  const data = mkdtempSync(join(tmpdir(), "probity-dashboard-"));
  const args = ["serve", ...(sandbox ? ["--sandbox"] : []), "--data", data];
  const given = { PROBITY_INTEGRATIONS__ALLOW: allow, PROBITY_ALLOW__NETWORKS: networks, ...more };
  const env = { ...process.env, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value)) };
  const run = (...more) => spawn(PROGRAM, [...args, ...more], { stdio: ["ignore", "pipe", "inherit"], env });
  let child = run("--listen", `127.0.0.1:${port}`);
  const said = await output(child, /^Listening on .*\n/m);
  const find = (what) => {
    const found = what.exec(said)?.[1];
    if (!found) throw new Error(`the server did not say ${what}:\n${said}`);
    return found;
  };
  const origin = find(/^Listening on (http:\/\/\S+)/m);
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  async function halt() {
    if (isOver()) return;
    child.kill("SIGTERM");
    await once(child, "exit");
  }
  const key = find(/^Live key:\s+(\S+)/m);
  return {
    origin,
    key,
    // The public URL may differ from the listen address.
    link: `${origin}/${new URL(find(/^\s*(\S+\/#\/link\/\S+)/m)).hash}`,
    testKey: find(/^Test key:\s+(\S+)/m),
    api: (method, path, body) => api(origin, key, method, path, body),
    async finished(job) {
      while ((await api(origin, key, "GET", `/jobs/${job}`)).status !== "completed") await pause(LOOK_MS);
    },
    async admin(...args) {
      const { stdout } = await promisify(execFile)(PROGRAM, [...args, "--json", "--data", data]);
      return JSON.parse(stdout);
    },
    halt,
    async resume() {
      if (!isOver()) return;
      child = run("--listen", new URL(origin).host);
      await output(child, /^Listening on .*\n/m);
    },
    async stop() {
      await halt();
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** Collects output until a program is ready. @param {import("node:child_process").ChildProcess} child @param {RegExp} ready */
export async function output(child, ready) {
  const stdout = /** @type {import("node:stream").Readable} */ (child.stdout);
  let said = "";
  const timeout = setTimeout(() => child.kill("SIGKILL"), START_MS);
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) {
    said += chunk;
    if (ready.test(said)) break;
  }
  clearTimeout(timeout);
  stdout.resume();
  return said;
}

export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  server.close();
  await once(server, "close");
  return port;
}

async function api(origin, key, method, path, body = undefined) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const response = await fetch(`${origin}/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}
