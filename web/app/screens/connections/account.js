/** Platform account: name, credential status, new credentials, and deletion of the connection. */
import { html, useState } from "../../../vendor/lib.js";
import { patch, post, remove } from "../../api.js";
import { day, sentence } from "../../format.js";
import { useHere } from "../../route.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Ago, Asking, Button, Card, Dialog, Facts, Note, Renaming, toast } from "../../ui.js";
import { Credentials } from "./credentials.js";

/** @param {import("./one.js").Known} props */
export function Account({ path, platform, of, set }) {
  const [open, setOpen] = useState("");
  const [tested, setTested] = useState(/** @type {any} */ (undefined));
  const here = useHere();
  const close = () => setOpen("");
  const test = async () => setTested(await post(`${path}/test`, undefined, true));
  async function reconnect(credentials) {
    set(await patch(path, { credentials }));
    setTested(undefined);
    toast(t("connections.reconnected", { platform: platform.name }));
    close();
  }
  async function end() {
    await remove(path);
    toast(t("connections.deleted", { name: of.name }));
    here.go(["connections"]);
  }
  const isActive = of.status === "active";
  const button = (what) => html`<button type="button" class="button slim" onClick=${() => setOpen(what)}>${t(`manage.${what}`)}</button>`;
  return html`<${Card} title=${t("connections.one")}>
    <${Facts} of=${[
      [t("connections.platform"), platform.name],
      [t("connections.created"), day(of.created_at)],
      [t("connections.last"), html`<${Ago} at=${of.last_synced_at} />`],
    ]} />
    ${tested && html`<div role="status"><${Note} kind=${tested.credential_valid ? "good" : "bad"}>${tested.credential_valid ? t("connections.works", { platform: platform.name }) : t("connections.works_not", { why: sentence(tested.reason) })}<//></div>`}
    ${administrates.value && html`<div class="row">
      ${isActive && html`<${Button} kind="slim" work=${test}>${t("connections.test")}<//>`}
      ${button("rename")} ${button("reconnect")}
      ${isActive && html`<${Asking} kind="slim danger" label=${t("manage.delete")} work=${end}>${t("connections.delete_text", { name: of.name, platform: platform.name })}<//>`}</div>`}
    ${open === "rename" && html`<${Renaming} title=${t("manage.rename")} label=${t("connections.name")} of=${of.name} close=${close} save=${(name) => patch(path, { name }).then(set)} />`}
    ${open === "reconnect" && html`<${Dialog} title=${t("manage.reconnect")} close=${close}><p>${t("connections.reconnect_text", { platform: platform.name })}</p>
      <${Credentials} platform=${platform} submit=${t("connections.reconnect")} send=${reconnect} /><//>`}
  <//>`;
}
