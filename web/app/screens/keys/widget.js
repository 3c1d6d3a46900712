/** Public keys: form fields and restrictions. */
import { html } from "../../../vendor/lib.js";
import { t } from "../../text.js";
import { Field } from "../../ui.js";

/** @param {{ value: string, set: (name: string) => void, [field: string]: unknown }} props */
export const KeyName = (props) => html`<${Field} label=${t("name")} hint=${t("keys.name_hint")} required maxlength="100" ...${props} />`;

/** @param {{ bind: (name: "origins" | "cap") => object }} props */
export const OfWidget = ({ bind }) => html`<${Field} label=${t("keys.origins")} hint=${t("keys.origins_hint")} rows=${3} required ...${bind("origins")} />
  <${Field} label=${t("keys.daily_cap")} hint=${t("keys.daily_cap_hint")} type="number" min="1" inputmode="numeric" ...${bind("cap")} />`;

/** API values of these fields. @param {{ origins: string, cap: string }} typed */
export const restrictions = ({ origins, cap }) => ({ allowed_origins: origins.split(/\s+/).filter(Boolean), daily_cap: cap === "" ? undefined : Number(cap) });

/** One-line summary of a key's restrictions. @param {any} key */
export const restrictedTo = ({ allowed_origins: origins, daily_cap: cap }) => [...origins, cap && t("keys.capped", { n: cap })].filter(Boolean).join(", ");

/** True if a key is revoked or expired. @returns {boolean} */
export const hasEnded = ({ revoked_at: revoked, expires_at: expires }) => Boolean(revoked) || Boolean(expires && Date.parse(expires) <= Date.now());
