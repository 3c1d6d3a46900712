/**
 * End of the user's last visit, stored by the browser per user. A visit ends when its pages have been hidden for 30 minutes, even
 * if they stay open.
 *
 * The stored value is the time a page was last visible. It is compared before it is overwritten.
 */
import { signal } from "../../../vendor/lib.js";
import { session } from "../../session.js";

const APART_MS = 30 * 60_000;
/** Interval at which a visible page stores the time: a computer may go to sleep without an event. */
const NOTE_MS = 5 * 60_000;

/** End of the previous visit. */
const since = signal(/** @type {number | undefined} */ (undefined));

const kept = () => ["probity", "seen", session.value?.user.id].join(".");

/** @returns {number | undefined} end of the last visit; `undefined` on the first */
export function lastVisit() {
  if (document.hidden) compare();
  else seen();
  return since.value;
}

/** Another page of this browser may have stored a later time. */
function compare() {
  const last = JSON.parse(localStorage.getItem(kept()) ?? "{}");
  const isNew = Number.isFinite(last.until) && Date.now() - last.until > APART_MS;
  since.value = isNew ? last.until : last.since;
}

function seen() {
  if (!session.value) return;
  compare();
  localStorage.setItem(kept(), JSON.stringify({ since: since.value, until: Date.now() }));
}

const seenIfShown = () => document.hidden || seen();

// A page that becomes hidden was visible until now.
document.addEventListener("visibilitychange", seen);
// A page that was already hidden does not count when it unloads.
addEventListener("pagehide", seenIfShown);
setInterval(seenIfShown, NOTE_MS);
