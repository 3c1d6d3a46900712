/** One list: summary, reasons, rows and downloads, all updated live. */
import { html, useEffect, useState } from "../../../vendor/lib.js";
import { time } from "../../format.js";
import { useProgress } from "../../live.js";
import { useMetered } from "../../plan.js";
import { t } from "../../text.js";
import { Fetched, Note, Page, toast } from "../../ui.js";
import { Download } from "./download.js";
import { useCount } from "./count.js";
import { useRowFilter } from "./filter.js";
import { Actions, Heading } from "./head.js";
import { Hero } from "./hero.js";
import { nameOf } from "./name.js";
import { Rows } from "./rows.js";
import { Why } from "./why.js";

/** Source of the widget's daily summaries, which keep no rows. */
const WIDGET = "widget";

/** @param {{ id: string, query?: URLSearchParams }} props */
export function One({ id, query }) {
  const progress = useProgress(id);
  const filter = useRowFilter(id, query);
  const [cancelled, setCancelled] = useState(/** @type {{ before: number } | undefined} */ (undefined));
  const of = progress.value;
  const count = useCount(of, filter.now);
  const metered = useMetered();
  useTold(of, cancelled, metered, () => setCancelled(undefined));
  const readable = of !== undefined && !of.purged_at;
  const stop = () => setCancelled({ before: of?.credits?.returned ?? 0 });

  return html`<${Page} title=${of ? nameOf(of) : t("lists.list")} above=${html`<a href="#/lists">${t("lists.title")}</a>`}
      heading=${of && html`<${Heading} of=${of} changed=${progress.set} />`}
      actions=${of && html`<${Actions} of=${of} filter=${filter} count=${count} readable=${readable} metered=${metered} cancelled=${stop} />`}>
    <${Fetched} from=${progress} lines=${10}>${(value) => html`
      ${readable && html`<nav class="switch jumps" aria-label=${t("lists.on_page")}>${["summary", "rows"].map((part) => html`<button type="button" key=${part} onClick=${() => jump(part)}>
        ${part === "rows" ? t("lists.addresses") : t("lists.summary")}</button>`)}</nav>`}
      <${Hero} of=${value} filter=${filter} metered=${metered} readable=${readable} />
      ${value.processed > 0 && html`<${Why} of=${value} filter=${filter} readable=${readable} />`}
      ${readable ? html`<${Rows} of=${value} filter=${filter} count=${count} row=${query?.get("row") ?? ""} />
        <div class="dock"><${Download} of=${value} filter=${filter} count=${count} up=${true} /></div>`
        : html`<${Note}>${value.source === WIDGET ? t("lists.widget_day") : t("lists.purged", { at: time(value.purged_at) })}<//>`}`}<//>
  <//>`;
}

/** Scrolls to a section; the URL hash already holds the location. */
const jump = (part) => document.getElementById(part)?.scrollIntoView();

/**
 * Reports the credits released by a cancellation once the list is over. The list may have completed in the meantime.
 * @param {import("../../live.js").Progress | undefined} of @param {{ before: number } | undefined} cancelled @param {boolean} metered @param {() => void} done
 */
function useTold(of, cancelled, metered, done) {
  useEffect(() => {
    if (!of?.over || !cancelled) return;
    done();
    if (of.status !== "cancelled") return;
    toast(metered ? t("lists.returned", { n: Math.max(0, (of.credits?.returned ?? 0) - cancelled.before) }) : t("lists.stopped"));
  }, [of?.over, cancelled]);
}
