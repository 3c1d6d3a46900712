/** What the browser remembers of somebody's first steps: single verdicts of test mode are stored nowhere, nor is that the list is hidden. */
import { session } from "../../session.js";

/** @param {"verified" | "hidden"} what */
const kept = (what) => ["probity", what, session.value?.user.id].join(".");

export const noteVerified = () => localStorage.setItem(kept("verified"), "1");
export const hasVerified = () => localStorage.getItem(kept("verified")) === "1";
export const hide = () => localStorage.setItem(kept("hidden"), "1");
export const isHidden = () => localStorage.getItem(kept("hidden")) === "1";
