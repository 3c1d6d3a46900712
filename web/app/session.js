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
 * @property {boolean} secure whether what the page says travels encrypted
 */

/** `undefined` until the server has said, `null` where nobody is signed in. */
export const session = signal(/** @type {Session | null | undefined} */ (undefined));

/** Whether the person may change what belongs to all: people, keys, settings. */
export const administrates = computed(() => session.value?.user.role === "administrator");

/** @param {Session | null} known */
export function become(known) {
  authorize(known?.csrf ?? "", () => {
    session.value = null;
  });
  session.value = known;
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
