/** Simulated email platform: `probity-espworld` with contacts that the sandbox knows. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { PROGRAM, output } from "./server.mjs";

const WORLD = process.env.PROBITY_ESPWORLD_BIN ?? join(dirname(PROGRAM), "probity-espworld");

/**
 * @typedef {object} Platform
 * @property {string} host for the operator's allowlist
 * @property {Record<string, string>} credentials accepted credentials, by name
 * @property {() => Promise<string>} stop resolves to the changes to its contacts
 */

/** @param {string} slug @param {...string} args @returns {Promise<Platform>} */
export async function startPlatform(slug, ...args) {
  const child = spawn(WORLD, [slug, "--sandbox", "--unlimited", "--port", "0", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  // The credentials come last; Ghost's last one is its URL.
  const said = await output(child, /^\[integrations\].*\n(\w+ = .*\n){2}/m);
  let effects = "";
  child.stdout.on("data", (chunk) => { effects += chunk; });
  const lines = said.split("\n").map((line) => /^(\w+) = (.*)$/.exec(line)).filter((line) => line !== null);
  return {
    host: /allow = \["([^"]+)"\]/.exec(said)?.[1] ?? "",
    credentials: Object.fromEntries(lines.map(([, name, value]) => [name, value])),
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGINT");
        await once(child, "close");
      }
      return effects;
    },
  };
}
