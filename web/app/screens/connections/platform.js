/** Platform name and capabilities, for cards and lines. */
import { html } from "../../../vendor/lib.js";
import DESCRIPTIONS from "../../../messages/platforms.js";
import { locale, says, t } from "../../text.js";

/** Capabilities with their tests, in display order. @type {[string, (platform: any) => boolean, string[]][]} */
const CAPABILITIES = [
  ["contacts", (of) => of.contacts, ["M7.5 9a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6zM2.5 16.5c0-2.8 2.2-5 5-5s5 2.2 5 5", "M13 4.2a2.8 2.8 0 0 1 0 4.6M14.6 12c1.8.7 2.9 2.4 2.9 4.5"]],
  ["lists", (of) => of.lists, ["M3 5.5h14M3 10h14M3 14.5h8", "m13.5 14.5 1.5 1.5 3-3"]],
  ["unsubscribe", acts("unsubscribe"), ["M17 10.5V5.8A1.8 1.8 0 0 0 15.2 4H4.8A1.8 1.8 0 0 0 3 5.8v8.4A1.8 1.8 0 0 0 4.8 16H11", "m3.5 6 6.5 4.5L16.5 6M13.5 15h4.5"]],
  ["delete", acts("delete"), ["M3.5 5.5h13M8 5V3.5h4V5M5 5.5l.7 10c.1.6.5 1 1.1 1h6.4c.6 0 1-.4 1.1-1l.7-10M8.5 9v4M11.5 9v4"]],
  ["update_tags", acts("update_tags"), ["M3 4.5v5.2c0 .4.2.8.5 1.1l6.2 6.2c.6.6 1.5.6 2.1 0l5.2-5.2c.6-.6.6-1.5 0-2.1L10.8 3.5c-.3-.3-.7-.5-1.1-.5H4.5C3.7 3 3 3.7 3 4.5z", "M6.6 6.6h.2"]],
  ["update_custom_fields", acts("update_custom_fields"), ["m12.5 4.5 3 3L7 16H4v-3zM10.5 6.5l3 3"]],
  ["fix", (of) => of.fix_typos, ["m3 12.5 3.2-8.5 3.2 8.5M4.2 9.5h4", "m10.5 14 2.5 2.5 4.5-5.5"]],
];

/** @param {string} name */
function acts(name) {
  return (/** @type {any} */ { actions }) => actions.some(({ action }) => action === name);
}

/** Monograms that differ from the initials: camel-case names, then abbreviations that resolve conflicts. */
const SHORT = { mailchimp: "Mc", mailman: "Mm", mailtrain: "Mn", mautic: "Mt", listmonk: "lm" };

/** Two-letter monogram. @param {{ type: string, name: string }} props */
export function Monogram({ type, name }) {
  const [first = "", second] = name.match(/\p{Lu}/gu) ?? [];
  const letters = SHORT[type] ?? (second ? first + second.toLowerCase() : name.slice(0, 2));
  return html`<span class="monogram" aria-hidden="true">${letters}</span>`;
}

/** Description of a platform; empty for platforms added by operators. @param {string} type */
export const about = (type) => (says(`about.${type}`) ? t(`about.${type}`) : "");

/** Label, help or note of a platform's description, translated if possible. @param {string | null} english */
export const described = (english) => (english && DESCRIPTIONS[english]?.[locale().slice(0, 2)]) ?? english;

const Icon = ({ of }) => html`<svg class="icon" viewBox="0 0 20 20" aria-hidden="true">${of.map((d) => html`<path d=${d} />`)}</svg>`;

/** Legend of the capability icons. */
export function Legend() {
  return html`<ul class="capabilities legend-line">${CAPABILITIES.map(([name, , icon]) => html`<li><${Icon} of=${icon} />${t(`capability.${name}`)}</li>`)}</ul>`;
}

/** Capability icons; missing capabilities are struck through and named in text. */
export function Capabilities({ of }) {
  const lacks = CAPABILITIES.filter(([, has]) => !has(of)).map(([name]) => t(`capability.no_${name}`));
  const list = new Intl.ListFormat(document.documentElement.lang, { type: "unit", style: "short" });
  const words = lacks.length === 0 ? t("capability.all") : list.format(lacks);
  return html`<div class="capability-line">
    <ul class="capabilities" aria-hidden="true">${CAPABILITIES.map(([name, has, icon]) => html`<li class=${has(of) ? "" : "lacking"} title=${t(`capability.${name}`)}>
      <${Icon} of=${icon} /></li>`)}</ul>
    <p class="quiet small">${words.charAt(0).toLocaleUpperCase() + words.slice(1)}</p>
  </div>`;
}
