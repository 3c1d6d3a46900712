/** Daily usage of a key, and its last use. */
import { html } from "../../../vendor/lib.js";
import { get } from "../../api.js";
import { number } from "../../format.js";
import { useMetered } from "../../plan.js";
import { link } from "../../route.js";
import { t } from "../../text.js";
import { Ago, Dialog, Fetched, Figure, useFetched } from "../../ui.js";
import { StackedChart } from "../../ui/chart.js";

/** @param {{ of: any, close: () => void }} props */
export function Usage({ of: key, close }) {
  const metered = useMetered();
  const usage = useFetched((signal) => get("/reports/usage/breakdown", { by: "key", id: key.id }, signal), [key.id]);
  return html`<${Dialog} title=${t("keys.usage_of", { name: key.name })} wide=${true} close=${close}>
    <${Fetched} from=${usage} lines=${6}>${({ total, parts, days }) => html`
      <div class="grid">
        <${Figure} label=${t("keys.usage_lead")} value=${number(total)} />
        ${metered && html`<${Figure} label=${t("usage.charged")} value=${number(parts[0]?.charged)} />`}
        <${Figure} label=${t("keys.used")} value=${html`<${Ago} at=${key.last_used_at} />`} />
      </div>
      ${total === 0 ? html`<p>${t("keys.usage_none")}</p>` : html`<${StackedChart} caption=${t("keys.usage_lead")}
        days=${days.map(({ date, total: count }) => ({ date, counts: [count] }))} parts=${[{ id: key.id, label: key.name, kind: "part-1" }]} />`}
      <p><a href=${link(["usage"], { by: "key" })}>${t("keys.usage_all")}</a></p>`}<//>
  <//>`;
}
