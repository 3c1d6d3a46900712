/** Permission presets of keys: common sets of scopes, all scopes, or a custom set. */
import { t } from "../../text.js";

export const SCOPES = [
  "verify", "read:jobs", "write:jobs", "read:account", "write:account", "read:team", "write:team", "read:reports",
  "read:integrations", "write:integrations", "read:webhooks", "write:webhooks", "write:erasures", "write:keys",
];

/** @type {Record<string, string[]>} */
const SETS = {
  verify: ["verify"],
  lists: ["verify", "read:jobs", "write:jobs"],
  read: SCOPES.filter((scope) => scope.startsWith("read:")),
};

export const LIVE_PRESETS = [...Object.keys(SETS), "all", "widget", "own"];
export const TEST_PRESETS = ["test"];

/** Kind and scopes of a preset. @param {string} preset @param {string[]} own */
export function asked(preset, own) {
  if (preset === "all") return { kind: "live" };
  if (preset === "test") return { kind: "test" };
  if (preset === "widget") return { kind: "pub" };
  return { kind: "rk", scopes: SETS[preset] ?? own };
}

/** Preset that matches a key. @param {{ kind: string, scopes: string[] }} key */
export function presetOf({ kind, scopes }) {
  if (kind !== "rk") return { live: "all", test: "test", pub: "widget" }[kind] ?? "own";
  return Object.entries(SETS).find(([, set]) => set.length === scopes.length && set.every((scope) => scopes.includes(scope)))?.[0] ?? "own";
}

/** Meaning of a key's prefix. @param {{ kind: string, prefix: string }} key */
export const kindOf = ({ kind, prefix }) => t(`keys.kind.${kind}`, { prefix: `${prefix.split("_").slice(0, 2).join("_")}_` });
