/** What happened: lists, changes of settings, what people and keys did. */
import { html, useState } from "../../vendor/lib.js";
import { get } from "../api.js";
import { number, time } from "../format.js";
import { administrates } from "../session.js";
import { t } from "../text.js";
import { Select } from "../ui/fields.js";
import { Empty, Note } from "../ui/notes.js";
import { Card, Figure, Page } from "../ui/page.js";
import { Fetched, Table, useFetched } from "../ui/table.js";
import { State, word } from "../ui/verdict.js";

const SPANS = ["7", "30", "90"];
const MOST = 200;
/** Entries of two lists that are shown whole. */
const FEW = 20;
/** People and keys that are known by their names: as many as one call tells of. */
const NAMED = 100;

export function Screen() {
  const [days, setDays] = useState("30");
  const timeline = useFetched((signal) => get("/account/timeline", { days, limit: MOST }, signal), [days]);
  const names = useFetched(named, []);
  return html`<${Page} title=${t("timeline.title")} lead=${t("timeline.lead")}>
    <${Card}>
      <div class="row"><${Select} label=${t("timeline.span")} value=${days} set=${setDays} options=${SPANS.map((n) => [n, t("usage.days", { n: Number(n) })])} /></div>
      <${Fetched} from=${timeline} lines=${10}>${(of) => html`<${Events} of=${of} names=${names} />`}<//>
    <//>
  <//>`;
}

/** The names of people and, for those who see them, of keys, by their ids. @param {AbortSignal} signal @returns {Promise<Record<string, string>>} */
async function named(signal) {
  const paths = administrates.value ? ["/users", "/api-keys"] : ["/users"];
  const found = await Promise.all(paths.map((path) => get(path, { per_page: NAMED }, signal)));
  return Object.fromEntries(found.flatMap(({ data }) => data.map(({ id, name, email }) => [id, name ?? email])));
}

function Events({ of: { events, summary }, names }) {
  const columns = [
    { title: t("timeline.at"), cell: ({ at }) => html`<time datetime=${at}>${time(at)}</time>` },
    { title: t("timeline.what"), cell: (event) => html`<${What} of=${event} />` },
    { title: t("timeline.actor"), cell: ({ actor }) => (actor ? html`<${Who} of=${actor} names=${names} />` : "–") },
  ];
  const rows = events.map((event, index) => ({ ...event, id: index }));
  return html`<div class="stack">
    <div class="grid">
      <${Figure} label=${t("timeline.jobs")} value=${number(summary.jobs)} />
      <${Figure} label=${t("timeline.settings")} value=${number(summary.settings_changes)} />
      <${Figure} label=${t("timeline.account")} value=${number(summary.account_events)} />
    </div>
    ${summary.truncated && html`<${Note}>${t("timeline.truncated", { n: MOST })}<//>`}
    ${rows.length > 0 ? html`<${Table} caption=${t("timeline.title")} columns=${columns} rows=${rows} />`
      : html`<${Empty} title=${t("timeline.none")}>${t("timeline.none_text")}<//>`}
  </div>`;
}

/** Who did it: by name, or by id where nobody is called so any more. Until the names are there, only what they are. */
function Who({ of: { id, type }, names: { value: names, failure } }) {
  const name = id && names?.[id];
  if (name) return html`<div>${name}</div><div class="quiet small">${t(`actor.${type}`)}</div>`;
  return html`<div>${t(`actor.${type}`)}</div>${id && (names || failure !== undefined) && html`<code class="quiet small">${id}</code>`}`;
}

function What({ of: event }) {
  if (event.job) {
    return html`<a href=${`#/lists/${event.job.id}`}>${t(`trigger.${event.job.source}`)}</a> <${State} of=${event.job.status} />`;
  }
  if (event.setting) {
    const [before, after] = apart(event.before, event.after);
    return html`<code>${event.setting}</code> <span class="quiet">${value(before)} → ${value(after)}</span>`;
  }
  return word("event", event.kind);
}

/** Of lists that are long, what one has and the other has not; all else as it is. */
function apart(before, after) {
  if (before?.removed || after?.added) return [before?.removed ?? before, after?.added ?? after];
  if (!Array.isArray(before) || !Array.isArray(after) || before.length + after.length <= FEW) return [before, after];
  return [before.filter((one) => !after.includes(one)), after.filter((one) => !before.includes(one))];
}

function value(of) {
  if (of === null || of === undefined) return "–";
  return Array.isArray(of) ? of.join(", ") || "–" : String(of);
}
