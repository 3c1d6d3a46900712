/** New connection: credentials are tested at the platform before they are stored. */
import { html, useState } from "../../../vendor/lib.js";
import { get, post } from "../../api.js";
import { useHere } from "../../route.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Card, Fetched, Field, Note, Page, toast, useFetched } from "../../ui.js";
import { Credentials } from "./credentials.js";
import { Capabilities } from "./platform.js";

/** @param {{ type: string }} props */
export function Connect({ type }) {
  const known = useFetched((signal) => get(`/integrations/${encodeURIComponent(type)}`, {}, signal), [type]);
  const name = known.value?.platform.name;
  return html`<${Page} title=${name ? t("connections.connect", { platform: name }) : t("connections.title")} lead=${t("connections.connect_lead")}
      above=${html`<a href="#/connections">${t("connections.title")}</a>`}>
    <${Fetched} from=${known} lines=${8}>${({ type: canonical, platform }) => html`<div class="main-side">
      <${Card}>${!administrates.value ? html`<${Note}>${t("connections.only_administrators")}<//>`
        : !platform.contacts ? html`<${Note}>${t("connections.unlisted", { platform: platform.name })}<//>`
          : html`<${New} type=${canonical} platform=${platform} />`}<//>
      <${Beside} platform=${platform} />
    </div>`}<//>
  <//>`;
}

function New({ type, platform }) {
  const [name, setName] = useState("");
  const here = useHere();
  async function send(credentials) {
    const made = await post(`/integrations/${type}/connections`, { credentials, ...(name.trim() && { name: name.trim() }) }, true);
    toast(t("connections.made", { platform: platform.name }));
    here.go(["connections", made.type, made.id]);
  }
  const back = html`<a class="button" href="#/connections">${t("dialog.cancel")}</a>`;
  return html`<${Credentials} platform=${platform} submit=${t("connections.connect_short")} send=${send} others=${back}>
    <${Field} label=${t("connections.optional", { label: t("connections.name") })} hint=${t("connections.name_hint")} value=${name} set=${setName} maxlength="200" autocomplete="off" />
  <//>`;
}

/** Assurances shown before credentials are entered. */
function Beside({ platform }) {
  return html`<aside class="card" aria-labelledby="before"><h2 id="before">${t("connections.before")}</h2>
    <ul class="plain-list stack tight">
      <li>${t("connections.before_test", { platform: platform.name })}</li>
      <li>${t("connections.before_sealed")}</li>
      <li>${t("connections.before_nothing", { platform: platform.name })}</li>
    </ul>
    <h3>${t("connections.can")}</h3>
    <${Capabilities} of=${platform} />
    ${platform.docs.startsWith("https://") && html`<p><a href=${platform.docs} target="_blank" rel="noopener noreferrer">${t("connections.docs", { platform: platform.name })}</a></p>`}
  </aside>`;
}
