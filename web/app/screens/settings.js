/** What counts in this organization's lists: ignored reasons, words, how long results stay. */
import { html, useEffect, useState } from "../../vendor/lib.js";
import { ask, get, patch } from "../api.js";
import { number } from "../format.js";
import { administrates } from "../session.js";
import { t } from "../text.js";
import { Check, Field, Form, Group } from "../ui/fields.js";
import { Note, explain } from "../ui/notes.js";
import { Card, Page } from "../ui/page.js";
import { Fetched, Table, useFetched } from "../ui/table.js";
import { toast } from "../ui/toasts.js";
import { Status, reason } from "../ui/verdict.js";
import { Suppressions } from "./settings/suppressions.js";

/** The reasons that can be ignored, by the name of their gate. */
const GATES = {
  nonexistent: "nonexistent", deactivated: "deactivated", inbox_full: "inbox_full", spam: "spam", complainers: "complained",
  bounced: "bounced", disposable: "disposable", banned_words: "banned_words", role_based: "role_based", accept_all: "accept_all",
  failed_exchange: "failed_exchange", unverified: "unverified",
};
const STATUSES = ["undeliverable", "risky", "unknown"];

export function Screen() {
  const settings = useFetched((signal) => get("/organization/settings", {}, signal), []);
  return html`<${Page} title=${t("settings.title")} lead=${t("settings.lead")}>
    ${!administrates.value && html`<${Note}>${t("team.only_administrators")}<//>`}
    <${Fetched} from=${settings} lines=${12}>${(of) => html`<${Settings} of=${of} />`}<//>
    <${Suppressions} />
  <//>`;
}

function Settings({ of }) {
  const [reasons, setReasons] = useState(of.ignored_reasons);
  const [statuses, setStatuses] = useState(of.ignored_statuses);
  const [banned, setBanned] = useState(of.banned_words.join("\n"));
  const [roles, setRoles] = useState(of.role_words.join("\n"));
  const [days, setDays] = useState(String(of.retention_days ?? ""));
  const [deliveries, setDeliveries] = useState(String(of.delivery_retention_days ?? ""));
  const [rate, setRate] = useState(String(of.rate_limit_per_minute ?? ""));

  const wished = { ignored_reasons: reasons, ignored_statuses: statuses, banned_words: words(banned), role_words: words(roles) };
  const [standing, setStanding] = useState(0);
  const { trial, failure, busy } = useTrial(wished, standing);

  async function send() {
    await patch("/organization/settings", {
      ...wished,
      retention_days: days === "" ? null : Number(days),
      delivery_retention_days: deliveries === "" ? null : Number(deliveries),
      rate_limit_per_minute: rate === "" ? null : Number(rate),
    });
    setStanding((before) => before + 1);
    toast(t("saved"));
  }

  /** Rows of the last list that an override changes by itself. */
  const alone = (count) => (trial && count ? t("settings.alone", { n: count }) : undefined);
  const toggle = (list, set, of) => (on) => set(on ? [...list, of] : list.filter((one) => one !== of));
  return html`<${Card}><${Form} send=${send} submit=${t("save")}>
    <div class="columns">
      <${Group} label=${t("settings.reasons")} hint=${t("settings.reasons_hint")}>${Object.entries(GATES).map(([gate, of]) =>
        html`<${Check} label=${reason(of)} checked=${reasons.includes(gate)} set=${toggle(reasons, setReasons, gate)}
          hint=${alone(trial?.each.ignored_reasons[gate])} />`)}<//>
      <div class="stack">
        <${Group} label=${t("settings.statuses")} hint=${t("settings.statuses_hint")}>${STATUSES.map((status) =>
          html`<${Check} label=${t(`status.${status}`)} checked=${statuses.includes(status)} set=${toggle(statuses, setStatuses, status)}
            hint=${alone(trial?.each.ignored_statuses[status])} />`)}<//>
        <${Field} label=${t("settings.banned")} hint=${alone(trial?.each.banned_words) ?? t("settings.words_hint")} rows=${4} value=${banned} set=${setBanned} />
        <${Field} label=${t("settings.roles")} hint=${alone(trial?.each.role_words) ?? t("settings.words_hint")} rows=${4} value=${roles} set=${setRoles} />
        <${Field} label=${t("settings.days")} hint=${t("settings.days_hint")} type="number" min="1" inputmode="numeric" value=${days} set=${setDays} />
        <${Field} label=${t("settings.deliveries")} hint=${t("settings.deliveries_hint")} type="number" min="1" inputmode="numeric" value=${deliveries} set=${setDeliveries} />
        <${Field} label=${t("settings.rate")} hint=${t("settings.rate_hint")} type="number" min="1" inputmode="numeric" value=${rate} set=${setRate} />
      </div>
    </div>
    ${trial && html`<${Effect} of=${trial} busy=${busy} />`}
    ${failure !== undefined && html`<${Note} kind="warning" title=${t("settings.untried")}>${explain(failure)}<//>`}
  <//><//>`;
}

/** How long after the last change wishes are tried on the last list. */
const TRY_MS = 500;

/**
 * What the wishes would change on the last list, as long as there is one. What was tried before stands until it is known anew.
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

/** The last list with the settings that stand, and with those that are wished for. */
function Effect({ of: { id, looked_at, changed, before, after }, busy }) {
  const columns = [
    { title: t("lists.verdict"), cell: (status) => html`<${Status} of=${status} />` },
    { title: t("settings.before"), number: true, cell: (status) => number(before.statuses[status]) },
    { title: t("settings.after"), number: true, cell: (status) => number(after.statuses[status]) },
  ];
  return html`<section class="stack tight" aria-live="polite" aria-busy=${busy}>
    <h2>${t("settings.effect")}</h2>
    <p><a href=${`#/lists/${id}`}>${t("settings.last")}</a> ${t("settings.changed", { n: changed, rows: looked_at })}</p>
    <${Table} caption=${t("settings.effect")} columns=${columns} rows=${["passed", ...STATUSES]} id=${(status) => status} />
  </section>`;
}

const words = (text) => text.split(/[\n,]/).map((word) => word.trim()).filter(Boolean);
