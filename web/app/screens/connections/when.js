/** Schedule of a connection: run types, next run times, and delay for new contacts. */
import { html } from "../../../vendor/lib.js";
import { get, patch } from "../../api.js";
import { time } from "../../format.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Card, Check, Fetched, Field, Form, toast, useEdits, useFetched } from "../../ui.js";

const KINDS = ["autofloss", "instafloss", "decay_protection"];
const FIELDS = ["autofloss", "instafloss", "decay_protection", "decay_days"];

/** @param {import("./one.js").Known} known */
export function When({ path, of, set }) {
  const form = useEdits(Object.fromEntries(FIELDS.map((name) => [name, of.settings[name]])));
  const schedule = useFetched((signal) => get(`${path}/schedule`, {}, signal), [path, JSON.stringify(FIELDS.map((name) => of.settings[name]))]);
  async function send() {
    const { former } = form;
    set(await patch(path, form.changed));
    form.sent();
    toast(t("saved"), () => patch(path, former).then(set));
  }
  return html`<${Card} title=${t("connections.when")}>
    <p>${t("connections.when_text")}</p>
    ${administrates.value && html`<${Form} send=${send} submit=${t("connections.when_save")}><${Kinds} form=${form} schedule=${schedule.value} /><//>`}
    <${Fetched} from=${schedule} lines=${2}>${(value) => html`<${Next} of=${value} />`}<//>
  <//>`;
}

function Kinds({ form: { now, edit, tick }, schedule }) {
  const minutes = Math.round((schedule?.instafloss.within_s ?? 0) / 60);
  const hint = (name) => (name === "instafloss" ? schedule && t("connections.instafloss_hint", { n: minutes }) : t(`connections.${name}_hint`));
  return html`${KINDS.map((name) => html`<${Check} key=${name} label=${t(`connections.${name}`)} hint=${hint(name)} ...${tick(name)} />`)}
    ${now.decay_protection && html`<${Field} label=${t("connections.decay_days")} type="number" min="7" max="365" inputmode="numeric" required
      value=${String(now.decay_days)} set=${(text) => edit({ decay_days: text && Number(text) })} />`}`;
}

/** @param {{ of: any }} props schedule */
function Next({ of }) {
  const { median_s: median, longest_s: longest, webhook } = of.instafloss;
  const event = webhook.last_event_at ? time(webhook.last_event_at) : t("connections.no_event");
  const minutes = (seconds) => Math.max(1, Math.round(seconds / 60));
  return html`${of.runs.length > 0 && html`<ul>${of.runs.map((run) => html`<li key=${run.trigger}>${t("labelled", { name: t(`cause.${run.trigger}`) })} ${run.next_at ? time(run.next_at) : t("connections.when_back")}
      ${run.waits_for && html`<span class="quiet small"> ${t(`connections.waits.${run.waits_for}`)}</span>`}</li>`)}</ul>`}
    ${median !== null && html`<p class="quiet small">${t("connections.measured", { median: minutes(median), longest: minutes(longest) })}</p>`}
    ${of.runs.some((run) => run.trigger === "instafloss") && html`<p class="quiet small">${t(`connections.webhook.${webhook.state}`, { event, n: minutes(of.instafloss.without_event_s) })}${webhook.fault && html` <span lang="en">(${webhook.fault})</span>`}</p>`}
    <p class="quiet small">${t("connections.nights", { zone: of.time_zone })}</p>`;
}
