/** New key, shown once, with a first call in the user's programming language. */
import { html, useEffect, useState } from "../../../vendor/lib.js";
import { useChanges } from "../../changes.js";
import { time } from "../../format.js";
import { link } from "../../route.js";
import { get } from "../../api.js";
import { session } from "../../session.js";
import { LANGUAGES, written } from "../../../docs/languages.js";
import { keepKey } from "../../../docs/testkey.js";
import { t } from "../../text.js";
import { Dialog, Icon, Note, Secret } from "../../ui.js";
import { Code } from "../../ui/code.js";
import { kindOf } from "./presets.js";

/** First call that the key's scopes allow. @param {{ scopes: string[] }} key */
const firstCall = ({ scopes }) => (scopes.includes("verify") ? "/v1/verify?email=name@example.com" : "/v1/check-key");

/** @param {{ of: any, close: () => void }} props  the key may name its predecessor */
export function Made({ of: key, close }) {
  const open = key.kind === "pub";
  const write = (language) => written(language, { method: "GET", url: location.origin + firstCall(key), key: key.secret, reply: "json" });
  // The examples of the API reference use this key.
  useEffect(() => { if (key.kind === "test") keepKey(session.value?.user.id, key.secret); }, [key.secret]);
  return html`<${Dialog} title=${t("keys.made")} wide=${true} close=${close}>
    <${Note} kind=${open ? undefined : "warning"} focused=${true}>${open ? t("keys.public") : t("keys.once")}<//>
    <${Secret} text=${key.secret} label=${t("keys.made")} />
    <p class="small quiet">${kindOf(key)}</p>
    ${key.replaces && html`<p>${Date.parse(key.replaces.expires_at) > Date.now() ? t("keys.until", { name: key.name, time: time(key.replaces.expires_at) }) : t("keys.ended", { name: key.name })}</p>`}
    ${open ? html`<div><a class="button" href=${link(["widget"], { key: key.secret })}>${t("keys.widget")}</a></div>` : html`<${Code} title=${t("keys.first_call")} languages=${LANGUAGES} write=${write} />
      <${FirstUse} id=${key.id} />`}
  <//>`;
}

/** Waits for the first request with the key; the server records it within a minute. */
function FirstUse({ id }) {
  const [used, setUsed] = useState(false);
  useChanges(used ? undefined : "keys", async () => {
    const { data } = await get("/api-keys", { per_page: 100 });
    if (data.some((key) => key.id === id && key.last_used_at)) setUsed(true);
  });
  return html`<p class="small" role="status">${used ? html`<span class="chip passed"><${Icon} name="check" />${t("keys.first_used")}</span>`
    : html`<span class="chip live"><i class="dot pulse"></i>${t("keys.first_awaited")}</span>`}</p>`;
}
