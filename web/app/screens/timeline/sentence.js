/**
 * Event as a sentence with links: actor, action, resource.
 *
 * Events contain IDs; names are the current ones. The ID is shown if the resource no longer exists. Old events without resource
 * IDs show only action and actor.
 */
import { html } from "../../../vendor/lib.js";
import { number } from "../../format.js";
import { platformName } from "../../platforms.js";
import { link } from "../../route.js";
import { says, t, woven } from "../../text.js";
import { Ago, Icon, State, word } from "../../ui.js";
import { groupOf } from "./groups.js";
import { settingName, SettingValues } from "./setting.js";

const ICONS = { lists: "file", keys: "key", team: "people", access: "lock", settings: "sliders", webhooks: "hook", connections: "plug", account: "clock" };
/** Locations of team members, keys and webhooks. */
const PLACES = { user: () => ["team"], api_key: () => ["keys"], webhook: (id) => ["webhooks", id] };

/** @typedef {{ value?: Record<string, string>, failure?: unknown }} Names */

/** @param {{ of: any, names: Names, providers: Record<string, string> }} props */
export function Happened({ of: event, names, providers }) {
  return html`<li>
    <span class="kind"><${Icon} name=${ICONS[groupOf(event)]} /></span>
    <div class="grow"><${Sentence} of=${event} names=${names} providers=${providers} /></div>
    <${Ago} kind="small quiet" at=${event.at} />
  </li>`;
}

function Sentence({ of: event, names, providers }) {
  const who = event.actor ? html`<${Who} of=${event.actor} names=${names} />` : undefined;
  if (event.job) return html`<${List} of=${event} who=${who} names=${names} />`;
  if (event.setting) return html`<${Setting} of=${event} who=${who} provider=${providers[event.connection_id]} />`;
  if (event.change) {
    const what = html`<a href=${link(["connections", event.provider, event.connection_id], { run: event.run_id })}>${platformName(event.provider)}</a>`;
    return html`${said(`did.connection_${event.change}`, { who, what }) ?? without(word("event", `connection_${event.change}`), who)}
      ${event.contacts !== undefined && html`<p class="small quiet">${t("did.contacts", { n: event.contacts })}</p>`}`;
  }
  const what = event.subject?.type === "job" ? listLink(event.subject.id, names)
    : event.subject ? html`<${Named} type=${event.subject.type} id=${event.subject.id} names=${names} />` : undefined;
  const special = [event.actor && `did.${event.kind}_by_${event.actor.type}`, event.subject && `did.${event.kind}_for`];
  return said(special.find((name) => name && says(name)) ?? `did.${event.kind}`, { who, what }) ?? without(word("event", event.kind), who);
}

/** @param {string} name @param {Record<string, unknown>} parts */
const said = (name, parts) => {
  const whole = woven(name, parts);
  return whole && html`<p>${whole}</p>`;
};

/** Event with few details. */
const without = (what, who) => html`<p>${what}${who && html` <span class="quiet">·</span> ${who}`}</p>`;

/** Resource by name, or by ID if it no longer exists. The type is shown until the names are loaded. */
function Named({ type, id, names: { value, failure } }) {
  const name = value?.[id];
  if (name) return html`<a href=${link(PLACES[type](id))}>${name}</a>`;
  return value || failure !== undefined ? html`<code>${id}</code>` : html`<span class="quiet">${id.slice(0, 8)}…</span>`;
}

/** Member, key, operator or service. @param {{ of: { type: string, id?: string }, names: Names }} props */
export function Who({ of: { type, id }, names }) {
  if (!id) return html`<strong>${says(`by.${type}`) ? t(`by.${type}`) : t(`actor.${type}`)}</strong>`;
  return html`<strong><${Named} type=${type} id=${id} names=${names} /></strong>${type === "api_key" && html` <span class="quiet small">(${t("actor.api_key")})</span>`}`;
}

/** List by name, if it has one. @param {string} id @param {Names} names @param {string | null} [name] */
const listLink = (id, names, name = undefined) => html`<a href=${link(["lists", id])}>${name ?? names.value?.[id] ?? t("did.list")}</a>`;

function List({ of: { job }, who, names }) {
  const { id, source, status, results, source_integration: provider } = job;
  const list = listLink(id, names, job.name);
  return html`${said(`did.job_${source}`, { who, list, what: provider ? platformName(provider) : undefined }) ?? html`<p><a href=${link(["lists", id])}>${word("trigger", source)}</a></p>`}
    <p class="small quiet">${status !== "completed" && html`<${State} of=${status} /> `}
      ${results && t("did.results", { n: results.total, passed: number(results.passed) })}</p>`;
}

function Setting({ of: event, who, provider }) {
  const what = settingName(event.setting);
  const place = provider && html`<a href=${link(["connections", provider, event.connection_id])}>${platformName(provider)}</a>`;
  return html`${(place ? said("did.setting_of", { who, what, place }) : said("did.setting", { who, what })) ?? without(what, who)}
    <${SettingValues} of=${event} />`;
}
