/** What was sent, before it is started: how it was read, what is in it, what it would come to. */
import { html, useState } from "../../../vendor/lib.js";
import { get, patch, post } from "../../api.js";
import { number, size, time } from "../../format.js";
import { testing } from "../../mode.js";
import { isMute, lack } from "../../reach.js";
import { useHere } from "../../route.js";
import { t } from "../../text.js";
import { Check, Form, Select } from "../../ui/fields.js";
import { Failure, Note } from "../../ui/notes.js";
import { Card, Facts, Figure } from "../../ui/page.js";
import { Fetched, useFetched } from "../../ui/table.js";
import { Forecast } from "./forecast.js";
import { Unsent, bodyOf, send } from "./sending.js";

const ENCODINGS = { "utf-8": "UTF-8", "utf-8-bom": "UTF-8", "utf-16le": "UTF-16", "utf-16be": "UTF-16" };

/** @param {{ id: string }} props */
export function Chosen({ id }) {
  const place = `/app/uploads/${encodeURIComponent(id)}`;
  const [change, setChange] = useState(/** @type {{ to?: { column?: number, header?: boolean }, failure?: unknown }} */ ({}));
  const upload = useFetched((signal) => get(place, {}, signal), [place]);

  /** @param {{ column?: number, header?: boolean }} to */
  async function choose(to) {
    setChange({ to });
    try {
      upload.set(await patch(place, to));
      setChange({});
    } catch (failure) {
      setChange({ failure });
    }
  }

  return html`<${Fetched} from=${upload} lines=${10}>${(of) => html`
    <${Card} title=${of.name || t(`trigger.${of.source}`)}>
      <${Facts} of=${facts(of)} />
      ${reading(of) && html`<${Note} kind="warning">${reading(of)}<//>`}
      ${of.sheets.length > 1 && html`<${Sheets} of=${of} />`}
    <//>
    <${Card} title=${t("upload.preview")}>
      ${of.kind !== "txt" && html`<${Choice} of=${{ ...of, ...change.to }} choose=${choose} busy=${change.to !== undefined} />`}
      ${change.failure !== undefined && html`<${Failure} of=${change.failure} />`}
      <div class="found" aria-live="polite" aria-busy=${change.to !== undefined}><${Counts} of=${of} /></div>
      <${Preview} of=${of} />
    <//>
    ${of.counts && html`<${Start} of=${of} place=${place} busy=${change.to !== undefined} again=${upload.again} />`}`}<//>`;
}

/** Which sheet of a workbook was read. Another one is a list of its own, and takes the place of this one. */
function Sheets({ of }) {
  const [state, setState] = useState(/** @type {{ sheet?: string, failure?: unknown }} */ ({}));
  const here = useHere();
  const workbook = of.job ? undefined : bodyOf(of.id);
  const note = html`<${Note}>${t("upload.sheets", { sheet: of.sheet, n: of.sheets.length })} ${!of.job && !workbook && t("upload.sheets_again")}<//>`;
  if (!workbook) return note;

  /** @param {string} sheet */
  const read = async (sheet) => {
    setState({ sheet });
    try {
      const id = await send(workbook, { name: of.name, source: of.source, sheet, replaces: of.id }, here.signal);
      here.go(["lists", "new"], { upload: id }, true);
    } catch (failure) {
      setState({ failure });
    }
  };
  return html`<div class="stack" aria-busy=${state.sheet !== undefined}>
    ${note}
    ${state.failure !== undefined && html`<${Unsent} of=${state.failure} />`}
    <div class="row"><${Select} label=${t("upload.sheet")} value=${state.sheet ?? of.sheet} set=${read} disabled=${state.sheet !== undefined}
      options=${of.sheets.map((sheet) => [sheet, sheet])} /></div>
  </div>`;
}

function facts(of) {
  const separator = of.delimiter === "\t" ? t("upload.tab") : of.delimiter;
  const read = [t(`upload.kind_${of.kind}`), ENCODINGS[of.encoding] ?? of.encoding, separator && t("upload.separated", { by: separator })];
  return [
    [t("upload.read_as"), read.filter(Boolean).join(", ")],
    [t("upload.size"), size(of.size)],
    [t("upload.kept"), time(of.expires_at)],
  ];
}

/** What may be wrong about the letters of a text. @param {any} of */
function reading(of) {
  const older = of.encoding && !ENCODINGS[of.encoding];
  if (older) return t("upload.older", { encoding: of.encoding });
  return of.windows_1252 && t("upload.windows");
}

/** Which column has the addresses. What was chosen shows at once, and is counted meanwhile. */
function Choice({ of, choose, busy }) {
  const columns = of.columns.map((name, column) => /** @type {[string, string]} */ ([String(column), shown(of, name, column)]));
  const options = of.column === null ? [/** @type {[string, string]} */ (["", t("upload.no_column")]), ...columns] : columns;
  const set = (column) => column !== "" && choose({ column: Number(column) });
  return html`<div class="row">
    <${Select} label=${t("upload.column")} value=${String(of.column ?? "")} set=${set} options=${options} disabled=${busy} />
    ${of.kind !== "jsonl" && html`<${Check} label=${t("upload.header")} checked=${of.header} disabled=${busy} set=${(header) => choose({ header })} />`}
  </div>`;
}

/** The name of a column: what has none is called by its number. */
function shown(of, name, column) {
  return of.header || of.kind === "jsonl" ? name : t("upload.numbered", { n: column + 1 });
}

/** The first rows, as they were read. */
function Preview({ of }) {
  const caption = t("upload.first_rows", { n: of.preview.length });
  const chosen = (column) => (column === of.column ? "chosen" : undefined);
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}><table class="table preview">
    <caption class="hidden-text">${caption}</caption>
    <thead><tr>${of.columns.map((name, column) => html`<th scope="col" class=${chosen(column)}>${shown(of, name, column)}
      ${chosen(column) && html`<span class="small"> (${t("lists.addresses")})</span>`}</th>`)}</tr></thead>
    <tbody>${of.preview.map((row, index) => html`<tr key=${index}>${row.map((cell, column) => html`<td class=${chosen(column)} data-title=${shown(of, of.columns[column], column)}><div>${cell}</div></td>`)}</tr>`)}</tbody>
  </table></div>`;
}

function Counts({ of }) {
  const { counts, rows, first_empty, better_column } = of;
  if (!counts) return html`<${Note} kind="warning">${t("upload.no_column")}<//>`;
  const better = better_column !== null && shown(of, of.columns[better_column], better_column);
  return html`${better && html`<${Note} kind="warning">${t("upload.better_column", { column: better })}<//>`}
  <div class="grid">
    <${Figure} label=${t("lists.rows")} value=${number(rows)} />
    <${Figure} label=${t("upload.distinct")} value=${number(counts.distinct)} />
    <${Figure} label=${t("lists.duplicates")} value=${number(counts.duplicates)}>${t("lists.duplicates_free")}<//>
    <${Figure} label=${t("upload.empty")} value=${number(counts.empty)}>${first_empty !== null && t("upload.first_empty", { row: number(first_empty) })}<//>
    <${Figure} label=${t("upload.invalid")} value=${number(counts.invalid)} />
  </div>`;
}

/**
 * The forecast, and the button that spends: not before the forecast of this very column is there, and on no other column. Where
 * somebody else has chosen one meanwhile, `again` shows it.
 */
function Start({ of, place, busy, again }) {
  // The sandbox needs no forecast: it asks nobody, and costs nothing.
  const free = testing.value;
  const forecast = useFetched((signal) => (free ? Promise.resolve(undefined) : get(`${place}/forecast`, {}, signal)), [place, of.column, of.header, free]);
  const here = useHere();
  const stale = (failure) => {
    if (failure.code === "conflict") again();
    throw failure;
  };
  const start = async () => {
    const { id } = of.job ? { id: of.job } : await post(`${place}/start`, { column: of.column, header: of.header }).catch(stale);
    here.go(["lists", id], {}, true);
  };
  return html`<section class="card forecast"><h2>${free ? t("mode.test_title") : t("forecast.title")}</h2>
    <p class="quiet">${free ? t("mode.test_text") : t("forecast.lead")}</p>
    ${isMute() && html`<${Note} kind="warning" title=${t("reach.title")}>${lack()} ${t("reach.list")}<//>`}
    ${!free && html`<${Fetched} from=${forecast} lines=${6}>${(found) => html`<${Forecast} of=${found} />`}<//>`}
    <${Form} send=${start} waits=${busy || (!free && !of.job && !forecast.value)} submit=${of.job ? t("upload.started") : t("lists.start", { n: of.counts.distinct })} />
  </section>`;
}
