/**
 * The screens: the table of contents.
 *
 * Those of {@link alone} are for readers who are not signed in, or who follow a one-time link; those of {@link inside} stand in
 * the frame. Each has a module of its name in `screens/` that exports `Screen`.
 */

/** @type {Record<string, () => Promise<any>>} */
export const alone = {
  "sign-in": () => import("./screens/sign-in.js"),
  link: () => import("./screens/link.js"),
};

/** @type {Record<string, () => Promise<any>>} */
export const inside = {
  overview: () => import("./screens/overview.js"),
  verify: () => import("./screens/verify.js"),
  lists: () => import("./screens/lists.js"),
  timeline: () => import("./screens/timeline.js"),
  usage: () => import("./screens/usage.js"),
  keys: () => import("./screens/keys.js"),
  team: () => import("./screens/team.js"),
  webhooks: () => import("./screens/webhooks.js"),
  settings: () => import("./screens/settings.js"),
  account: () => import("./screens/account.js"),
  docs: () => import("./screens/docs.js"),
  missing: () => import("./screens/missing.js"),
};

/** The sections of the bar, with their screens. */
export const sections = [
  { name: "work", screens: ["overview", "verify", "lists"] },
  { name: "look", screens: ["timeline", "usage"] },
  { name: "connect", screens: ["keys", "webhooks", "docs"] },
  { name: "organization", screens: ["team", "settings"] },
];

/**
 * Which screen a place is.
 * @param {string[]} parts
 * @param {boolean} signedIn
 */
export function find(parts, signedIn) {
  const [first = "overview", ...rest] = parts;
  if (first === "link") return { alone: true, module: "link", parts: rest, key: "link" };
  if (!signedIn) return { alone: true, module: "sign-in", parts, key: "sign-in" };
  const module = first === "sign-in" ? "overview" : Object.hasOwn(inside, first) ? first : "missing";
  return { alone: false, module, parts: rest, key: [module, ...rest].join("/") };
}
