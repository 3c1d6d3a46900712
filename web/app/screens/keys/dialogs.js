/** Dialogs that create and rotate keys. */
import { html } from "../../../vendor/lib.js";
import { ask, post } from "../../api.js";
import { endOfDay, fieldDay } from "../../format.js";
import { testing } from "../../mode.js";
import { t } from "../../text.js";
import { Among, Choice, Field, FormDialog, Group, useEdits } from "../../ui.js";
import { LIVE_PRESETS, SCOPES, TEST_PRESETS, asked } from "./presets.js";
import { KeyName, OfWidget, restrictions } from "./widget.js";

const OVERLAPS = ["0", "24", "168"];

/** @param {{ close: () => void, made: (key: any) => void }} props */
export function Add({ close, made }) {
  const presets = testing.value ? TEST_PRESETS : LIVE_PRESETS;
  const { now, bind, edit } = useEdits({ name: "", preset: presets[0], scopes: ["verify"], origins: "", cap: "", expires: "" });
  const open = now.preset === "widget";
  const send = async () => made(await post("/api-keys", {
    name: now.name,
    ...asked(now.preset, now.scopes),
    ...(open && restrictions(now)),
    expires_at: now.expires ? endOfDay(now.expires).toISOString() : undefined,
  }, true));
  return html`<${FormDialog} title=${t("keys.new")} close=${close} send=${send} submit=${t("keys.create")}>
    <${KeyName} ...${bind("name")} />
    <${Choice} label=${t("keys.may")} ...${bind("preset")} options=${presets.map((one) => [one, t(`preset.${one}`), t(`preset.${one}_hint`)])} />
    ${now.preset === "own" && html`<${Group} label=${t("keys.scopes")}><div class="gates">${SCOPES.map((scope) => html`<${Among} of=${scope} label=${html`<code>${scope}</code>`}
      list=${now.scopes} set=${(scopes) => edit({ scopes })} />`)}</div><//>`}
    ${open && html`<${OfWidget} bind=${bind} />`}
    <${Field} label=${t("keys.expires")} hint=${t("keys.expires_hint")} type="date" min=${fieldDay(new Date())} ...${bind("expires")} />
  <//>`;
}

/** @param {{ of: any, close: () => void, made: (key: any) => void }} props */
export function Rotate({ of: key, close, made }) {
  const { now, bind } = useEdits({ hours: "24" });
  const send = async () => made(await ask("POST", `/app/keys/${key.id}/rotate`, { body: { overlap_hours: Number(now.hours) } }));
  return html`<${FormDialog} title=${t("keys.rotate_title", { name: key.name })} close=${close} send=${send} submit=${t("keys.rotate")}>
    <p>${t("keys.rotate_text")}</p>
    <${Choice} label=${t("keys.overlap")} ...${bind("hours")} options=${OVERLAPS.map((of) => [of, t(`overlap.${of}`)])} />
  <//>`;
}
