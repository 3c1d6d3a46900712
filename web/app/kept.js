/** Per-user data in the tab's session storage, deleted at sign-out. Never sent to a server. */
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

/** Stores a value if the storage quota allows. @param {string | undefined} user @param {string} name @param {unknown} value */
export function keep(user, name, value) {
  if (user === undefined) return;
  const before = read();
  try {
    sessionStorage.setItem(NAME, JSON.stringify({ user, of: { ...(before.user === user ? before.of : {}), [name]: value } }));
  } catch {
    // Values over the quota are dropped.
  }
}

/** @type {(() => void)[]} */
const forgetting = [];

/** Registers a callback that clears a module's user data, because modules outlive sessions. @param {() => void} forget */
export function whenGone(forget) {
  forgetting.push(forget);
}

/** Clears all user data at sign-out or when another user signs in. */
export function gone() {
  for (const forget of forgetting) forget();
}

/** Clears all data unless it belongs to this user. @param {string | undefined} user */
export function forgetOthers(user) {
  if (user === undefined || read().user !== user) sessionStorage.removeItem(NAME);
  forgetKeyOfOthers(user);
}
