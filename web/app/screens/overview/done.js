/** First-step state in browser storage: the server stores neither single test verdicts nor that the checklist is hidden. */
import { session } from "../../session.js";

/** @param {"verified" | "hidden"} what */
const kept = (what) => ["probity", what, session.value?.user.id].join(".");

export const noteVerified = () => localStorage.setItem(kept("verified"), "1");
export const hasVerified = () => localStorage.getItem(kept("verified")) === "1";
export const hide = () => localStorage.setItem(kept("hidden"), "1");
export const isHidden = () => localStorage.getItem(kept("hidden")) === "1";
