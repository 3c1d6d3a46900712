/** One connection: overview, and tabs for runs, review, rules and settings. */
import { html, useEffect, useRef, useState } from "../../../vendor/lib.js";
import { get } from "../../api.js";
import { number } from "../../format.js";
import { testing } from "../../mode.js";
import { link } from "../../route.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Fetched, Note, Page, Tabs, useFetched } from "../../ui.js";
import { ConnectionState } from "./card.js";
import { goes, pathOf, useRuns, waits } from "./live.js";
import { Review } from "./review.js";
import { Rules } from "./rules.js";
import { Runs } from "./runs.js";
import { Start } from "./start.js";
import { Settings } from "./settings.js";

const TABS = ["runs", "review", "rules", "settings"];
const RUNS = 20;
/** Maximum page size of the API. */
const RUNS_MAX = 100;

/**
 * @typedef {object} Known props of every tab
 * @property {string} path
 * @property {any} platform
 * @property {any} of connection
 * @property {(of: any) => void} set
 * @property {{ rows: import("./live.js").Run[], more: boolean }} runs
 * @property {() => void} again reloads the runs
 */

/** @param {{ type: string, id: string, query: URLSearchParams }} props */
export function One({ type, id, query }) {
  const path = pathOf(type, id);
  const [count, setCount] = useState(RUNS);
  const known = useFetched(async (signal) => {
    const [of, { platform }] = await Promise.all([get(path, {}, signal), get(`/integrations/${encodeURIComponent(type)}`, {}, signal)]);
    return { of, platform };
  }, [path]);
  const runs = useRuns(type, id, count);
  useEnd(runs.value?.rows, known.again);
  const tab = TABS.find((one) => one === query.get("tab")) ?? "runs";
  const { of, platform } = known.value ?? {};
  const rows = runs.value?.rows ?? [];
  const last = rows.find((run) => run.rows > 0);
  const lead = [platform?.name, last && t("connections.contacts", { n: last.rows })].filter(Boolean).join(" · ");
  const start = of && rows.length > 0 && html`<${Start} path=${path} platform=${platform} of=${of} runs=${rows} again=${runs.again} />`;
  return html`<${Page} title=${of?.name ?? t("connections.one")} lead=${lead} actions=${start}
      above=${html`<a href="#/connections">${t("connections.title")}</a>`}>
    ${of?.status === "active" && rows.length > 0 && html`<div class="row"><${ConnectionState} of=${of} runs=${rows} /></div>`}
    ${testing.value && html`<${Note}>${t("mode.connections")}<//>`}
    <${Fetched} from=${known} lines=${8}>${() => html`
      <${Gone} of=${of} platform=${platform} />
      <${Sections} of=${of} chosen=${tab} rows=${rows} />
      <${Fetched} from=${runs} lines=${8}>${(value) => html`<${Tab} tab=${tab} run=${query.get("run") ?? ""}
        known=${{ path, platform, of, set: (next) => known.set({ platform, of: next }), runs: value, again: runs.again, more: count < RUNS_MAX && (() => setCount((before) => before + RUNS)) }} />`}<//>`}<//>
  <//>`;
}

/** Reloads the connection when a run ends: the platform may have rejected the credentials. */
function useEnd(rows, again) {
  const going = useRef(false);
  const goesNow = Boolean(rows?.some(goes));
  useEffect(() => {
    if (going.current && !goesNow) again();
    going.current = goesNow;
  }, [goesNow]);
}

function Gone({ of, platform }) {
  if (of.status === "active") return null;
  const refused = of.disconnected_reason === "credential";
  const settings = html`<a href=${link(["connections", of.type, of.id], { tab: "settings" })}>${t("connections.reconnect")}</a>`;
  return html`<${Note} kind=${refused ? "bad" : "warning"} title=${refused ? t("connections.refused_title", { platform: platform.name }) : t("connections.gone_title")}>
    ${refused ? t("connections.refused_text") : t("connections.gone_text")} ${administrates.value && settings}<//>`;
}

function Sections({ of, chosen, rows }) {
  const open = rows.filter(waits).reduce((sum, run) => sum + run.actions.planned, 0);
  return html`<${Tabs} label=${of.name} chosen=${chosen} of=${TABS.map((name) => ({
    name, label: t(`tab.${name}`), to: link(["connections", of.type, of.id], { tab: name === "runs" ? undefined : name }), count: name === "review" && open > 0 ? number(open) : undefined,
  }))} />`;
}

function Tab({ tab, known, run }) {
  if (tab === "review") return html`<${Review} ...${known} />`;
  if (tab === "rules") return html`<${Rules} ...${known} />`;
  if (tab === "settings") return html`<${Settings} ...${known} />`;
  return html`<${Runs} ...${known} chosen=${run} />`;
}
