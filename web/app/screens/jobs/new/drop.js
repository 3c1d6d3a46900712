/** Files dropped anywhere on a list page or chosen there. The page of a new list uploads them. */
import { html, signal, useEffect, useRef, useState } from "../../../../vendor/lib.js";
import { go } from "../../../route.js";
import { t } from "../../../text.js";

/** File to be uploaded by the page of a new list. @type {{ value: File | undefined }} */
export const brought = signal(/** @type {File | undefined} */ (undefined));

/** @param {FileList | null | undefined} files */
function bring(files) {
  if (!files?.[0]) return;
  brought.value = files[0];
  go(["lists", "new"]);
}

/** Makes the whole page a drop zone while mounted. */
export function DropPage() {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const stop = new AbortController();
    const on = (name, hear) => addEventListener(name, hear, { signal: stop.signal });
    const hasFile = ({ dataTransfer }) => dataTransfer?.types.includes("Files");
    on("dragover", (event) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      setOver(true);
    });
    on("dragleave", ({ relatedTarget }) => relatedTarget === null && setOver(false));
    on("drop", (event) => {
      setOver(false);
      if (!hasFile(event)) return;
      event.preventDefault();
      bring(event.dataTransfer.files);
    });
    return () => stop.abort();
  }, []);
  return over && html`<div class="drop-page" aria-hidden="true"><b>${t("upload.drop_here")}</b></div>`;
}

/** @param {{ kind?: string }} props */
export function FileButton({ kind = "" }) {
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  return html`<label class=${`button ${kind}`} for="list-file">${t("upload.choose")}</label>
    <input class="hidden-text" type="file" id="list-file" ref=${input} accept=".csv,.tsv,.txt,.xlsx,.json,.jsonl,.ndjson,text/*"
      aria-describedby="list-file-hint" onChange=${() => bring(input.current?.files)} />`;
}
