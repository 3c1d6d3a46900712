/** How lists get their verdicts: ignored reasons and verdicts, keywords, and the effect of changes on the last list. */
import { html, useEffect, useState } from "../../../vendor/lib.js";
import { ask } from "../../api.js";
import { number } from "../../format.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Among, Card, CHECKS, explain, Field, Form, Group, Note, reason, reasonOf, Table, Verdict } from "../../ui.js";
import { useSettings, wire, WORDS } from "./edits.js";

const STATUSES = ["risky", "unknown", "undeliverable"];
const NAMES = ["ignored_reasons", "ignored_statuses", ...WORDS];

/** @param {import("./edits.js").Known} known */
export function Results(known) {
  return administrates.value ? html`<${Edited} ...${known} />` : html`<${Standing} ...${known} />`;
}

/** @param {import("./edits.js").Known} known */
function Edited(known) {
  const [standing, setStanding] = useState(0);
  const { form, send } = useSettings(known, NAMES, () => setStanding((before) => before + 1));
  const { trial, failure, busy } = useTrial(wire(form.now), standing);
  return html`<div class=${trial ? "main-side" : undefined}>
    <${Card} title=${t("lists.verdicts")}><${Form} send=${send} submit=${t("save")}>
      <${Wishes} form=${form} trial=${trial} />
      ${failure !== undefined && html`<${Note} kind="warning" title=${t("settings.untried")}>${explain(failure)}<//>`}
    <//><//>
    ${trial && html`<${Effect} of=${trial} busy=${busy} />`}
  </div>`;
}

/** Read-only settings. @param {import("./edits.js").Known} known */
function Standing(known) {
  const { form } = useSettings(known, NAMES);
  return html`<${Card} title=${t("lists.verdicts")}><fieldset disabled><${Wishes} form=${form} /></fieldset><//>`;
}

/** @param {{ form: any, trial?: any }} props */
function Wishes({ form: { now, edit, bind }, trial }) {
  /** Rows of the last list that this override alone changes. */
  const alone = (count) => (trial && count ? t("settings.alone", { n: count }) : undefined);
  const check = (list, of, label) => html`<${Among} of=${of} label=${label} hint=${alone(trial?.each[list][of])} list=${now[list]} set=${(some) => edit({ [list]: some })} />`;
  const list = (name, label) => html`<${Field} label=${label} hint=${alone(trial?.each[name]) ?? t("settings.words_hint")} rows=${4} ...${bind(name)} />`;
  return html`<div class="stack five">
    <${Group} label=${t("settings.reasons")} hint=${t("settings.reasons_hint")}><div class="gates">
      ${CHECKS.map((name) => check("ignored_reasons", name, reason(reasonOf(name))))}</div><//>
    <${Group} label=${t("settings.statuses")} hint=${t("settings.statuses_hint")}><div class="gates">
      ${STATUSES.map((status) => check("ignored_statuses", status, t(`status.${status}`)))}</div><//>
    <div class="grid fields">
      ${list("banned_words", t("settings.banned"))}
      ${list("role_words", t("settings.roles"))}
    </div>
  </div>`;
}

/** Delay between the last change and a preview on the last list. */
const TRY_MS = 500;

/**
 * Preview of changed settings on the last list, if one exists. The previous preview stays until the new one is loaded.
 * @returns {{ trial?: any, failure?: unknown, busy: boolean }}
 */
function useTrial(wished, standing) {
  const [state, setState] = useState(/** @type {{ trial?: any, failure?: unknown, busy: boolean }} */ ({ busy: true }));
  useEffect(() => {
    const stop = new AbortController();
    const tell = (next) => !stop.signal.aborted && setState(next);
    setState(({ trial }) => ({ trial, busy: true }));
    const timer = setTimeout(() => {
      ask("POST", "/app/settings/trial", { body: wished, signal: stop.signal }).then(
        ({ job }) => tell({ trial: job ?? undefined, busy: false }),
        (failure) => tell(({ trial }) => ({ trial, failure, busy: false })),
      );
    }, TRY_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [JSON.stringify(wished), standing]);
  return state;
}

/** The last list under the saved and the edited settings. */
function Effect({ of: { id, looked_at, changed, before, after }, busy }) {
  const columns = [
    { title: t("lists.verdict"), cell: (status) => html`<${Verdict} of=${status} />` },
    { title: t("settings.before"), number: true, cell: (status) => number(before.statuses[status]) },
    { title: t("settings.after"), number: true, cell: (status) => number(after.statuses[status]) },
  ];
  return html`<section class="card" aria-live="polite" aria-busy=${busy}>
    <h2>${t("settings.effect")}</h2>
    <p><a href=${`#/lists/${id}`}>${t("settings.last")}</a> ${t("settings.changed", { n: changed, rows: looked_at })}</p>
    <${Table} caption=${t("settings.effect")} columns=${columns} rows=${["passed", ...STATUSES]} id=${(status) => status} />
  </section>`;
}
