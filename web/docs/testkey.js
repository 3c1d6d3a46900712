/**
 * Last test key created or pasted by the user, for the samples of the API reference: the server stores only its hash.
 *
 * A member's key is kept until they sign out or another member signs in. A key pasted without signing in stays in its tab until
 * someone signs in. The sandbox verifies for test keys, but settings, suppression lists and the callback secret are the live
 * ones.
 */
const NAME = "probity.testkey";

/** @param {Storage} place @returns {{ user?: string, secret?: string }} */
function read(place) {
  try {
    return JSON.parse(place.getItem(NAME) ?? "{}") ?? {};
  } catch {
    return {};
  }
}

/** @param {string | undefined} user `undefined` if not signed in: the key of this tab */
export function keptKey(user) {
  if (user === undefined) return read(sessionStorage).secret;
  const { user: of, secret } = read(localStorage);
  return of === user ? secret : undefined;
}

/** @param {string | undefined} user @param {string} secret */
export function keepKey(user, secret) {
  (user === undefined ? sessionStorage : localStorage).setItem(NAME, JSON.stringify({ user, secret }));
}

export function forgetKey() {
  sessionStorage.removeItem(NAME);
  localStorage.removeItem(NAME);
}

/** Deletes keys of other users. @param {string | undefined} user `undefined` if not signed in: the key of this tab stays */
export function forgetKeyOfOthers(user) {
  if (read(localStorage).user !== user) localStorage.removeItem(NAME);
  if (user !== undefined) sessionStorage.removeItem(NAME);
}
