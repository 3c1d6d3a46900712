/**
 * Why an address has its verdict, in sentences that are true of this address.
 *
 * A reason alone does not say whether a mail server was probed, or why none could tell. The answer says so by the token that decided
 * (`meta`), the rule and the reply's code. A token without a sentence of its own has that of its reason, which is true of all of them.
 */
import { html } from "../../vendor/lib.js";
import { ago } from "../format.js";
import { says, t } from "../text.js";
import { STATUS_OF } from "./verdict.js";

/** @typedef {{ reason: string, meta: string, rule?: string | null }} Finding */
/** @typedef {Finding & { code?: number | null, accepted?: boolean, isPlayed?: boolean, age?: number, rest?: Finding[] }} Ground */

/** The ground of an answer to `explain`. @returns {Ground} */
export function groundOf({ reason, meta, evidence }) {
  const [first, ...rest] = evidence?.findings ?? [];
  const { probe, source, age_s: age } = evidence ?? {};
  const rule = first?.rule ?? probe?.rule;
  const isPlayed = isSandboxRule(rule) || (source === "sandbox" && reason === "valid");
  return { reason, meta, rule, code: probe?.code, accepted: isAcceptance(probe?.code), isPlayed, age: source === "cache" ? age : undefined, rest };
}

/**
 * The ground of a row of a list; none of one that has no verdict, or whose address was erased. A row has one finding alone: an
 * acceptance is not told of, since nothing says whether the domain accepts every recipient.
 * @returns {Ground | undefined}
 */
export function groundOfRow({ reason, decided }) {
  return decided ? { reason, ...decided, isPlayed: isSandboxRule(decided.rule) } : undefined;
}

/** @param {string} name */
const sentence = (name) => (says(`because.${name}`) ? t(`because.${name}`) : "");

/** A sentence that is true of every address with this reason. @param {string} reason */
export const ofReason = (reason) => (says(`because.${reason}.any`) ? t(`because.${reason}.any`) : sentence(reason));

/** @param {Ground} of @returns {string[]} */
export function because(of) {
  const first = of.isPlayed ? ofFinding({ ...of, rule: "" }) : ofFinding(of);
  if (of.isPlayed) return [t("because.played"), first];
  const server = STATUS_OF[of.reason] === "risky" ? ofServer(of) : "";
  const cached = of.age === undefined ? "" : t("because.cached", { when: ago(new Date(Date.now() - 1000 * of.age).toISOString()) });
  return [first, server, cached].filter(Boolean);
}

/** What the mail server said of an address that is risky for another reason. @param {Ground} of */
function ofServer({ rest = [], accepted }) {
  const open = rest.find((finding) => STATUS_OF[finding.reason] === "unknown");
  if (open) return ofFinding(open);
  return accepted ? t("because.accepted") : "";
}

/** @param {Ground} finding */
function ofFinding(finding) {
  const { reason } = finding;
  const how = token(finding);
  return how && says(`because.${reason}.${how}`) ? t(`because.${reason}.${how}`) : sentence(reason);
}

/** What decided, as sentences are named. @param {Ground} finding */
function token({ reason, meta, rule, code }) {
  if (reason === "valid") return rule === "settings.ignored" ? "ignored" : (code ?? 0) >= 400 ? "limited" : "";
  if (rule === "syntax.special_use") return meta === "sandbox_name" ? meta : "special_use";
  if (rule === "settings.role_words") return "own";
  if (rule === "plan.blocked") return "paused";
  if (rule?.endsWith("access_denied")) return "denied";
  if (meta.startsWith("smtp_")) return meta.startsWith("smtp_4") ? "temporary" : "vague";
  return meta;
}

const isSandboxRule = (rule) => Boolean(rule?.startsWith("sandbox."));

/** Whether a reply's code accepts a recipient. 252 says that the server cannot tell. @param {number | null | undefined} code */
export const isAcceptance = (code) => code === 250 || code === 251;

/** The sentences, one below the other where the first only leads to the next. @param {{ of: Ground | undefined }} props */
export function Because({ of }) {
  if (!of) return null;
  const sentences = because(of);
  return of.isPlayed ? html`<p class="because"><span class="quiet">${sentences[0]}</span><br />${sentences[1]}</p>` : html`<p class="because">${sentences.join(" ")}</p>`;
}
