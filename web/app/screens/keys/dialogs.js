/** What is done with a key: making one, another name, a successor. */
import { html, useState } from "../../../vendor/lib.js";
import { ask, post } from "../../api.js";
import { endOfDay, fieldDay } from "../../format.js";
import { testing } from "../../mode.js";
import { t } from "../../text.js";
import { Dialog } from "../../ui/dialog.js";
import { Check, Choice, Field, Form, Group } from "../../ui/fields.js";
import { LIVE_PRESETS, SCOPES, TEST_PRESETS, asked } from "./presets.js";

const OVERLAPS = ["0", "24", "168"];

/** @param {{ close: () => void, made: (key: any) => void }} props */
export function Add({ close, made }) {
  const presets = testing.value ? TEST_PRESETS : LIVE_PRESETS;
  const [name, setName] = useState("");
  const [preset, setPreset] = useState(presets[0]);
  const [scopes, setScopes] = useState(/** @type {string[]} */ (["verify"]));
  const [origins, setOrigins] = useState("");
  const [cap, setCap] = useState("");
  const [expires, setExpires] = useState("");
  const open = preset === "widget";

  const send = async () => made(await post("/api-keys", {
    name,
    ...asked(preset, scopes),
    allowed_origins: open ? origins.split(/\s+/).filter(Boolean) : undefined,
    daily_cap: open && cap !== "" ? Number(cap) : undefined,
    expires_at: expires ? endOfDay(expires).toISOString() : undefined,
  }, true));

  return html`<${Dialog} title=${t("keys.new")} close=${close}>
    <${Form} send=${send} submit=${t("keys.create")}>
      <${Field} label=${t("keys.name")} hint=${t("keys.name_hint")} required maxlength="100" value=${name} set=${setName} />
      <${Choice} label=${t("keys.may")} value=${preset} set=${setPreset} options=${presets.map((one) => [one, t(`preset.${one}`), t(`preset.${one}_hint`)])} />
      ${preset === "own" && html`<${Group} label=${t("keys.scopes")}><div class="gates">${SCOPES.map((scope) => html`<${Check} label=${html`<code>${scope}</code>`}
        checked=${scopes.includes(scope)} set=${(on) => setScopes(on ? [...scopes, scope] : scopes.filter((one) => one !== scope))} />`)}</div><//>`}
      ${open && html`<${Field} label=${t("keys.origins")} hint=${t("keys.origins_hint")} rows=${3} required value=${origins} set=${setOrigins} />
        <${Field} label=${t("keys.daily_cap")} hint=${t("keys.daily_cap_hint")} type="number" min="1" inputmode="numeric" value=${cap} set=${setCap} />`}
      <${Field} label=${t("keys.expires")} hint=${t("keys.expires_hint")} type="date" min=${fieldDay(new Date())} value=${expires} set=${setExpires} />
    <//>
  <//>`;
}

/** @param {{ of: any, close: () => void, renamed: () => void }} props */
export function Rename({ of: key, close, renamed }) {
  const [name, setName] = useState(key.name);
  async function send() {
    await ask("PATCH", `/app/keys/${key.id}`, { body: { name } });
    renamed();
    close();
  }
  return html`<${Dialog} title=${t("keys.rename")} close=${close}>
    <${Form} send=${send} submit=${t("save")}>
      <${Field} label=${t("keys.name")} hint=${t("keys.name_hint")} required maxlength="100" value=${name} set=${setName} focused=${true} />
    <//>
  <//>`;
}

/** @param {{ of: any, close: () => void, made: (key: any) => void }} props */
export function Rotate({ of: key, close, made }) {
  const [hours, setHours] = useState("24");
  const send = async () => made(await ask("POST", `/app/keys/${key.id}/rotate`, { body: { overlap_hours: Number(hours) } }));
  return html`<${Dialog} title=${t("keys.rotate_title", { name: key.name })} close=${close}>
    <${Form} send=${send} submit=${t("keys.rotate")}>
      <p>${t("keys.rotate_text")}</p>
      <${Choice} label=${t("keys.overlap")} value=${hours} set=${setHours} options=${OVERLAPS.map((of) => [of, t(`overlap.${of}`)])} />
    <//>
  <//>`;
}
