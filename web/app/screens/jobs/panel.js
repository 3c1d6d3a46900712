/** All that is known of one row. Beside the table where there is room, over the page on a phone. */
import { html, useEffect, useRef } from "../../../vendor/lib.js";
import { link } from "../../route.js";
import { t } from "../../text.js";
import { Icon } from "../../ui/icon.js";
import { Ago } from "../../ui/time.js";
import { toast } from "../../ui/toasts.js";
import { Because, groundOfRow } from "../../ui/because.js";
import { Facts } from "../../ui/page.js";
import { Verdict, reason } from "../../ui/verdict.js";

/** @param {{ of: import("../../live.js").Progress, row: any, close: () => void }} props */
export function Panel({ of, row, close }) {
  const panel = useRef(/** @type {HTMLElement | null} */ (null));
  // Over the page it takes the focus; beside the table the reader goes on there.
  useEffect(() => {
    if (panel.current && getComputedStyle(panel.current).position === "fixed") panel.current.querySelector("button")?.focus();
  }, []);
  const provider = of.providers.find(({ id }) => id && id === row.provider)?.name ?? row.provider;
  const facts = /** @type {[unknown, unknown][]} */ ([
    [t("provider.provider"), provider],
    [t("lists.server"), row.host],
    [t("verify.meant"), row.suggestion && html`<a href=${link(["verify"], { email: row.suggestion })}>${row.suggestion}</a>`],
    [t("lists.verified"), row.processed && row.completed_at && html`<${Ago} at=${row.completed_at} />`],
  ]).filter(([, value]) => value);
  return html`<aside class="panel" aria-labelledby="panel-title" ref=${panel}>
    <header class="row apart"><span class="tiny quiet">${t("lists.row_of", { n: row.index + 1, rows: of.rows })}</span>
      <button type="button" class="button plain square" aria-label=${t("dialog.close")} title=${t("dialog.close")} onClick=${close}><${Icon} name="close" /></button></header>
    <div><h3 id="panel-title" class="mail">${row.email || "–"}</h3>
      <p class=${`says ${row.status ?? ""}`}><${Verdict} of=${row.processed ? row.status : "pending"} />${row.reason && html`<span>${reason(row.reason)}</span>`}</p>
      <${Because} of=${groundOfRow(row)} /></div>
    ${facts.length > 0 && html`<${Facts} of=${facts} />`}
    <footer class="row">${row.email.includes("@") && html`
      <a class="button slim" href=${link(["verify"], { email: row.email })}><${Icon} name="verify" />${t("lists.verify_one")}</a>
      ${navigator.clipboard && html`<button type="button" class="button slim" onClick=${() => copy(row.email)}><${Icon} name="copy" />${t("lists.copy_address")}</button>`}
      <button type="button" class="button plain slim narrow" onClick=${close}>${t("dialog.close")}</button>`}</footer>
  </aside>`;
}

async function copy(text) {
  await navigator.clipboard.writeText(text);
  toast(t("copy.done"));
}
