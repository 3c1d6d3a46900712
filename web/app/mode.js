/**
 * Live or test mode.
 *
 * In test mode, the sandbox verifies and no credits are spent; lists, webhooks, connections and erasures are those of test keys.
 * Every request carries its mode, so two pages of one browser do not interfere. The browser remembers the last mode per user.
 */
import { signal } from "../vendor/lib.js";
import { go, where } from "./route.js";

/** True in test mode. */
export const testing = signal(false);

/** Calls whose data depends on the mode. The team, settings and reports belong to the organization. */
const SORTED = /^(\/app)?\/(account\/timeline|batch-verify|changes|connections|erasures|integrations|jobs|lists|lookup|requests|uploads|verify|webhooks)(\/|$)/;

/** Mode parameter of a call. @param {string} path */
export const modeOf = (path) => (testing.value && SORTED.test(path) ? "test" : undefined);

/** @param {string} user */
const kept = (user) => "probity.mode." + user;

/** Restores the user's last mode. @param {string | undefined} user */
export function recall(user) {
  testing.value = user !== undefined && localStorage.getItem(kept(user)) === "test";
}

/** @param {string} user @param {boolean} test */
export function choose(user, test) {
  localStorage.setItem(kept(user), test ? "test" : "live");
  testing.value = test;
}

/** Resource ID; resources with an ID belong to one mode. */
const ID = /^[a-z]+_[0-9a-z]{26}$/;

/**
 * Switches the mode and keeps the screen. A page about a resource of the other mode is left for the page above it.
 * @param {string} user @param {boolean} test
 */
export function turn(user, test) {
  if (test === testing.value) return;
  const { parts, query } = where.value;
  choose(user, test);
  const of = parts.findIndex((part) => ID.test(part));
  // A platform without a connection has no page of its own.
  const above = of === -1 ? parts : parts.slice(0, parts[0] === "connections" ? 1 : of);
  if (of !== -1 || [...query.values()].some((value) => ID.test(value))) go(above);
}
