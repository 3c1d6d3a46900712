/** Live activity log by day. */
import { html, useState } from "../../vendor/lib.js";
import { get } from "../api.js";
import { day, number } from "../format.js";
import { go } from "../route.js";
import { t } from "../text.js";
import { Card, Empty, Fetched, Note, Page, Select, useFetched } from "../ui.js";
import { GROUPS, groupOf } from "./timeline/groups.js";
import { named } from "./timeline/names.js";
import { Happened } from "./timeline/sentence.js";

const SPANS = ["7", "30", "90"];
const MOST = 200;

export function Screen({ query }) {
  const [days, setDays] = useState("30");
  const timeline = useFetched((signal) => get("/account/timeline", { days, limit: MOST }, signal), [days], "timeline");
  const names = useFetched(named, [], "timeline");
  const filter = { of: query.get("of") ?? "", by: query.get("by") ?? "" };
  const set = (part) => go(["timeline"], { ...filter, ...part });
  return html`<${Page} title=${t("timeline.title")} lead=${t("timeline.lead")}>
    <${Card}>
      <${Fetched} from=${timeline} lines=${10}>${(of) => html`<${Events} of=${of} names=${names} filter=${filter} set=${set}
        span=${html`<${Select} label=${t("timeline.span")} value=${days} set=${setDays} options=${SPANS.map((n) => [n, t("usage.days", { n: Number(n) })])} />`} />`}<//>
    <//>
  <//>`;
}

/** Actor value of the filter: ID, or type for actors without one. */
const actorOf = ({ actor }) => actor?.id ?? actor?.type ?? "";

function Events({ of: { events, summary }, names, filter, set, span }) {
  const by = (event) => !filter.by || actorOf(event) === filter.by;
  const counts = Object.fromEntries(GROUPS.map((group) => [group, events.filter((event) => by(event) && groupOf(event) === group).length]));
  const shown = events.filter((event) => by(event) && (!filter.of || groupOf(event) === filter.of));
  const actors = [...new Set([...events.map(actorOf), filter.by])].filter(Boolean);
  const called = (id) => names.value?.[id] ?? (["staff", "system"].includes(id) ? t(`actor.${id}`) : id);
  const providers = Object.fromEntries(events.filter(({ provider }) => provider).map(({ connection_id: id, provider }) => [id, provider]));
  return html`<div class="stack">
    <div class="row apart sifted">
      <div class="picks" role="group" aria-label=${t("timeline.what")}>
        <button type="button" class="pick" aria-pressed=${!filter.of} onClick=${() => set({ of: "" })}>${t("timeline.all")} <span class="n">${number(events.filter(by).length)}</span></button>
        ${GROUPS.filter((group) => counts[group] > 0 || filter.of === group).map((group) => html`<button type="button" class="pick" key=${group} aria-pressed=${filter.of === group}
          onClick=${() => set({ of: filter.of === group ? "" : group })}>${t(`group.${group}`)} <span class="n">${number(counts[group])}</span></button>`)}
      </div>
      <div class="row">
        <${Select} label=${t("timeline.actor")} value=${filter.by} set=${(id) => set({ by: id })} options=${[["", t("timeline.anybody")], ...actors.map((id) => [id, called(id)])]} />${span}
      </div>
    </div>
    ${summary.truncated && html`<${Note}>${t("timeline.truncated", { n: MOST })}<//>`}
    ${shown.length > 0 ? html`<${Days} of=${shown} names=${names} providers=${providers} />`
      : events.length > 0 ? html`<${Empty} title=${t("timeline.nothing")} action=${html`<button type="button" class="button" onClick=${() => set({ of: "", by: "" })}>${t("timeline.clear")}</button>`}>${t("timeline.nothing_text")}<//>`
        : html`<${Empty} title=${t("timeline.none")} action=${html`<a class="button" href="#/lists/new">${t("lists.new")}</a>`}>${t("timeline.none_text")}<//>`}
  </div>`;
}

/** Events by local day, newest first. */
function Days({ of: events, names, providers }) {
  const days = Map.groupBy(events, ({ at }) => day(at));
  return html`${[...days].map(([of, happened]) => html`<section key=${of}>
    <h2 class="small quiet">${of}</h2>
    <ol class="happened" aria-label=${of}>${happened.map((event, n) => html`<${Happened} key=${`${event.at} ${n}`} of=${event} names=${names} providers=${providers} />`)}</ol>
  </section>`)}`;
}
