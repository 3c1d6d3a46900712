/** Platform name and capabilities, for cards and lines. */
import { html } from "../../../vendor/lib.js";
import DESCRIPTIONS from "../../../messages/platforms.js";
import { locale, says, t } from "../../text.js";

/** What can be done to contacts, with its test, in display order. @type {[string, (platform: any) => boolean][]} */
const CAPABILITIES = [
  ...["unsubscribe", "delete", "update_tags", "update_custom_fields"].map((name) => /** @type {[string, (of: any) => boolean]} */ ([name, acts(name)])),
  ["fix", (of) => of.fix_typos],
  ["lists", (of) => of.lists],
];

/** Platforms that most people look for, the most used first. */
const POPULAR = ["mailchimp", "klaviyo", "hubspot", "brevo", "activecampaign", "mailerlite", "convertkit", "ghost", "constant_contact"];

/** Order for display: those that can be connected, popular ones first, then by name. */
export function byUse(one, other) {
  const rank = ({ type, platform }) => (platform.contacts ? (POPULAR.indexOf(type) + 1 || POPULAR.length + 1) : Infinity);
  const [left, right] = [rank(one), rank(other)];
  return left === right ? one.platform.name.localeCompare(other.platform.name) : left - right;
}

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

/** What a platform lets us do, in words; one whose contacts cannot be read says so. @param {{ of: any }} props */
export function Capabilities({ of }) {
  if (!of.contacts) return html`<p class="quiet small">${t("capability.no_contacts")}</p>`;
  return html`<ul class="capabilities">${CAPABILITIES.filter(([, has]) => has(of)).map(([name]) => html`<li key=${name}>${t(`capability.${name}`)}</li>`)}</ul>`;
}
