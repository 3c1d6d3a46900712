/** Connection settings: action, criteria for bad contacts, platform account. */
import { html } from "../../../vendor/lib.js";
import { Refused, get, patch } from "../../api.js";
import { number } from "../../format.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Card, Check, CHECKS, Choice, Field, Figure, Form, Group, Note, reason, reasonOf, toast, useEdits, useFetched } from "../../ui.js";
import { Account } from "./account.js";
import { Lists } from "./lists.js";
import { described } from "./platform.js";
import { When } from "./when.js";

/** Checks of each preset. @type {Record<string, string[]>} */
const PRESETS = {
  normal: ["nonexistent", "deactivated", "bounced", "complainers"],
  aggressive: ["nonexistent", "deactivated", "bounced", "complainers", "inbox_full", "spam", "disposable", "banned_words", "role_based"],
};
/** Reasons that every connection acts upon. */
const ALWAYS = ["invalid", "illegitimate"];
const STRICTNESS = ["normal", "aggressive", "custom"];
const FIELDS = ["action", "aggressiveness", "checks", "manual_mode", "unconfirmed_contacts", "unconfirmed_percent", "tag", "field", "fix_typos", "lists"];

/** Labels of the fields that the API names. */
const LABELS = { action: "action", aggressiveness: "connections.strict", checks: "connections.checks", manual_mode: "connections.manual", tag: "lists.tag", field: "connections.field", fix_typos: "connections.fix", lists: "lists.title" };

/** The error with the form's name of its field. @param {unknown} failure */
function labelled(failure) {
  const [, field = "", wrong = ""] = (failure instanceof Refused && /^(\w+)[^:\s]*: (.+)$/s.exec(failure.message)) || [];
  return failure instanceof Refused && LABELS[field] ? new Refused(failure.status, failure.code, `${t("labelled", { name: t(LABELS[field]) })} ${wrong}`, failure.requestId) : failure;
}

const preset = (name) => Object.fromEntries(CHECKS.map((check) => [check, PRESETS[name].includes(check)]));

/**
 * Available actions of a platform as options; "no action" first.
 * @param {any} platform @param {any} of connection
 * @returns {[string, string, string | undefined][]}
 */
export function actionOptions({ name, actions }, of) {
  const real = actions.filter(({ action }) => action !== "do_nothing");
  const about = (action, note) => described(note) ?? t(`action_hint.${action}`, { platform: name, tag: of.settings.tag, field: of.settings.field });
  return [["", t("action.none"), t("action_hint.none")], ...real.map(({ action, note }) => [action, t(`action.${action}`), about(action, note)])];
}

/** @param {import("./one.js").Known} known */
export function Settings(known) {
  const { path, of, set, platform } = known;
  const form = useEdits(Object.fromEntries(FIELDS.map((name) => [name, name === "action" && of.settings.action === "do_nothing" ? null : of.settings[name]])));
  const reasons = useReasons(known.runs.rows);
  async function send() {
    const { former } = form;
    set(await patch(path, form.changed).catch((failure) => { throw labelled(failure); }));
    form.sent();
    toast(t("saved"), () => patch(path, former).then(set));
  }
  const body = html`<${What} form=${form} platform=${platform} of=${of} reasons=${reasons} path=${path} />`;
  return html`<div class="main-side">
    <${Card} title=${t("connections.bad")}>
      ${administrates.value ? html`<${Form} send=${send} submit=${t("save")}>${body}<//>` : html`<${Shown} of=${of} />`}
    <//>
    <div class="stack">
      <${Effect} form=${form} saved=${of.settings} reasons=${reasons} />
      <${When} ...${known} />
      <${Account} ...${known} />
    </div>
  </div>`;
}

function What({ form: { now, edit, bind, tick }, platform, of, reasons, path }) {
  const strict = (name) => edit(name === "custom" ? { aggressiveness: name } : { aggressiveness: name, checks: preset(name) });
  const check = (/** @type {string} */ name) => html`<${Check} key=${name} label=${reason(reasonOf(name))} checked=${now.checks[name]} hint=${reasons?.[reasonOf(name)] > 0 && number(reasons[reasonOf(name)])}
    set=${(on) => edit({ aggressiveness: "custom", checks: { ...now.checks, [name]: on } })} />`;
  const whole = (/** @type {string} */ name) => ({ value: String(now[name]), set: (/** @type {string} */ text) => edit({ [name]: text && Number(text) }) });
  return html`
    <${Choice} label=${t("action")} value=${now.action ?? ""} set=${(action) => edit({ action: action || null })} options=${actionOptions(platform, of)} />
    ${now.action === "update_tags" && html`<${Field} label=${t("lists.tag")} hint=${t("connections.tag_hint")} ...${bind("tag")} required maxlength="60" spellcheck=${false} />`}
    ${now.action === "update_custom_fields" && html`<${Field} label=${t("connections.field")} hint=${t("connections.field_hint")} ...${bind("field")} required maxlength="40" spellcheck=${false} />`}
    <${Choice} label=${t("connections.strict")} value=${now.aggressiveness} set=${strict} options=${STRICTNESS.map((name) => [name, t(`strict.${name}`), t(`strict_hint.${name}`)])} />
    <${Group} label=${t("connections.checks")} hint=${t("connections.checks_hint")}><div class="gates">${CHECKS.map(check)}</div><//>
    <${Group} label=${t("connections.care")}>
      <${Check} label=${t("connections.manual")} hint=${t("connections.manual_hint")} ...${tick("manual_mode")} />
      ${!now.manual_mode && html`<div class="pair">
        <${Field} label=${t("connections.unconfirmed_contacts")} type="number" min="0" max="1000" inputmode="numeric" required ...${whole("unconfirmed_contacts")} />
        <${Field} label=${t("connections.unconfirmed_percent")} type="number" min="0" max="100" inputmode="numeric" required ...${whole("unconfirmed_percent")} />
        </div><p class="quiet small">${t("connections.unconfirmed_hint")}</p>`}
      ${platform.fix_typos && html`<${Check} label=${t("connections.fix")} hint=${t("connections.fix_hint")} ...${tick("fix_typos")} />`}
    <//>
    ${platform.lists && html`<${Lists} path=${path} isActive=${of.status === "active"} ...${bind("lists")} />`}`;
}

/** Reasons that make a contact bad. @param {Record<string, boolean>} checks */
const bad = (checks) => [...ALWAYS, ...CHECKS.filter((name) => checks[name]).map(reasonOf)];

/** Read-only settings. */
function Shown({ of: { settings } }) {
  return html`<p>${t(`action.${settings.action ?? "none"}`)}</p>
    <ul>${bad(settings.checks).map((why) => html`<li>${reason(why)}</li>`)}</ul>
    <${Note}>${t("connections.only_administrators")}<//>`;
}

/** Contacts of the last run, counted by reason. @param {import("./live.js").Run[]} runs */
function useReasons(runs) {
  const last = runs.find((run) => run.rows > 0 && !["reading", "verifying"].includes(run.state));
  const known = useFetched((signal) => (last ? get(`/app/jobs/${last.id}/progress`, {}, signal) : Promise.resolve(undefined)), [last?.id]);
  return known.value?.reasons;
}

/** Effect on the last run, with the saved and the edited settings. */
function Effect({ form: { now }, saved, reasons }) {
  if (!reasons) return null;
  const rows = Object.values(reasons).reduce((sum, count) => sum + count, 0);
  const upon = (checks) => bad(checks).reduce((sum, why) => sum + (reasons[why] ?? 0), 0);
  const [before, after] = [upon(saved.checks), upon(now.checks)];
  const value = (n) => t("connections.n_of", { n, rows: number(rows) });
  return html`<section class="card" aria-labelledby="effect" aria-live="polite"><h2 id="effect">${t("connections.effect")}</h2>
    <${Figure} label=${t("connections.as_saved")} value=${value(before)} />
    <${Figure} label=${t("connections.with_this")} value=${value(after)}>${before === after ? t("connections.no_difference") : ""}<//>
    <p class="quiet small">${t("connections.effect_text")}</p>
  </section>`;
}
