/** What counts in this organization's lists: ignored reasons, words, how long results stay. */
import { html, useState } from "../../vendor/lib.js";
import { get, patch } from "../api.js";
import { administrates } from "../session.js";
import { t } from "../text.js";
import { Check, Field, Form, Group } from "../ui/fields.js";
import { Note } from "../ui/notes.js";
import { Card, Page } from "../ui/page.js";
import { Fetched, useFetched } from "../ui/table.js";
import { toast } from "../ui/toasts.js";
import { reason } from "../ui/verdict.js";

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
  <//>`;
}

function Settings({ of }) {
  const [reasons, setReasons] = useState(of.ignored_reasons);
  const [statuses, setStatuses] = useState(of.ignored_statuses);
  const [banned, setBanned] = useState(of.banned_words.join("\n"));
  const [roles, setRoles] = useState(of.role_words.join("\n"));
  const [days, setDays] = useState(String(of.retention_days ?? ""));
  const [rate, setRate] = useState(String(of.rate_limit_per_minute ?? ""));

  async function send() {
    await patch("/organization/settings", {
      ignored_reasons: reasons,
      ignored_statuses: statuses,
      banned_words: words(banned),
      role_words: words(roles),
      retention_days: days === "" ? null : Number(days),
      rate_limit_per_minute: rate === "" ? null : Number(rate),
    });
    toast(t("saved"));
  }

  const toggle = (list, set, of) => (on) => set(on ? [...list, of] : list.filter((one) => one !== of));
  return html`<${Card}><${Form} send=${send} submit=${t("save")}>
    <div class="columns">
      <${Group} label=${t("settings.reasons")} hint=${t("settings.reasons_hint")}>${Object.entries(GATES).map(([gate, of]) =>
        html`<${Check} label=${reason(of)} checked=${reasons.includes(gate)} set=${toggle(reasons, setReasons, gate)} />`)}<//>
      <div class="stack">
        <${Group} label=${t("settings.statuses")} hint=${t("settings.statuses_hint")}>${STATUSES.map((status) =>
          html`<${Check} label=${t(`status.${status}`)} checked=${statuses.includes(status)} set=${toggle(statuses, setStatuses, status)} />`)}<//>
        <${Field} label=${t("settings.banned")} hint=${t("settings.words_hint")} rows=${4} value=${banned} set=${setBanned} />
        <${Field} label=${t("settings.roles")} hint=${t("settings.words_hint")} rows=${4} value=${roles} set=${setRoles} />
        <${Field} label=${t("settings.days")} hint=${t("settings.days_hint")} type="number" min="1" inputmode="numeric" value=${days} set=${setDays} />
        <${Field} label=${t("settings.rate")} hint=${t("settings.rate_hint")} type="number" min="1" inputmode="numeric" value=${rate} set=${setRate} />
      </div>
    </div>
  <//><//>`;
}

const words = (text) => text.split(/[\n,]/).map((word) => word.trim()).filter(Boolean);
