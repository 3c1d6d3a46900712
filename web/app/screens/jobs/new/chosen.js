/** Uploaded list before its start: parsing, contents, forecast. */
import { html, useState } from "../../../../vendor/lib.js";
import { ask, get, patch, post, remove } from "../../../api.js";
import { number, size, time } from "../../../format.js";
import { testing } from "../../../mode.js";
import { isMute, lack } from "../../../reach.js";
import { useHere } from "../../../route.js";
import { session } from "../../../session.js";
import { t } from "../../../text.js";
import { Button, Check, Failure, Fetched, Figure, Form, Icon, Note, Page, Strip, toastFailure, useFetched } from "../../../ui.js";
import { Brief, Forecast, MailProviders } from "./forecast.js";
import { Encoding, LeftOut, Remarks, encodingName } from "./reading.js";
import { ReadAgain, bodyOf } from "./sending.js";
import { Stages } from "./stages.js";

/** Preview rows. */
const ROWS = 5;

/** @param {{ id: string }} props */
export function Chosen({ id }) {
  const place = `/app/uploads/${encodeURIComponent(id)}`;
  const upload = useFetched((signal) => get(place, {}, signal), [place]);
  const here = useHere();
  const of = upload.value;
  const title = of ? of.name || t(`trigger.${of.source}`) : t("lists.new");
  const discard = async () => {
    await remove(place);
    here.go(["lists", "new"], {}, true);
  };
  return html`<${Page} title=${title} above=${html`<a href="#/lists">${t("lists.title")}</a>`}
      heading=${of && html`<div class="grow"><h1>${title}</h1><p class="meta">${facts(of).map((fact) => html`<span key=${fact}>${fact}</span>`)}</p></div>`}
      actions=${html`${of && !of.job && html`<${Button} kind="plain" work=${discard}><${Icon} name="bin" />${t("upload.discard")}<//>`}
        <a class="button" href="#/lists/new">${t("upload.other")}</a>`}>
    <${Stages} at=${of?.counts ? 2 : 1} />
    <${Fetched} from=${upload} lines=${10}>${(found) => html`<${Reading} of=${found} upload=${upload} place=${place} />`}<//>
  <//>`;
}

/** Column choice on one side, forecast on the other. */
function Reading({ of, upload, place }) {
  const [change, setChange] = useState(/** @type {{ to?: { column?: number, header?: boolean }, failure?: unknown }} */ ({}));
  // The sandbox needs no forecast: it probes no mail server and is free.
  const free = testing.value;
  const isCounted = of.counts !== null;
  const forecast = useFetched((signal) => (free || !isCounted ? Promise.resolve(undefined) : get(`${place}/forecast`, {}, signal)), [place, of.column, of.header, free, isCounted]);

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
  const busy = change.to !== undefined;
  return html`<div class="stack wide-gap">
      <${Encoding} of=${of} />
      <${Remarks} of=${of} />
      ${of.sheets.length > 1 && html`<section class="card"><${Sheets} of=${of} /></section>`}
      <${Column} of=${{ ...of, ...change.to }} choose=${choose} busy=${busy} failure=${change.failure} />
      <${Counts} of=${of} busy=${busy} />
      ${forecast.value && html`<${MailProviders} of=${forecast.value} />`}
    </div>
    ${isCounted && html`<${Start} of=${of} place=${place} busy=${busy} forecast=${forecast} again=${upload.again} />`}`;
}

/** Sheet choice for a workbook. Another sheet becomes a new upload that replaces this one. */
function Sheets({ of }) {
  const again = !of.job && bodyOf(of.id);
  return html`<div class="stack">
    <${Note}>${t("upload.sheets", { sheet: of.sheet, n: of.sheets.length })} ${!of.job && !again && t("upload.sheets_again")}<//>
    ${again && html`<${ReadAgain} of=${of} what="sheet" label=${t("upload.sheet")} value=${of.sheet} options=${of.sheets.map((sheet) => [sheet, sheet])} />`}
  </div>`;
}

/** Format facts and expiry. @returns {string[]} */
function facts(of) {
  const separator = of.delimiter === "\t" ? t("upload.tab") : of.delimiter;
  const read = [t(`upload.kind_${of.kind}`), separator && t("upload.separated", { by: separator })].filter(Boolean).join(", ");
  return [read, encodingName(of.encoding), size(of.size), !of.job && t("upload.kept_until", { at: time(of.expires_at) })].filter(Boolean);
}

/** Column name, or its number if it has none. */
function shown(of, name, column) {
  return of.header || of.kind === "jsonl" ? name : t("upload.numbered", { n: column + 1 });
}

/** Preview of the first rows with the address column. A click on another column selects it at once; its counts follow. */
function Column({ of, choose, busy, failure }) {
  const rows = of.preview.slice(0, ROWS);
  const caption = t("upload.first_rows", { n: rows.length });
  const fixed = of.kind === "txt" || Boolean(of.job);
  const kind = (column) => (column === of.column ? "chosen" : undefined);
  const pick = (column) => column !== of.column && !busy && !fixed && choose({ column });
  const names = of.columns.map((name, column) => shown(of, name, column));
  return html`<section class="card bare column" aria-labelledby="column-title" aria-busy=${busy}>
    <header class="ruled"><h2 id="column-title">${t("upload.column")}</h2>
      ${of.kind !== "jsonl" && !fixed && html`<${Check} label=${t("upload.header")} checked=${of.header} disabled=${busy} set=${(header) => choose({ header })} />`}</header>
    ${failure !== undefined && html`<div class="inside"><${Failure} of=${failure} /></div>`}
    <div class="scroll" tabindex="0" role="region" aria-label=${caption}><table class="table preview">
      <caption class="hidden-text">${caption}</caption>
      <thead><tr>${names.map((name, column) => html`<th scope="col" key=${column} class=${kind(column)}>${fixed ? name
        : html`<button type="button" aria-pressed=${column === of.column} aria-disabled=${busy} onClick=${() => pick(column)}>${kind(column) && html`<${Icon} name="check" />`}${name}</button>`}</th>`)}</tr></thead>
      <tbody>${rows.map((row, index) => html`<tr key=${index}>${row.map((cell, column) => html`<td key=${column} class=${kind(column)} data-title=${names[column]}
        onClick=${() => pick(column)}><div class="cut" title=${cell}>${cell}</div></td>`)}</tr>`)}</tbody>
    </table></div>
    <footer class="foot small quiet">${t("upload.rows_of", { n: rows.length, rows: number(of.rows) })} ${!fixed && names.length > 1 && t("upload.column_hint")}</footer>
  </section>`;
}

/** Row counts of the column, by kind. */
function Counts({ of, busy }) {
  const { counts, rows, better_column, other_columns } = of;
  const name = (column) => shown(of, of.columns[column], column);
  const isEmpty = counts && counts.distinct === counts.invalid;
  const better = isEmpty && better_column !== null && t("upload.better_column", { column: name(better_column) });
  const others = other_columns.map(({ column, addresses }) => t("upload.other_column", { column: name(column), n: addresses }));
  const beside = others.length > 0 && t("upload.other_columns", { n: other_columns.reduce((sum, { addresses }) => sum + addresses, 0), columns: others.join(", ") });
  return html`<section class="card bare found" aria-labelledby="counts-title"><header><h2 id="counts-title">${t("upload.contents")}</h2>
      <span class="small quiet">${t("lists.sum_rows", { n: rows })}</span></header>
    <div class="inside stack" aria-live="polite" aria-busy=${busy}>
      ${!counts && html`<${Note} kind="warning">${t("upload.no_column")}<//>`}
      ${counts && html`${(better || beside) && html`<${Note} kind="warning">${better || beside}<//>`}
        <${Strip} kind="l counted" parts=${[["addresses", counts.distinct - counts.invalid], ["undeliverable", counts.invalid], ["duplicates", counts.duplicates]]} total=${rows} />
        <div class="grid">
          <${Figure} label=${t("upload.distinct")} value=${number(counts.distinct)} />
          <${Figure} label=${t("lists.duplicates")} value=${number(counts.duplicates)}>${t("upload.verified_once")}<//>
          <${Figure} label=${t("upload.empty")} value=${number(counts.empty)} />
          <${Figure} label=${t("upload.invalid")} value=${number(counts.invalid)}>${counts.invalid > 0 && t("upload.among")}<//>
        </div>
        <${LeftOut} of=${of} />`}
    </div></section>`;
}

/**
 * Forecast and start button. The button requires the forecast of the selected column. If another user has selected a different
 * column, `again` shows it.
 */
function Start({ of, place, busy, forecast, again }) {
  const free = testing.value;
  const none = !of.job && of.counts.distinct === 0;
  const [mail, setMail] = useState(false);
  const here = useHere();
  const stale = (failure) => {
    if (failure.code === "conflict") again();
    throw failure;
  };
  const start = async () => {
    const { id } = of.job ? { id: of.job } : await post(`${place}/start`, { column: of.column, header: of.header }).catch(stale);
    // A list that has already completed needs no email.
    if (mail) await ask("PUT", `/app/jobs/${encodeURIComponent(id)}/mail`).catch((failure) => failure.code === "conflict" || toastFailure(failure));
    here.go(["lists", id], {}, true);
  };
  return html`<section class="card forecast" aria-labelledby="forecast-title"><div><h2 id="forecast-title">${free ? t("mode.test_title") : t("forecast.title")}</h2>
      <p class="small quiet">${free ? t("mode.test_text") : t("forecast.lead")}</p></div>
    ${isMute() && html`<${Note} kind="warning" title=${t("reach.title")}>${lack()} ${t("reach.list")}<//>`}
    ${!free && html`<${Fetched} from=${forecast} lines=${6}>${(found) => html`<${Forecast} of=${found} />`}<//>`}
    ${none ? html`<${Note}>${t("lists.start_none")}<//>` : html`<${Form} send=${start} waits=${busy || (!free && !of.job && !forecast.value)} submit=${of.job ? t("upload.started") : t("lists.start", { n: of.counts.distinct })}>
      ${!free && forecast.value && html`<${Brief} of=${forecast.value} />`}
      ${!of.job && session.value?.sends_mail && html`<${Check} label=${t("lists.mail")} checked=${mail} set=${setMail} />`}<//>`}
    <p class="small quiet centered">${t("forecast.no_mail")}</p>
  </section>`;
}
