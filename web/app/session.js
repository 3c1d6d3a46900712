/** Current session and its permissions. */
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
 * @property {number | null} recovery_codes_left null without two-factor authentication
 * @property {boolean} sends_mail whether a relay for mail is configured
 * @property {boolean} secure whether the connection is encrypted
 */

/** `undefined` until loaded, `null` if nobody is signed in. */
export const session = signal(/** @type {Session | null | undefined} */ (undefined));

/** True if the last session on this page ended otherwise than by signing out here. */
export const ended = signal(false);

/** True if the user may change organization data: team, keys, settings. */
export const administrates = computed(() => session.value?.user.role === "administrator");

/** @param {Session | null} known */
export function become(known) {
  const over = () => {
    forgetOthers(undefined);
    gone();
    session.value = null;
    ended.value = true;
  };
  forgetOthers(known?.user.id);
  authorize(known?.csrf ?? "", over, replace);
  if (known?.user.id !== session.value?.user.id) {
    gone();
    recall(known?.user.id);
  }
  session.value = known;
  ended.value = false;
  if (!known) return;
  adopt(known.user.language);
  const tag = wanted();
  // A failure only affects emails. `tag` is empty if no browser language is supported.
  if (known.user.language === null && tag) tell(tag).catch(() => {});
}

/** Chain of language updates, because parallel requests may arrive in any order. */
let telling = Promise.resolve();
let latest = "";

/** Sets the language of emails, unless a later call sets another one. @param {string} tag */
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

/** Sets the language of pages and emails. Throws if the email language cannot be set. @param {string} tag */
export async function converse(tag) {
  await choose(tag);
  // Of two choices, the texts of the first may load last.
  if (wanted() === tag) await tell(tag);
}

/**
 * Applies a session changed by another page of this browser. A different user reloads the page, because all of its content
 * belongs to the previous one; pending actions wait for the reload and are dropped.
 */
function replace(known) {
  if (known.user.id === session.value?.user.id) return become(known);
  location.reload();
  return new Promise(() => {});
}

/** Notifies other pages of this browser of a sign-in. */
const others = new BroadcastChannel("probity.session");

/** Starts a session on this page. @param {Session} known */
export function enter(known) {
  become(known);
  others.postMessage("entered");
}

// The result must not depend on whether the page already knew that its session was over.
others.addEventListener("message", async () => {
  try {
    const known = await ask("GET", "/app/session");
    if (session.value) replace(known);
    else become(known);
  } catch {
    // The next request reports the failure.
  }
});

/** Loads the session. Throws on failure: an unreachable server does not mean that nobody is signed in. */
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
