/** Usage of a period by verdict, source, key, connection, mail provider or domain, also as CSV. */
import { html } from "../../../vendor/lib.js";
import { get } from "../../api.js";
import { number, percent, providerName } from "../../format.js";
import { readableDomain } from "../../idn.js";
import { useMetered } from "../../plan.js";
import { t } from "../../text.js";
import { Button, Card, Empty, Fetched, Field, Select, STATUSES, Table, useFetched } from "../../ui.js";
import { StackedChart } from "../../ui/chart.js";
import { csv } from "./csv.js";
import { PERIODS, periodOf } from "./periods.js";

const DIMENSIONS = ["status", "source", "key", "connection", "provider", "domain"];
/** Parts with their own color in the chart; the table shows more. */
const COLOURS = 6;

/**
 * One part of the total, for display.
 * @typedef {{ id: string, label: string, kind: string, verified: number, charged: number | null, counts: number[] }} Shown
 */

/** @param {{ filter: import("../../filter.js").Filter<Record<"period" | "by" | "show" | "from" | "to", string>> }} props */
export function Division({ filter: { now, set } }) {
  const by = DIMENSIONS.find((one) => one === now.by) ?? "status";
  const named = PERIODS.find((one) => one === now.show) ?? "30";
  const { from, to } = named === "own" ? now : periodOf(named);
  const wrong = from > to ? t("usage.wrong_order") : Date.parse(to) - Date.parse(from) > 365 * 86_400_000 ? t("usage.too_long") : undefined;
  const usage = useFetched((signal) => (wrong || !from || !to ? Promise.resolve(undefined) : get("/reports/usage/breakdown", { by, from, to }, signal)), [by, from, to]);
  const choose = (show) => set(show === "own" ? { show, from, to } : { show, from: "", to: "" });
  const actions = usage.value && html`<${Button} kind="slim" work=${() => csv(`usage-${by}-${from}-${to}.csv`, usage.value, partsOf(usage.value))}>${t("usage.export")}<//>`;
  return html`<${Card} title=${t("usage.by_day")} actions=${actions}>
    <div class="row">
      <${Select} label=${t("usage.by")} value=${by} set=${(next) => set({ by: next })} options=${DIMENSIONS.map((of) => [of, t(`usage.by_${of}`)])} />
      <${Select} label=${t("show")} value=${named} set=${choose} options=${PERIODS.map((of) => [of, Number(of) ? t("usage.days", { n: Number(of) }) : t(`usage.${of}`)])} />
      ${named === "own" && html`
        <${Field} label=${t("usage.from")} type="date" required value=${from} set=${(day) => set({ from: day })} wrong=${wrong} />
        <${Field} label=${t("usage.to")} type="date" required value=${to} set=${(day) => set({ to: day })} />`}
    </div>
    ${by === "domain" && html`<p class="quiet small">${t("usage.domains_text")}</p>`}
    ${!wrong && from && to && html`<${Fetched} from=${usage} lines=${8}>${(of) => html`<${Divided} of=${of} />`}<//>`}
  <//>`;
}

function Divided({ of }) {
  const metered = useMetered();
  if (of.total === 0) return html`<${Empty} title=${t("usage.none")} action=${html`<a class="button" href="#/verify">${t("verify.title")}</a>`}>${t("usage.none_text")}<//>`;
  const parts = partsOf(of);
  const [drawn, few] = [parts.slice(0, COLOURS), parts.slice(COLOURS)];
  const rest = few.length > 0 ? [{ id: "rest", label: t("provider.other"), kind: "rest", counts: of.days.map((_, n) => few.reduce((sum, part) => sum + part.counts[n], 0)) }] : [];
  const series = [...drawn, ...rest];
  const days = of.days.map(({ date }, n) => ({ date, counts: series.map((part) => part.counts[n]) }));
  const columns = [
    { title: t(`usage.by_${of.by}`), cell: (part) => html`<span class=${`legend ${part.kind}`}>${part.label}</span>` },
    { title: t("lists.addresses"), number: true, cell: (part) => number(part.verified) },
    { title: t("usage.share"), number: true, cell: (part) => percent(part.verified, of.total) },
    ...(of.by === "provider" || !metered ? [] : [{ title: t("usage.charged"), number: true, cell: (part) => (part.charged === null ? "–" : number(part.charged)) }]),
  ];
  return html`<div class="stack"><${StackedChart} caption=${t("usage.by_day")} days=${days} parts=${series} />
    <${Table} caption=${t(`usage.by_${of.by}`)} columns=${columns} rows=${parts} /></div>`;
}

/** Parts in descending order, verdicts in their fixed order; the remainder last. @returns {Shown[]} */
function partsOf({ by, total, parts, days }) {
  const all = by === "status" ? STATUSES.map((id) => parts.find((part) => part.id === id) ?? { id, name: null, verified: 0, charged: 0 }) : parts;
  const shown = all.map((part, n) => ({
    id: part.id ?? "none",
    label: labelOf(by, part),
    kind: by === "status" ? part.id : n < COLOURS ? `part-${n + 1}` : "rest",
    verified: part.verified,
    charged: part.charged,
    counts: days.map((day) => day.parts[parts.indexOf(part)] ?? 0),
  }));
  const rest = total - shown.reduce((sum, part) => sum + part.verified, 0);
  if (rest <= 0) return shown;
  const counts = days.map((day) => day.total - day.parts.reduce((sum, count) => sum + count, 0));
  return [...shown, { id: "others", label: t("provider.other"), kind: "rest", verified: rest, charged: null, counts }];
}

/** @param {string} by @param {{ id: string | null, name: string | null }} part */
function labelOf(by, { id, name }) {
  if (id === null) return by === "provider" ? t("usage.no_provider") : by === "key" ? t("usage.no_key") : t("usage.no_connection");
  if (by === "status") return t(`status.${id}`);
  return by === "source" ? t(`trigger.${id}`) : by === "domain" ? readableDomain(id) : by === "provider" && name ? providerName(name) : name ?? id;
}
