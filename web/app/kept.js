/**
 * What this tab keeps of its reader until they sign out. No server sees it, and it is gone with the tab.
 */
import { forgetKeyOfOthers } from "../docs/testkey.js";

const NAME = "probity.kept";

/** @returns {{ user?: string, of?: Record<string, any> }} */
function read() {
  try {
    return JSON.parse(sessionStorage.getItem(NAME) ?? "{}") ?? {};
  } catch {
    return {};
  }
}

/** @param {string | undefined} user @param {string} name */
export const kept = (user, name) => (user !== undefined && read().user === user ? read().of?.[name] : undefined);

/** Keeps something, as far as the browser has room. @param {string | undefined} user @param {string} name @param {unknown} value */
export function keep(user, name, value) {
  if (user === undefined) return;
  const before = read();
  try {
    sessionStorage.setItem(NAME, JSON.stringify({ user, of: { ...(before.user === user ? before.of : {}), [name]: value } }));
  } catch {
    // What does not fit is not kept.
  }
}

/** @type {(() => void)[]} */
const forgetting = [];

/** What forgets, when a reader goes, what a module holds of them: modules outlive sessions. @param {() => void} forget */
export function whenGone(forget) {
  forgetting.push(forget);
}

/** The reader signs out, or another takes their place. */
export function gone() {
  for (const forget of forgetting) forget();
}

/** Forgets all, unless it is this reader's. @param {string | undefined} user */
export function forgetOthers(user) {
  if (user === undefined || read().user !== user) sessionStorage.removeItem(NAME);
  forgetKeyOfOthers(user);
}
