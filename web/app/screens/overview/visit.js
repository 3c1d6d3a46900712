/**
 * When somebody was here before: the end of their last visit, which the browser remembers for each person. A visit is over once
 * its pages have been out of sight for half an hour, be they open or not.
 *
 * What is noted is when a page was seen last. It is compared before it is noted again, for that forgets it.
 */
import { signal } from "../../../vendor/lib.js";
import { session } from "../../session.js";

const APART_MS = 30 * 60_000;
/** How often it is noted while the page is seen: a computer may fall asleep and tell nobody. */
const NOTE_MS = 5 * 60_000;

/** When the visit before this one ended. */
const since = signal(/** @type {number | undefined} */ (undefined));

const kept = () => ["probity", "seen", session.value?.user.id].join(".");

/** @returns {number | undefined} the time at which the last visit ended; nothing on the first one */
export function lastVisit() {
  if (document.hidden) compare();
  else seen();
  return since.value;
}

/** Another page of this browser may have noted more than this one. */
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

// Who hides a page has seen it until then.
document.addEventListener("visibilitychange", seen);
// A page that was hidden before it goes was not.
addEventListener("pagehide", seenIfShown);
setInterval(seenIfShown, NOTE_MS);
