/** General settings: name of the organization, retention, rate limit and time zone. */
import { html, useState } from "../../../vendor/lib.js";
import { administrates, nameOrganization, session } from "../../session.js";
import { t } from "../../text.js";
import { Card, Field, Form, Select, toast } from "../../ui.js";
import { COUNTS, useSettings } from "./edits.js";

/** @param {import("./edits.js").Known} known */
export function General(known) {
  const { form: { now, bind }, send } = useSettings(known, [...COUNTS, "time_zone"]);
  const may = administrates.value;
  const count = (name, label, hint) => html`<${Field} label=${label} hint=${hint} type="number" min="1" inputmode="numeric" disabled=${!may} ...${bind(name)} />`;
  const fields = html`<div class="grid fields">
    ${count("retention_days", t("settings.days"), t("settings.days_hint"))}
    ${count("delivery_retention_days", t("settings.deliveries"), t("settings.deliveries_hint"))}
    ${count("rate_limit_per_minute", t("settings.rate"), t("settings.rate_hint"))}
    <${Select} label=${t("settings.zone")} hint=${t("settings.zone_hint")} disabled=${!may} ...${bind("time_zone")} options=${[["", "UTC"], ...zones(now.time_zone)]} />
  </div>`;
  return html`${may && html`<${Naming} />`}
    <${Card} title=${t("settings.data")}>${may ? html`<${Form} send=${send} submit=${t("save")}>${fields}<//>` : fields}<//>`;
}

function Naming() {
  const [name, setName] = useState(session.value?.organization.name ?? "");
  const send = async () => {
    await nameOrganization(name.trim());
    toast(t("saved"));
  };
  return html`<${Card} title=${t("organization.title")}><${Form} send=${send} submit=${t("manage.rename")}>
    <${Field} label=${t("name")} hint=${t("organization.hint")} required maxlength="200" value=${name} set=${setName} />
  <//><//>`;
}

/** Time zones known to the browser, and the configured one. @param {string} set @returns {[string, string][]} */
function zones(set) {
  const names = new Set([...Intl.supportedValuesOf("timeZone"), set]);
  return [...names].filter((name) => name !== "" && name !== "UTC").toSorted().map((name) => [name, name.replaceAll("_", " ")]);
}
