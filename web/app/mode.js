/**
 * Live or test: whose data the pages show, and who answers.
 *
 * In test mode the sandbox answers, nothing is spent, and lists, webhooks, connections and erasures are those of test keys. Each
 * request says its mode, so that two pages of one browser do not get into each other's way; the browser remembers the last
 * choice for each person.
 */
import { signal } from "../vendor/lib.js";
import { go, where } from "./route.js";

/** Whether the pages are in test mode. */
export const testing = signal(false);

/** Calls whose data is of one mode. The team, settings and reports are those of the organization. */
const SORTED = /^(\/app)?\/(account\/timeline|batch-verify|changes|connections|erasures|integrations|jobs|lists|lookup|requests|uploads|verify|webhooks)(\/|$)/;

/** What a call says of its mode. @param {string} path */
export const modeOf = (path) => (testing.value && SORTED.test(path) ? "test" : undefined);

/** @param {string} user */
const kept = (user) => "probity.mode." + user;

/** Takes up what a person chose last. @param {string | undefined} user */
export function recall(user) {
  testing.value = user !== undefined && localStorage.getItem(kept(user)) === "test";
}

/** @param {string} user @param {boolean} test */
export function choose(user, test) {
  localStorage.setItem(kept(user), test ? "test" : "live");
  testing.value = test;
}

/** What has an identifier is of one mode. */
const ID = /^[a-z]+_[0-9a-z]{26}$/;

/**
 * Changes the mode. The page stays and shows the other data; from a page about something that the other mode does not have, the
 * reader comes to the page above it.
 * @param {string} user @param {boolean} test
 */
export function turn(user, test) {
  if (test === testing.value) return;
  const { parts, query } = where.value;
  choose(user, test);
  const of = parts.findIndex((part) => ID.test(part));
  // A platform alone is no page.
  const above = of === -1 ? parts : parts.slice(0, parts[0] === "connections" ? 1 : of);
  if (of !== -1 || [...query.values()].some((value) => ID.test(value))) go(above);
}
