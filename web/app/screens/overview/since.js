/** Changes since the user's last visit, such as completed lists and new keys, by team members and the user. */
import { html } from "../../../vendor/lib.js";
import { get } from "../../api.js";
import { number } from "../../format.js";
import { link } from "../../route.js";
import { session } from "../../session.js";
import { t } from "../../text.js";
import { Ago, Card, useFetched } from "../../ui.js";
import { GROUPS, groupOf } from "../timeline/groups.js";
import { named } from "../timeline/names.js";
import { Happened } from "../timeline/sentence.js";

const DAYS_MAX = 30;
const DAY_MS = 86_400_000;
/** Events listed individually. */
const TOLD = 5;
/** Events per request. */
const MOST = 200;

/** @param {{ since: number }} props end of the last visit */
export function Part({ since }) {
  const days = Math.min(DAYS_MAX, Math.max(1, Math.ceil((Date.now() - since) / DAY_MS)));
  const timeline = useFetched((signal) => get("/account/timeline", { days, limit: MOST }, signal), [since], "timeline");
  const names = useFetched(named, []);
  // If even the oldest loaded event is new, there may be more.
  const cut = timeline.value?.events.length === MOST && Date.parse(timeline.value.events[MOST - 1].at) > since;
  const events = timeline.value?.events.filter((event) => Date.parse(event.at) > since && !isOwnCare(event)) ?? [];
  if (events.length === 0) return null;
  const providers = Object.fromEntries(events.filter(({ provider }) => provider).map(({ connection_id: id, provider }) => [id, provider]));
  const counts = GROUPS.map((group) => /** @type {const} */ ([group, events.filter((event) => groupOf(event) === group).length])).filter(([, n]) => n > 0);
  const title = html`${t("overview.since")} <span class="quiet small"><${Ago} at=${new Date(since).toISOString()} />${Date.now() - since > DAYS_MAX * DAY_MS && ` · ${t("overview.since_days", { n: DAYS_MAX })}`}</span>`;
  return html`<${Card} title=${title} actions=${html`<a href="#/timeline">${t("timeline.title")}</a>`}>
    <div class="picks">${counts.map(([group, n]) => html`<a class="pick" key=${group} href=${link(["timeline"], { of: group })}>${t(`group.${group}`)} <span class="n">${number(n)}${cut && "+"}</span></a>`)}</div>
    <ol class="happened" aria-label=${t("overview.since")}>${events.slice(0, TOLD).map((event, n) => html`<${Happened} key=${`${event.at} ${n}`} of=${event} names=${names} providers=${providers} />`)}</ol>
    ${events.length > TOLD && html`<a class="small" href="#/timeline">${t(cut ? "overview.since_many" : "overview.since_more", { n: events.length - TOLD })}</a>`}
  <//>`;
}

/** The user's own sign-ins are not news. */
const isOwnCare = (event) => groupOf(event) === "access" && event.actor?.id === session.value?.user.id;
