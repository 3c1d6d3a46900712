/** Organization settings: ignored reasons, keywords, retention. */
import { html, useEffect, useState } from "../../vendor/lib.js";
import { ask, get, patch } from "../api.js";
import { number } from "../format.js";
import { administrates, nameOrganization, session } from "../session.js";
import { t } from "../text.js";
import { Among, Card, CHECKS, explain, Fetched, Field, Form, Group, Note, Page, reason, reasonOf, Select, Table, toast, useEdits, useFetched, Verdict } from "../ui.js";
import { SignOn } from "./settings/sign-on.js";
import { Sources } from "./settings/sources.js";
import { Suppressions } from "./settings/suppressions.js";

const STATUSES = ["risky", "unknown", "undeliverable"];
const WORDS = ["banned_words", "role_words"];
const COUNTS = ["retention_days", "delivery_retention_days", "rate_limit_per_minute"];

export function Screen() {
  const settings = useFetched((signal) => get("/organization/settings", {}, signal), []);
  return html`<${Page} title=${t("settings.title")} lead=${t("settings.lead")}>
    ${!administrates.value && html`<${Note}>${t("team.only_administrators")}<//>`}
    ${administrates.value && html`<${Naming} />`}
    <${Fetched} from=${settings} lines=${12}>${(of) => administrates.value ? html`<${Settings} of=${of} set=${settings.set} />` : html`<${Standing} of=${of} />`}<//>
    ${administrates.value && html`<${SignOn} />`}
    <${Suppressions} />
    <${Sources} />
  <//>`;
}

function Naming() {
  const known = session.value?.organization.name ?? "";
  const [name, setName] = useState(known);
  const send = async () => {
    await nameOrganization(name.trim());
    toast(t("saved"));
  };
  return html`<${Card} title=${t("organization.title")}><${Form} send=${send} submit=${t("manage.rename")}>
    <${Field} label=${t("name")} hint=${t("organization.hint")} required maxlength="200" value=${name} set=${setName} />
  <//><//>`;
}

/** Time zones known to the browser, and the configured one. @param {string} set @returns {[string, string][]} */
function zones(set) {
  const names = new Set([...Intl.supportedValuesOf("timeZone"), set]);
  return [...names].filter((name) => name !== "" && name !== "UTC").toSorted().map((name) => [name, name.replaceAll("_", " ")]);
}

/** Form values under their API names; word lists and numbers as text. */
function fields(of) {
  const { ignored_reasons, ignored_statuses, banned_words, role_words } = of;
  const numbers = COUNTS.map((name) => [name, String(of[name] ?? "")]);
  return { ignored_reasons, ignored_statuses, banned_words: banned_words.join("\n"), role_words: role_words.join("\n"), time_zone: of.time_zone ?? "", ...Object.fromEntries(numbers) };
}

/** Converts form fields to API values. @param {Record<string, any>} of */
function wire(of) {
  const value = (name, text) => (name === "time_zone" ? text || null : COUNTS.includes(name) ? (text === "" ? null : Number(text)) : WORDS.includes(name) ? words(text) : text);
  return Object.fromEntries(Object.entries(of).map(([name, text]) => [name, value(name, text)]));
}

function Settings({ of, set }) {
  const form = useEdits(fields(of));
  const { ignored_reasons, ignored_statuses, banned_words, role_words } = form.now;
  const [standing, setStanding] = useState(0);
  const { trial, failure, busy } = useTrial(wire({ ignored_reasons, ignored_statuses, banned_words, role_words }), standing);

  // Send only changed fields and show the response: other users may have changed the rest since loading.
  async function send() {
    const former = wire(form.former);
    const save = async (changed) => {
      set(await patch("/organization/settings", changed));
      setStanding((before) => before + 1);
    };
    await save(wire(form.changed));
    form.sent();
    toast(t("saved"), () => save(former));
  }

  return html`<div class=${trial ? "main-side" : undefined}>
    <${Card} title=${t("lists.verdicts")}><${Form} send=${send} submit=${t("save")}>
      <${Wishes} form=${form} trial=${trial} />
      ${failure !== undefined && html`<${Note} kind="warning" title=${t("settings.untried")}>${explain(failure)}<//>`}
    <//><//>
    ${trial && html`<${Effect} of=${trial} busy=${busy} />`}
  </div>`;
}

/** Read-only settings. */
function Standing({ of }) {
  const form = useEdits(fields(of));
  return html`<${Card}><fieldset disabled><${Wishes} form=${form} /></fieldset><//>`;
}

function Wishes({ form: { now, edit, bind }, trial }) {
  /** Rows of the last list that this override alone changes. */
  const alone = (count) => (trial && count ? t("settings.alone", { n: count }) : undefined);
  const check = (list, of, label) => html`<${Among} of=${of} label=${label} hint=${alone(trial?.each[list][of])} list=${now[list]} set=${(some) => edit({ [list]: some })} />`;
  const list = (name, label) => html`<${Field} label=${label} hint=${alone(trial?.each[name]) ?? t("settings.words_hint")} rows=${4} ...${bind(name)} />`;
  const count = (name, label, hint) => html`<${Field} label=${label} hint=${hint} type="number" min="1" inputmode="numeric" ...${bind(name)} />`;
  return html`<div class="stack five">
    <${Group} label=${t("settings.reasons")} hint=${t("settings.reasons_hint")}><div class="gates">
      ${CHECKS.map((name) => check("ignored_reasons", name, reason(reasonOf(name))))}</div><//>
    <${Group} label=${t("settings.statuses")} hint=${t("settings.statuses_hint")}><div class="gates">
      ${STATUSES.map((status) => check("ignored_statuses", status, t(`status.${status}`)))}</div><//>
    <div class="grid fields">
      ${list("banned_words", t("settings.banned"))}
      ${list("role_words", t("settings.roles"))}
    </div>
    <div class="grid fields">
      ${count("retention_days", t("settings.days"), t("settings.days_hint"))}
      ${count("delivery_retention_days", t("settings.deliveries"), t("settings.deliveries_hint"))}
      ${count("rate_limit_per_minute", t("settings.rate"), t("settings.rate_hint"))}
      <${Select} label=${t("settings.zone")} hint=${t("settings.zone_hint")} ...${bind("time_zone")}
        options=${[["", "UTC"], ...zones(now.time_zone)]} />
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

const words = (text) => text.split(/[\n,]/).map((word) => word.trim()).filter(Boolean);
