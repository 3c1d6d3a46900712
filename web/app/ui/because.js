/**
 * Explanation of a verdict, specific to the address.
 *
 * A reason alone does not say whether a mail server was probed or why none gave a result. The deciding token (`meta`), the rule
 * and the reply code do. A token without its own sentence uses the sentence of its reason, which applies to all tokens.
 */
import { html } from "../../vendor/lib.js";
import { ago } from "../format.js";
import { says, t } from "../text.js";
import { STATUS_OF } from "./verdict.js";

/** @typedef {{ reason: string, meta: string, rule?: string | null }} Finding */
/** @typedef {Finding & { code?: number | null, accepted?: boolean, isPlayed?: boolean, age?: number, rest?: Finding[] }} Ground */

/** Basis of an `explain` response. @returns {Ground} */
export function groundOf({ reason, meta, evidence }) {
  const [first, ...rest] = evidence?.findings ?? [];
  const { probe, source, age_s: age } = evidence ?? {};
  const rule = first?.rule ?? probe?.rule;
  const isPlayed = isSandboxRule(rule) || (source === "sandbox" && reason === "valid");
  return { reason, meta, rule, code: probe?.code, accepted: isAcceptance(probe?.code), isPlayed, age: source === "cache" ? age : undefined, rest };
}

/**
 * Basis of a list row; `undefined` for a pending row or an erased address. A row has a single finding; an acceptance is omitted,
 * because the row does not say whether the domain is a catch-all.
 * @returns {Ground | undefined}
 */
export function groundOfRow({ reason, decided }) {
  return decided ? { reason, ...decided, isPlayed: isSandboxRule(decided.rule) } : undefined;
}

/** @param {string} name */
const sentence = (name) => (says(`because.${name}`) ? t(`because.${name}`) : "");

/** Sentence that applies to every address with this reason. @param {string} reason */
export const ofReason = (reason) => (says(`because.${reason}.any`) ? t(`because.${reason}.any`) : sentence(reason));

/** @param {Ground} of @returns {string[]} */
export function because(of) {
  const first = of.isPlayed ? ofFinding({ ...of, rule: "" }) : ofFinding(of);
  if (of.isPlayed) return [t("because.played"), first];
  const server = STATUS_OF[of.reason] === "risky" ? ofServer(of) : "";
  const cached = of.age === undefined ? "" : t("because.cached", { when: ago(new Date(Date.now() - 1000 * of.age).toISOString()) });
  return [first, server, cached].filter(Boolean);
}

/** Server reply for an address that is risky for another reason. @param {Ground} of */
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

/** Text name of the deciding token. @param {Ground} finding */
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

/** True if a reply code accepts a recipient. With 252, the server cannot verify. @param {number | null | undefined} code */
export const isAcceptance = (code) => code === 250 || code === 251;

/** Explanation; sentences are stacked if the first only introduces the next. @param {{ of: Ground | undefined }} props */
export function Because({ of }) {
  if (!of) return null;
  const sentences = because(of);
  return of.isPlayed ? html`<p class="because"><span class="quiet">${sentences[0]}</span><br />${sentences[1]}</p>` : html`<p class="because">${sentences.join(" ")}</p>`;
}
