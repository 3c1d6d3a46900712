/** Deliveries of the last 48 hours: share of successes, and a bar per hour. */
import { html } from "../../../vendor/lib.js";
import { get } from "../../api.js";
import { clock, number, percent } from "../../format.js";
import { t } from "../../text.js";
import { Figure, useFetched } from "../../ui.js";

/** Height of the bars, and least height of a part, in percent. */
const [HIGH, LEAST] = [100, 6];
const PARTS = ["delivered", "waiting", "exhausted"];

const sumOf = (counts) => PARTS.reduce((sum, part) => sum + counts[part], 0);

/** @param {{ path: string, part: string | undefined }} props `part`: reports changes */
export function Hours({ path, part }) {
  const hours = useFetched((signal) => get(`/app${path}/hours`, {}, signal), [path], part);
  /** @type {any[]} */
  const data = hours.value?.data ?? [];
  const [delivered, waiting, exhausted] = PARTS.map((part) => data.reduce((sum, hour) => sum + hour[part], 0));
  if (delivered + waiting + exhausted === 0) return null;
  const ended = delivered + exhausted;
  return html`<section class="card hours" aria-label=${t("webhooks.hours")}>
    <${Figure} label=${t("webhooks.share")} value=${ended > 0 ? percent(delivered, ended) : "–"}>${t("webhooks.share_of", { done: delivered, n: ended })}<//>
    <${Figure} label=${t("webhooks.retrying")} value=${number(waiting)}>${waiting > 0 && t("webhooks.retrying_text")}<//>
    <div class="grow"><${Bars} data=${data} /><p class="row apart tiny quiet"><span>${clock(data[0].at)}</span><span>${t("time.now")}</span></p></div>
  </section>`;
}

/** One bar per hour; failures on top. The figures have the same data. @param {{ data: any[] }} props */
function Bars({ data }) {
  const most = Math.max(1, ...data.map(sumOf));
  return html`<svg class="bars" viewBox=${`0 0 ${data.length * 10} ${HIGH}`} preserveAspectRatio="none" aria-hidden="true">${data.map((hour, n) => {
    let top = HIGH;
    return html`<g key=${hour.at}><title>${clock(hour.at)}: ${PARTS.filter((part) => hour[part] > 0).map((part) => `${t(`delivery.${part}`)} ${number(hour[part])}`).join(", ")}</title>
      <rect class="none" x=${n * 10 + 1} width="8" y=${HIGH - 1} height="1" />
      ${PARTS.filter((part) => hour[part] > 0).map((part) => {
        const height = Math.max(LEAST, (HIGH * hour[part]) / most);
        top -= height;
        return html`<rect class=${part} x=${n * 10 + 1} width="8" y=${Math.max(0, top)} height=${height} />`;
      })}</g>`;
  })}</svg>`;
}
