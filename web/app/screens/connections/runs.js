/** Runs of a connection: first run, selected run, history. */
import { html, useState } from "../../../vendor/lib.js";
import { patch, post } from "../../api.js";
import { number, time } from "../../format.js";
import { useMetered } from "../../plan.js";
import { link } from "../../route.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Ago, Button, Card, Choice, Form, Note, Table } from "../../ui.js";
import { Lists } from "./lists.js";
import { goes, waits } from "./live.js";
import { RunPanel } from "./run.js";
import { actionOptions } from "./settings.js";

/** @param {import("./one.js").Known & { chosen: string, more: false | (() => void) }} props */
export function Runs({ chosen, more, ...known }) {
  const { of, runs: { rows } } = known;
  const shown = rows.find((run) => run.id === chosen) ?? rows.find((run) => goes(run) || waits(run)) ?? rows[0];
  const may = administrates.value && of.status === "active";
  if (!shown) return may ? html`<${First} ...${known} />` : html`<${Card} title=${t("connections.new")}><p>${t("connections.new_text")}</p><//>`;
  return html`
    ${may && !of.settings.action && html`<${Note}>${t("connections.no_action")} <a href=${link(["connections", of.type, of.id], { tab: "settings" })}>${t("connections.choose")}</a><//>`}
    <${RunPanel} key=${shown.id} run=${shown} ...${known} />
    <${Earlier} of=${of} rows=${rows} shown=${shown.id} more=${known.runs.more && more} />`;
}

/** Before the first run: choice of action for bad contacts and of lists, and a dry run. */
function First({ path, platform, of, set, again }) {
  // The choice has no effect before a count is confirmed; without an action, the dry run would show nothing.
  const metered = useMetered();
  const [action, setAction] = useState(of.settings.action ?? actionOptions(platform, of)[1]?.[0] ?? "");
  const [lists, setLists] = useState(/** @type {string[]} */ (of.settings.lists ?? []));
  async function send() {
    const changed = { ...(action !== (of.settings.action ?? "") && { action: action || null }), ...(String(lists) !== String(of.settings.lists ?? []) && { lists }) };
    if (Object.keys(changed).length > 0) set(await patch(path, changed));
    await post(`${path}/runs`, { dry_run: true }, true);
    again();
  }
  return html`<${Card} title=${t("connections.first")}>
    <p>${t("connections.first_text", { platform: platform.name })}</p>
    <${Form} send=${send} submit=${t("connections.check")}>
      <${Choice} label=${t("connections.action")} value=${action} set=${setAction} options=${actionOptions(platform, of)} />
      ${platform.lists && html`<${Lists} path=${path} isActive=${true} value=${lists} set=${setLists} />`}
      ${metered && html`<p class="quiet small">${t("connections.cost")}</p>`}
    <//>
  <//>`;
}

const STATES = { needs_confirmation: "warn", failed: "bad", finished: "good" };

function Earlier({ of, rows, shown, more }) {
  const columns = [
    { title: t("timeline.at"), cell: (run) => html`<a href=${link(["connections", of.type, of.id], { run: run.id })} aria-current=${run.id === shown ? "true" : undefined}><${Ago} at=${run.created_at} /></a>
      <div class="quiet small">${run.dry_run ? t("connections.dry") : t(`cause.${run.trigger}`)}</div>` },
    { title: t("lists.state"), cell: (run) => html`<span class=${`badge ${STATES[run.state] ?? ""}`}>${t(`run.${run.state}`)}</span>` },
    { title: t("connections.verified"), number: true, cell: (run) => number(run.rows) },
    ...["planned", "done", "failed", "ignored"].map((what) => ({
      title: t(`became.${what}`), number: true, cell: ({ actions }) => number(what === "planned" ? actions.planned + actions.due : actions[what]),
    })),
    { title: t("lists.results"), cell: (run) => (run.rows > 0 ? html`<a href=${link(["lists", run.id])}>${t("lists.list")}<span class="hidden-text"> ${time(run.created_at)}</span></a>` : "") },
  ];
  return html`<${Card} title=${t("tab.runs")}>
    <${Table} caption=${t("tab.runs")} columns=${columns} rows=${rows} />
    ${more && html`<div><${Button} work=${more}>${t("list.more")}<//></div>`}
  <//>`;
}
