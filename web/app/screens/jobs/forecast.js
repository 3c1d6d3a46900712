/** What a list would come to: ranges, each with where it comes from. */
import { html } from "../../../vendor/lib.js";
import { duration, number, percent, time } from "../../format.js";
import { useMetered } from "../../plan.js";
import { t } from "../../text.js";
import { Note } from "../../ui/notes.js";
import { Figure } from "../../ui/page.js";
import { Table } from "../../ui/table.js";

/** @param {{ of: any }} props */
export function Forecast({ of: { counts, providers, accept_all, unknown, credits, time: takes } }) {
  const metered = useMetered();
  return html`<div class="stack">
    <div class="grid">
      ${metered && html`<${Figure} label=${t("lists.at_most")} value=${number(credits.high)}>${t("forecast.held", { n: credits.held })}<//>
        <${Figure} label=${t("lists.there")} value=${number(credits.available)} />`}
      <${Figure} label=${t("forecast.unknown")} value=${range(unknown.low, unknown.high)}>${unknown.history ? days(unknown.history) : t("forecast.no_history")}<//>
      <${Figure} label=${t("forecast.accept_all")} value=${number(accept_all)}>${t("forecast.accept_all_text")}<//>
      <${Figure} label=${t("forecast.time")} value=${lasting(takes)}>${pace(takes, providers)}<//>
    </div>
    ${!credits.enough && html`<${Note} kind="warning">${t("failure.insufficient_credits")}<//>`}
    <${Providers} of=${providers} whole=${counts.distinct} />
  </div>`;
}

/** A range that may be open above. */
function range(low, high) {
  if (high === null) return t("forecast.at_least", { low: number(low) });
  return low === high ? number(low) : t("forecast.range", { low: number(low), high: number(high) });
}

const days = (history) => t("forecast.history", { n: history.days, low: percent(history.low, 1), high: percent(history.high, 1) });

function lasting({ low_s: low, high_s: high }) {
  const lower = low < 60 ? t("forecast.under_a_minute") : duration(low);
  if (high === null) return t("forecast.at_least", { low: lower });
  return high < 60 || duration(high) === lower ? lower : t("forecast.range", { low: lower, high: duration(high) });
}

function pace({ slowest, per_minute, sources }, providers) {
  if (slowest === null || per_minute === 0) return null;
  const name = providers.find(({ id }) => id === slowest)?.name || t("forecast.domain");
  return t("forecast.pace", { name, per_minute: number(per_minute), sources: number(sources) });
}

function Providers({ of, whole }) {
  if (of.length === 0) return null;
  const name = ({ id, name: known }) => known || (id === "others" ? t("forecast.others") : t("forecast.nobody"));
  const columns = [
    { title: t("forecast.provider"), cell: name },
    { title: t("lists.addresses"), number: true, cell: ({ addresses }) => number(addresses) },
    { title: t("usage.share"), number: true, cell: ({ addresses }) => percent(addresses, whole) },
    { title: t("forecast.note"), cell: ({ never_tells, held_until }) => (never_tells ? t("forecast.never_tells") : held_until ? t("forecast.held_until", { at: time(held_until) }) : "") },
  ];
  return html`<${Table} caption=${t("forecast.providers")} columns=${columns} rows=${of} id=${({ id }) => id} />`;
}
