/** Summary link of a list: create, copy, revoke. The server stores only its hash, so the link is shown once. */
import { html, useState } from "../../../vendor/lib.js";
import { ask, get, post } from "../../api.js";
import { time } from "../../format.js";
import { link as placed } from "../../route.js";
import { t } from "../../text.js";
import { Button, Check, Dialog, Fetched, Form, Note, Secret, Select, toast, useFetched } from "../../ui.js";

const LIVES = ["7", "30", "90"];

/** @param {{ of: { id: string, name: string | null }, close: () => void }} props */
export function ShareDialog({ of, close }) {
  const path = `/app/jobs/${encodeURIComponent(of.id)}/link`;
  const shared = useFetched((signal) => get(path, {}, signal), [of.id]);
  return html`<${Dialog} title=${t("share.title")} close=${close}>
    <p>${t("share.lead")}</p>
    <${Fetched} from=${shared}>${({ link, token }) => (token ? html`<${Fresh} token=${token} link=${link} />`
      : html`<${Offer} of=${of} path=${path} link=${link} set=${shared.set} />`)}<//>
  <//>`;
}

function Fresh({ token, link }) {
  return html`<${Note} kind="warning" focused=${true}>${t("share.once")}<//>
    <${Secret} text=${`${location.origin}/${placed(["shared", token])}`} label=${t("share.link")} />
    <p class="small quiet">${t("share.ends", { at: time(link.expires_at) })}</p>`;
}

function Offer({ of, path, link, set }) {
  const [days, setDays] = useState("30");
  const [named, setNamed] = useState(false);
  const create = async () => set(await post(path, { days: Number(days), named }));
  async function revoke() {
    set(await ask("DELETE", path));
    toast(t("share.revoked"));
  }
  return html`
    ${link && html`<div class="row apart"><p><b>${t("share.stands")}</b> ${t("share.ends", { at: time(link.expires_at) })}</p>
      <${Button} kind="danger" work=${revoke}>${t("share.revoke")}<//></div>`}
    <${Form} send=${create} submit=${link ? t("share.again") : t("share.create")}>
      <${Select} label=${t("share.days")} value=${days} set=${setDays} options=${LIVES.map((n) => [n, t("usage.days", { n: Number(n) })])}
        hint=${link && t("share.again_text")} />
      ${of.name && html`<${Check} label=${t("share.named", { name: of.name })} checked=${named} set=${setNamed} />`}
    <//>`;
}
