/** All lists of the organization, newest first. */
import { html, useState } from "../../../vendor/lib.js";
import { number, percent, time } from "../../format.js";
import { t } from "../../text.js";
import { Select } from "../../ui/fields.js";
import { Empty } from "../../ui/notes.js";
import { Card, Page } from "../../ui/page.js";
import { Pages, usePages } from "../../ui/table.js";
import { State } from "../../ui/verdict.js";

const STATES = ["queued", "processing", "completed", "cancelled"];
const SOURCES = ["api", "csv", "input", "widget", "integration"];

export function Catalogue() {
  const [status, setStatus] = useState("");
  const [source, setSource] = useState("");
  const jobs = usePages("/jobs", { status, source });
  const add = html`<a class="button" href="#/lists/find">${t("find.title")}</a><a class="button primary" href="#/lists/new">${t("lists.new")}</a>`;
  const columns = [
    { title: t("lists.list"), cell: (job) => html`<a href=${`#/lists/${job.id}`}>${t(`trigger.${job.source}`)}</a>
      <div class="quiet small">${time(job.created_at)}</div>` },
    { title: t("lists.state"), cell: (job) => html`<${State} of=${job.status} />` },
    { title: t("lists.rows"), number: true, cell: ({ results }) => (results ? number(results.total) : "–") },
    ...["passed", "undeliverable", "risky", "unknown"].map((of) => ({
      title: t(`status.${of}`),
      number: true,
      cell: ({ results }) => (results ? html`${number(results[of])} <span class="quiet small">${percent(results[of], results.total)}</span>` : "–"),
    })),
  ];
  const all = [["", t("lists.any")]];
  return html`<${Page} title=${t("lists.title")} lead=${t("lists.lead")} actions=${add}>
    <${Card}>
      <div class="row">
        <${Select} label=${t("lists.state")} value=${status} set=${setStatus} options=${[...all, ...STATES.map((of) => [of, t(`state.${of}`)])]} />
        <${Select} label=${t("lists.source")} value=${source} set=${setSource} options=${[...all, ...SOURCES.map((of) => [of, t(`trigger.${of}`)])]} />
      </div>
      <${Pages} of=${jobs} caption=${t("lists.title")} columns=${columns}
        empty=${html`<${Empty} title=${t("lists.none")} action=${add}>${t("lists.none_text")}<//>`} />
    <//>
  <//>`;
}
