/**
 * The test key that a reader made or pasted last, for the examples of the API reference: the server stores only its hash.
 *
 * The browser keeps the key of a member until they sign out or another one signs in; a key that somebody pasted without signing in
 * stays in its tab, until somebody signs in. The sandbox answers what a test key verifies, but settings, suppression lists and the
 * callback secret that it reads and changes are the real ones.
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

/** @param {string | undefined} user nobody who signed in: the key of this tab */
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

/** Forgets the keys of others than this reader. @param {string | undefined} user nobody who signed in: the key of this tab stays */
export function forgetKeyOfOthers(user) {
  if (read(localStorage).user !== user) localStorage.removeItem(NAME);
  if (user !== undefined) sessionStorage.removeItem(NAME);
}
