/** Download of list results: the filtered rows or a preset. */
import { html, useEffect, useId, useState } from "../../../vendor/lib.js";
import { address, get, offered } from "../../api.js";
import { number } from "../../format.js";
import { language, t } from "../../text.js";
import { Check, Icon, Menu, Switch, telling, useFetched } from "../../ui.js";

const FORMATS = ["csv", "xlsx", "ndjson"];

/** Presets with their row counts. */
const presets = () => /** @type {[string, string, string[]][]} */ ([
  ["passed", t("lists.only_passed"), ["passed"]],
  ["sendable", t("lists.all_but_bad"), ["passed", "risky", "unknown"]],
  ["risky", t("lists.only_risky"), ["risky"]],
]);

/**
 * @param {{ of: import("../../live.js").Progress, filter: import("./filter.js").Filtering, count: number | undefined, up?: boolean, these?: boolean }} props
 *   `count`: filtered rows, `undefined` until counted; `these`: stands beside them
 */
export function Download({ of, filter, count, up = false, these = false }) {
  const id = useId();
  const [chosen, setChosen] = useState("");
  // A new filter resets the choice to the visible rows.
  useEffect(() => setChosen(""), [filter.now]);
  const [format, setFormat] = useState("csv");
  const [own, setOwn] = useState(true);
  // While the uploaded file is kept, downloads can include its columns.
  const uploads = useFetched((signal) => (of.source === "csv" ? get("/app/uploads", { job: of.id }, signal) : Promise.resolve({ data: [] })), [of.source, of.id]);
  const kept = uploads.value?.data.length > 0;
  const columns = kept && own ? "original" : "";
  const path = `/batch-verify/${encodeURIComponent(of.id)}/download`;
  // Rows without a verdict are only included in a download of all rows.
  const filtered = filter.any && filter.now.status !== "pending";
  const what = chosen || (filtered ? "filtered" : "all");
  const preset = presets().find(([name]) => name === what);
  const query = { format, columns, ...(format === "xlsx" && { language: language() }), ...(preset ? { status: preset[2].join(",") } : what === "filtered" ? filter.now : {}) };
  const choices = /** @type {[string, string, number | undefined][]} */ ([
    ...(filtered ? [["filtered", t("lists.what_filtered"), count]] : []),
    ...presets().map(([name, text, statuses]) => [name, text, statuses.reduce((sum, status) => sum + of[status], 0)]),
    // The uploaded file has rows without an address, too.
    ["all", t("lists.everything"), of.rows + (columns ? of.without ?? 0 : 0)],
  ]);
  const n = choices.find(([name]) => name === what)?.[2];
  // The server puts the number into the file's name.
  const named = { ...query, rows: n };
  const label = these ? t("lists.download_these") : filtered && count !== undefined ? t("lists.download_n", { n: count }) : t("lists.download");
  return html`<${Menu} kind=${these ? "slim" : "primary"} up=${up} label=${html`<${Icon} name="download" />${label}<${Icon} name="down" />`}>
    <fieldset class="field"><legend>${t("lists.which")}</legend><div class="stack tight">${choices.map(([name, text, rows]) => html`<div class="choice" key=${name}>
      <input type="radio" id=${`${id}-${name}`} name=${id} checked=${what === name} onChange=${() => setChosen(name)} />
      <label for=${`${id}-${name}`}>${text} <span class="quiet">${rows !== undefined && number(rows)}</span></label></div>`)}</div></fieldset>
    <${Switch} label=${t("lists.format")} options=${FORMATS.map((name) => [name, t(`format.${name}`)])} value=${format} set=${setFormat} />
    ${kept && html`<${Check} label=${t("lists.own_columns")} checked=${own} set=${setOwn} />`}
    <a class="button primary" download href=${address(path, named)} onClick=${taking(path, named)}><${Icon} name="download" />${n === undefined ? t("lists.download_as", { format: t(`format.${format}`) }) : t("lists.download_rows", { n, format: t(`format.${format}`) })}</a>
  <//>`;
}

/** Returns a handler that downloads a file, or shows why there is none. @param {string} path @param {Record<string, unknown>} [query] */
export const taking = (path, query = {}) =>
  telling(async () => {
    await offered(path, query);
    save(address(path, query));
  });

/** Starts a browser download by link. @param {string} from */
function save(from) {
  const link = document.createElement("a");
  link.href = from;
  link.download = "";
  link.click();
}
