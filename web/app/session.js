/**
 * Who is signed in, and what they may do.
 */
import { computed, signal } from "../vendor/lib.js";
import { Refused, ask, authorize } from "./api.js";

/**
 * @typedef {object} Session
 * @property {{ id: string, email: string | null, name: string | null, role: "administrator" | "contributor", is_primary: boolean }} user
 * @property {{ id: string, name: string | null }} organization
 * @property {string} csrf
 * @property {boolean} two_factor
 * @property {number | null} recovery_codes_left none where no second factor is asked for
 * @property {boolean} secure whether what the page says travels encrypted
 */

/** `undefined` until the server has said, `null` where nobody is signed in. */
export const session = signal(/** @type {Session | null | undefined} */ (undefined));

/** Whether the person may change what belongs to all: people, keys, settings. */
export const administrates = computed(() => session.value?.user.role === "administrator");

/** @param {Session | null} known */
export function become(known) {
  const over = () => {
    session.value = null;
  };
  authorize(known?.csrf ?? "", over, replace);
  session.value = known;
}

/**
 * What another page of this browser made of the session. For somebody else the page begins anew, since all that stands in it is
 * of the other: what was being done waits for that and is not done.
 */
function replace(known) {
  if (known.user.id === session.value?.user.id) return become(known);
  location.reload();
  return new Promise(() => {});
}

/** Asks the server who is signed in. Throws where it cannot say: that nobody can be asked does not mean that nobody is. */
export async function learn() {
  try {
    become(await ask("GET", "/app/session"));
  } catch (error) {
    if (!(error instanceof Refused && error.status === 401)) throw error;
    become(null);
  }
}

export async function signOut() {
  await ask("POST", "/app/sign-out");
  become(null);
}
