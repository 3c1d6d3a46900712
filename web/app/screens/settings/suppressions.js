/** Suppression lists: sizes, lookup, adding and removing addresses. */
import { html, useState } from "../../../vendor/lib.js";
import { get, post, remove } from "../../api.js";
import { number } from "../../format.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Card, Facts, Fetched, Field, Form, Note, reason, Select, toast, useEdits, useFetched } from "../../ui.js";

const LISTS = ["spam", "complained", "bounced"];
const path = (list) => `/organization/suppressions/${list}`;

export function Suppressions() {
  const lists = useFetched((signal) => Promise.all(LISTS.map((list) => get(path(list), {}, signal))), []);
  return html`<${Card} title=${t("suppressions.title")}>
    <p>${t("suppressions.lead")}</p>
    <${Fetched} from=${lists} lines=${3}>${(of) => html`<${Facts} of=${of.map((one) => [reason(one.list), number(one.count)])} />`}<//>
    <${Look} />
    ${administrates.value && html`<${Change} changed=${lists.again} />`}
  <//>`;
}

/** Looks up one address. The hashed lists cannot be read out. */
function Look() {
  const [email, setEmail] = useState("");
  const [found, setFound] = useState(/** @type {string[] | undefined} */ (undefined));
  async function send() {
    const asked = await Promise.all(LISTS.map((list) => get(path(list), { email })));
    setFound(asked.filter((one) => one.lookup?.listed).map((one) => reason(one.list)));
  }
  return html`<${Form} send=${send} submit=${t("suppressions.look")}>
    <${Field} label=${t("verify.email")} value=${email} set=${(text) => { setEmail(text); setFound(undefined); }} required maxlength="1024" />
    ${found && html`<${Note}>${found.length ? t("suppressions.found", { lists: found.join(", ") }) : t("suppressions.not_found")}<//>`}
  <//>`;
}

function Change({ changed }) {
  const { now: { list, what, text }, bind, edit } = useEdits({ list: "bounced", what: "add", text: "" });
  async function send() {
    const emails = text.split(/[\s,;]+/).filter(Boolean);
    if (what === "add") {
      const { added, present, invalid } = await post(path(list), { emails }, true);
      toast(t("suppressions.added", { added: number(added), present: number(present), invalid: number(invalid) }));
    } else {
      const { removed } = await remove(path(list), { emails });
      // Undo only if all addresses were listed; otherwise the removed ones are unknown.
      const undo = removed === emails.length ? () => post(path(list), { emails }, true).then(changed) : undefined;
      toast(t("suppressions.removed", { removed: number(removed) }), undo);
    }
    edit({ text: "" });
    changed();
  }
  return html`<${Form} send=${send} submit=${t("save")}>
    <${Select} label=${t("lists.list")} ...${bind("list")} options=${LISTS.map((one) => [one, reason(one)])} />
    <${Select} label=${t("action")} ...${bind("what")}
      options=${[["add", t("suppressions.add")], ["remove", t("suppressions.remove")]]} />
    <${Field} label=${t("lists.addresses")} hint=${t("suppressions.addresses_hint")} rows=${4} ...${bind("text")} required />
  <//>`;
}
