/**
 * Verification of one address, and the last 20 verdicts.
 *
 * A verdict may take 20 seconds and costs a credit, so it survives navigation. Verdicts contain personal addresses: they are kept
 * in this tab only, until sign-out.
 */
import { signal } from "../../../vendor/lib.js";
import { get } from "../../api.js";
import { keep, kept, whenGone } from "../../kept.js";
import { testing } from "../../mode.js";
import { session } from "../../session.js";
import { noteVerified } from "../overview/done.js";

/** @typedef {{ email: string, at: string, verdict: any }} Answered */
/** @typedef {{ email: string, answer: Promise<any>, verdict?: any, at?: string, failure?: unknown }} Question */

const MOST = 20;

/** User and mode of a question; results of one mode are not shown in the other. */
export const asker = () => [session.value?.user.id, testing.value].join();

/** @type {{ asker?: string, question?: Question }} */
let last = {};

whenGone(() => {
  last = {};
});

const name = () => (testing.value ? "verified.test" : "verified");
/** Counter of changes to the last 20 verdicts. */
const changed = signal(0);

/** The last 20 verdicts, newest first. @returns {Answered[]} */
export const past = () => (changed.value, kept(session.value?.user.id, name()) ?? []);

export function forgetPast() {
  last = {};
  keep(session.value?.user.id, name(), []);
  changed.value += 1;
}

/** @param {Answered} answered */
function note(answered) {
  const others = past().filter(({ email }) => email !== answered.email);
  keep(session.value?.user.id, name(), [answered, ...others].slice(0, MOST));
  changed.value += 1;
  noteVerified();
}

/** @param {Answered} of @returns {Question} */
export const questionOf = ({ email, at, verdict }) => ({ email, at, verdict, answer: Promise.resolve(verdict) });

/**
 * Returns the last question, or an earlier one about this address. A failed question is returned once.
 * @param {string | null} email @returns {Question | undefined}
 */
export function remembered(email) {
  const question = last.asker === asker() ? last.question : undefined;
  if (question && (email === null || question.email === email)) {
    if (question.failure !== undefined) last = {};
    return question;
  }
  const before = email !== null && past().find((one) => one.email === email);
  return before ? questionOf(before) : undefined;
}

/** @param {string} email @param {AbortSignal} [stop] */
export async function verdictOf(email, stop) {
  const by = asker();
  const verdict = await get("/verify", { email, explain: true }, stop);
  const answered = { email, at: new Date().toISOString(), verdict };
  // Store the verdict only for the user and mode that requested it.
  if (by === asker()) note(answered);
  return answered;
}

/** @param {string} email @returns {Question} */
export function ask(email) {
  /** @type {Question} */
  const question = { email, answer: verdictOf(email) };
  question.answer.then(({ verdict, at }) => Object.assign(question, { verdict, at }), (failure) => Object.assign(question, { failure }));
  last = { asker: asker(), question };
  return question;
}
