/**
 * New list: upload (a dropped or chosen file, or pasted addresses), then a forecast before any credits are spent. The upload has
 * its own URL, so it survives a reload or a later visit.
 */
import { html, useEffect, useState } from "../../../vendor/lib.js";
import { get, remove } from "../../api.js";
import { limit, number, percent } from "../../format.js";
import { useHere } from "../../route.js";
import { t } from "../../text.js";
import { useUnsaved } from "../../unsent.js";
import { Ago, Button, Card, Fetched, Field, Form, Page, Table, toast, toastFailure, useFetched } from "../../ui.js";
import { Chosen } from "./new/chosen.js";
import { DropPage, FileButton, brought } from "./new/drop.js";
import { Unsent, send } from "./new/sending.js";
import { Stages } from "./new/stages.js";

/** @param {{ id: string }} props upload ID, or nothing */
export function New({ id }) {
  if (id) return html`<${DropPage} /><${Chosen} id=${id} />`;
  return html`<${DropPage} /><${Page} title=${t("lists.new")} lead=${t("lists.new_lead")} above=${html`<a href="#/lists">${t("lists.title")}</a>`}>
    <${Stages} at=${0} />
    <${Choose} />
  <//>`;
}

/** @typedef {{ name: string, part: number, stop: AbortController }} Sending */

/** First step. An upload continues when the user leaves, and is shown here on return. */
function Choose() {
  const [sending, setSending] = useState(/** @type {Sending | undefined} */ (undefined));
  const [failure, setFailure] = useState(/** @type {unknown} */ (undefined));
  // Kept here, so that the text survives a failed upload.
  const [pasted, setPasted] = useState("");
  useUnsaved(pasted.trim() !== "" && !sending);
  const here = useHere();
  const there = useFetched((signal) => get("/app/uploads", {}, signal), []);

  /** @param {Blob} body @param {string} name @param {"csv" | "input"} source */
  async function take(body, name, source) {
    const stop = new AbortController();
    setFailure(undefined);
    setSending({ name, part: 0, stop });
    try {
      const progress = (part) => setSending({ name, part, stop });
      const id = await send(body, { name, source }, stop.signal, progress);
      here.go(["lists", "new"], { upload: id });
      if (here.signal.aborted) toast(t("upload.arrived", { name: name || t(`trigger.${source}`) }));
    } catch (error) {
      if (here.signal.aborted) toastFailure(error);
      else if (!stop.signal.aborted) setFailure(error);
    }
    setSending(undefined);
  }

  // A file dropped on this page or on another list page.
  useEffect(() => {
    const file = brought.value;
    if (!file || sending) return;
    brought.value = undefined;
    take(file, file.name, "csv");
  }, [brought.value, sending === undefined]);

  if (sending) return html`<${Card}><${Progress} of=${sending} /><//>`;
  return html`
    ${failure !== undefined && html`<${Unsent} of=${failure} limits=${there.value?.limits} />`}
    <div class="columns">
      <${Card} title=${t("upload.file")}><${Drop} limits=${there.value?.limits} /><//>
      <${Card} title=${t("upload.paste")}><${Paste} text=${pasted} set=${setPasted} send=${take} /><//>
    </div>
    <${Fetched} from=${there}>${({ data }) => html`<${There} uploads=${data} again=${there.again} />`}<//>`;
}

/** Upload progress; after 100%, the server parses the file. @param {{ of: Sending }} props */
function Progress({ of: { name, part, stop } }) {
  const text = part < 1 ? t("upload.sending", { name }) : t("upload.reading", { name });
  return html`<div class="stack">
    <p role="status">${text}</p>
    <progress class="progress" aria-label=${text} ...${part < 1 ? { value: part } : {}}>${percent(part, 1)}</progress>
    <div><button type="button" class="button" onClick=${() => stop.abort()}>${t("dialog.cancel")}</button></div>
  </div>`;
}

/** Drop zone with a file button. The whole page accepts drops. */
function Drop({ limits }) {
  return html`<div class="drop">
    <${FileButton} kind="primary" />
    <span class="quiet">${t("upload.drop")}</span>
    <span class="quiet small" id="list-file-hint">${t("upload.hint")}
      ${limits && ` ${t("upload.limits", { size: limit(limits.bytes), rows: limits.rows })}`}</span>
  </div>`;
}

/** Typed or pasted addresses, separated by line breaks or commas. */
function Paste({ text, set, send }) {
  const lines = text.split(/[\n,;\t]+/).map((line) => line.trim()).filter(Boolean);
  const paste = () => send(new Blob([lines.join("\n")], { type: "text/plain" }), "", "input");
  return html`<${Form} send=${paste} submit=${t("upload.on")}>
    <${Field} label=${t("lists.addresses")} hint=${t("lists.addresses_hint")} rows=${8} required autocomplete="off" spellcheck=${false} value=${text} set=${set} />
    <p class="quiet small">${t("labelled", { name: t("lists.rows") })} ${number(lines.length)}</p>
  <//>`;
}

/** Uploads that are ready to start. */
function There({ uploads, again }) {
  if (uploads.length === 0) return null;
  const name = (of) => of.name || t(`trigger.${of.source}`);
  const columns = [
    { title: t("name"), cell: (of) => html`<a href=${`#/lists/new?upload=${of.id}`}>${name(of)}</a>` },
    { title: t("lists.rows"), number: true, cell: (of) => number(of.rows) },
    { title: t("upload.sent"), cell: (of) => html`<${Ago} at=${of.created_at} />` },
    { title: t("delete"), acts: true, cell: (of) => html`<${Button} kind="slim" label=${`${t("delete")} ${name(of)}`}
      work=${() => remove(`/app/uploads/${of.id}`).then(again)}>${t("delete")}<//>` },
  ];
  return html`<${Card} title=${t("upload.there")}><${Table} caption=${t("upload.there")} columns=${columns} rows=${uploads} /><//>`;
}
