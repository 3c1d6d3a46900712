/**
 * Who is signed in, and what they may do.
 */
import { computed, signal } from "../vendor/lib.js";
import { Refused, ask, authorize } from "./api.js";
import { forgetOthers, gone } from "./kept.js";
import { recall } from "./mode.js";
import { adopt, choose, wanted } from "./text.js";

/**
 * @typedef {object} Session
 * @property {{ id: string, email: string | null, name: string | null, language: string | null, role: "administrator" | "contributor", is_primary: boolean }} user
 * @property {{ id: string, name: string | null }} organization
 * @property {string} csrf
 * @property {boolean} two_factor
 * @property {number | null} recovery_codes_left none where no second factor is asked for
 * @property {boolean} sends_mail whether a relay for mail is configured
 * @property {boolean} secure whether what the page says travels encrypted
 */

/** `undefined` until the server has said, `null` where nobody is signed in. */
export const session = signal(/** @type {Session | null | undefined} */ (undefined));

/** Whether the person may change what belongs to all: people, keys, settings. */
export const administrates = computed(() => session.value?.user.role === "administrator");

/** @param {Session | null} known */
export function become(known) {
  const over = () => {
    forgetOthers(undefined);
    gone();
    session.value = null;
  };
  forgetOthers(known?.user.id);
  authorize(known?.csrf ?? "", over, replace);
  if (known?.user.id !== session.value?.user.id) {
    gone();
    recall(known?.user.id);
  }
  session.value = known;
  if (!known) return;
  adopt(known.user.language);
  const tag = wanted();
  // Pages speak it all the same where that fails. Where the browser wants none that there is, nothing is known of the reader's.
  if (known.user.language === null && tag) tell(tag).catch(() => {});
}

/** What is being told, and in which language: calls that are under way at a time may arrive in any order. */
let telling = Promise.resolve();
let latest = "";

/** Has mail to the person written in a language, unless another is told after it. @param {string} tag */
function tell(tag) {
  latest = tag;
  const told = telling.then(async () => {
    const id = session.value?.user.id;
    if (latest !== tag || id === undefined) return;
    await ask("PATCH", "/app/account", { body: { language: tag } });
    if (session.value?.user.id !== id) return;
    session.value = { ...session.value, user: { ...session.value.user, language: tag } };
    adopt(tag);
  });
  telling = told.catch(() => {});
  return told;
}

/** Speaks another language from now on, on pages and in mail. Throws where mail cannot follow. @param {string} tag */
export async function converse(tag) {
  await choose(tag);
  // Of two choices, the texts of the first may come last.
  if (wanted() === tag) await tell(tag);
}

/**
 * What another page of this browser made of the session. For somebody else the page starts over, since all that stands in it is
 * of the other: what was being done waits for that and is not done.
 */
function replace(known) {
  if (known.user.id === session.value?.user.id) return become(known);
  location.reload();
  return new Promise(() => {});
}

/** Tells the other pages of this browser that somebody has signed in. */
const others = new BroadcastChannel("probity.session");

/** Somebody signs in on this page. @param {Session} known */
export function enter(known) {
  become(known);
  others.postMessage("entered");
}

// Whether a page had learned by then that its own session was over must make no difference to what it shows.
others.addEventListener("message", async () => {
  try {
    const known = await ask("GET", "/app/session");
    if (session.value) replace(known);
    else become(known);
  } catch {
    // What the page asks next tells.
  }
});

/** Asks the server who is signed in. Throws where it cannot say: that nobody can be asked does not mean that nobody is. */
export async function learn() {
  try {
    become(await ask("GET", "/app/session"));
  } catch (error) {
    if (!(error instanceof Refused && error.status === 401)) throw error;
    become(null);
  }
}

/** @param {string} name */
export async function nameOrganization(name) {
  const named = await ask("PATCH", "/app/organization", { body: { name } });
  if (session.value) session.value = { ...session.value, organization: { ...session.value.organization, name: named.name } };
}

export async function signOut() {
  await ask("POST", "/app/sign-out");
  become(null);
}
