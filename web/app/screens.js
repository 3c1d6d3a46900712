/**
 * Screen table.
 *
 * Screens in {@link alone} are for users who are not signed in, follow a link or print a report; those in {@link inside} are
 * shown in the frame. Each has a module in `screens/` that exports `Screen`. Keys and texts use the names that users see; modules
 * use the API's resource names.
 */
import { administrates } from "./session.js";

/** @type {Record<string, () => Promise<any>>} */
export const alone = {
  "sign-in": () => import("./screens/sign-in.js"),
  link: () => import("./screens/link.js"),
  shared: () => import("./screens/shared.js"),
  report: () => import("./screens/report.js"),
};

/** @type {Record<string, () => Promise<any>>} */
export const inside = {
  overview: () => import("./screens/overview.js"),
  verify: () => import("./screens/verify.js"),
  lists: () => import("./screens/jobs.js"),
  connections: () => import("./screens/connections.js"),
  timeline: () => import("./screens/timeline.js"),
  usage: () => import("./screens/reports.js"),
  keys: () => import("./screens/keys.js"),
  team: () => import("./screens/users.js"),
  widget: () => import("./screens/widget.js"),
  webhooks: () => import("./screens/webhooks.js"),
  requests: () => import("./screens/requests.js"),
  settings: () => import("./screens/settings.js"),
  privacy: () => import("./screens/erasures.js"),
  account: () => import("./screens/account.js"),
  missing: () => import("./screens/missing.js"),
};

/**
 * Preloads the screen of a location for a signed-in user. Load errors appear when the screen is shown.
 * @param {string[]} parts
 */
export function warm(parts) {
  const screen = find(parts, true);
  (screen.alone ? alone : inside)[screen.module]().catch(() => {});
}

/** Navigation sections with their screens. */
const SECTIONS = [
  { name: "work", screens: ["overview", "verify", "lists", "connections"] },
  { name: "look", screens: ["timeline", "usage"] },
  { name: "connect", screens: ["keys", "webhooks", "widget", "requests", "docs"] },
  { name: "organization", screens: ["team", "settings", "privacy"] },
];

/** Address of a screen. The documentation is a page of its own. @param {string} screen */
export const address = (screen) => (screen === "docs" ? "/docs" : screen === "overview" ? "#/" : `#/${screen}`);

/** Screens for administrators. Others reach them by link and see what their role may read. */
const OF_ADMINISTRATORS = new Set(["connections", "keys", "webhooks", "widget", "team", "settings", "privacy"]);

/** Sections visible to the user's role. */
export function visibleSections() {
  if (administrates.value) return SECTIONS;
  const some = SECTIONS.map(({ name, screens }) => ({ name, screens: screens.filter((screen) => !OF_ADMINISTRATORS.has(screen)) }));
  return some.filter(({ screens }) => screens.length > 0);
}

/**
 * Finds the screen of a location.
 * @param {string[]} parts
 * @param {boolean} signedIn
 */
export function find(parts, signedIn) {
  const [first = "overview", ...rest] = parts;
  if (first === "link" || first === "shared" || (first === "report" && signedIn)) return { alone: true, module: first, parts: rest, key: first };
  if (!signedIn) return { alone: true, module: "sign-in", parts, key: "sign-in" };
  const module = first === "sign-in" ? "overview" : Object.hasOwn(inside, first) ? first : "missing";
  return { alone: false, module, parts: rest, key: [module, ...rest].join("/") };
}
