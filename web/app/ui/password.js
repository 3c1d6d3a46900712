/** New password field with a live strength meter. */
import { html } from "../../vendor/lib.js";
import { CHARACTERS_MIN, LEVELS, strength } from "../strength.js";
import { t } from "../text.js";
import { Field } from "./fields.js";

/**
 * @param {{ label: string, value: string, set: (value: string) => void, known?: string[] }} props
 */
export function NewPassword({ label, value, set, known }) {
  const level = strength(value, known);
  const missing = CHARACTERS_MIN - [...value].length;
  const said = !value ? t("link.password_hint", { n: CHARACTERS_MIN }) : level ? t(`link.strength_${level}`) : t("link.password_short", { n: missing });
  const hint = html`<span class="strength" aria-hidden="true">${LEVELS.concat(0).map((_, step) => html`<i class=${step < level ? "on" : undefined} />`)}</span>
    <span aria-live="polite">${said}</span>`;
  return html`<${Field} label=${label} type="password" autocomplete="new-password" required minlength=${CHARACTERS_MIN} hint=${hint} value=${value} set=${set} />`;
}
