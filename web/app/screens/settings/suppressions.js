/** Suppression lists: sizes, search by address, adding and removing addresses. */
import { html, useState } from "../../../vendor/lib.js";
import { get, post, remove } from "../../api.js";
import { number } from "../../format.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Button, Card, Empty, Fetched, Field, FormDialog, Icon, reason, Select, Table, telling, toast, useEdits, useFetched } from "../../ui.js";

const LISTS = ["spam", "complained", "bounced"];
const path = (list) => `/organization/suppressions/${list}`;

export function Suppressions() {
  const lists = useFetched((signal) => Promise.all(LISTS.map((list) => get(path(list), {}, signal))), []);
  const [open, setOpen] = useState(/** @type {{ what: "add" | "remove", list?: string, text?: string } | undefined} */ (undefined));
  const [changes, setChanges] = useState(0);
  const changed = () => {
    lists.refresh();
    setChanges((before) => before + 1);
  };
  const may = administrates.value;
  const columns = [
    { title: t("lists.list"), cell: ({ list }) => html`<div>${reason(list)}</div><div class="quiet small">${t(`suppressions.${list}`)}</div>` },
    { title: t("lists.addresses"), number: true, cell: ({ count }) => number(count) },
    ...(may ? [{ title: t("action"), acts: true, cell: ({ list, count }) => html`<div class="row acts">
      ${["add", "remove"].map((what) => html`<button type="button" class="button slim" key=${what} disabled=${what === "remove" && count === 0} aria-label=${t(`suppressions.${what}_of`, { list: reason(list) })}
        onClick=${() => setOpen({ what: /** @type {"add" | "remove"} */ (what), list })}>${t(`suppressions.${what}`)}</button>`)}</div>` }] : []),
  ];
  return html`<${Card} title=${t("suppressions.title")}>
    <p>${t("suppressions.lead")}</p>
    <${Look} changes=${changes} changed=${changed} add=${may ? (text) => setOpen({ what: "add", text }) : undefined} />
    <${Fetched} from=${lists} lines=${3}>${(of) => html`<${Table} caption=${t("suppressions.title")} columns=${columns} rows=${of} id=${({ list }) => list} />`}<//>
    ${open && html`<${Change} ...${open} close=${() => setOpen(undefined)} changed=${changed} />`}
  <//>`;
}

/**
 * Search for one address: the lists hold hashes, so there is nothing to search by a part.
 * @param {{ changes: number, changed: () => void, add?: (text: string) => void }} props
 */
function Look({ changes, changed, add }) {
  const [text, setText] = useState("");
  const [email, setEmail] = useState("");
  const find = telling(() => setEmail(text.trim()));
  return html`<search><form class="row" onSubmit=${find}>
      <label class="sought"><span class="hidden-text">${t("suppressions.find")}</span><${Icon} name="search" />
        <input class="input" type="search" required maxlength="1024" autocomplete="off" spellcheck=${false} placeholder=${t("suppressions.find")} value=${text} onInput=${({ currentTarget }) => setText(currentTarget.value)} /></label>
      <button class="button slim">${t("suppressions.look")}</button></form></search>
    ${email && html`<${Found} key=${email} email=${email} changes=${changes} changed=${changed} add=${add} />`}`;
}

/** @param {{ email: string, changes: number, changed: () => void, add?: (text: string) => void }} props */
function Found({ email, changes, changed, add }) {
  const found = useFetched((signal) => Promise.all(LISTS.map((list) => get(path(list), { email }, signal))), [changes]);
  const put = (list) => post(path(list), { emails: [email] }, true).then(changed);
  async function take(list) {
    await remove(path(list), { emails: [email] });
    changed();
    toast(t("suppressions.removed", { removed: number(1) }), () => put(list));
  }
  const columns = [
    { title: t("verify.email"), cell: () => email },
    { title: t("lists.list"), cell: ({ list }) => reason(list) },
    ...(add ? [{ title: t("action"), acts: true, cell: ({ list }) => html`<${Button} kind="slim" label=${t("suppressions.remove_of", { list: reason(list) })} work=${() => take(list)}>${t("suppressions.remove_one")}<//>` }] : []),
  ];
  return html`<div aria-live="polite"><${Fetched} from=${found} lines=${1}>${(of) => {
    const on = of.filter(({ lookup }) => lookup?.listed);
    if (on.length > 0) return html`<${Table} caption=${t("suppressions.found")} columns=${columns} rows=${on} id=${({ list }) => list} />`;
    return html`<${Empty} title=${t("suppressions.not_found", { email })} action=${add && html`<button type="button" class="button" onClick=${() => add(email)}>${t("suppressions.add")}</button>`} />`;
  }}<//></div>`;
}

/** @param {{ what: "add" | "remove", list?: string, text?: string, close: () => void, changed: () => void }} props */
function Change({ what, list: given = "bounced", text: entered = "", close, changed }) {
  const { now: { list, text }, bind } = useEdits({ list: given, text: entered });
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
    close();
    changed();
  }
  return html`<${FormDialog} title=${t(`suppressions.${what}`)} close=${close} send=${send} submit=${t(`suppressions.${what}`)}>
    <${Select} label=${t("lists.list")} ...${bind("list")} options=${LISTS.map((one) => [one, reason(one)])} />
    <${Field} label=${t("lists.addresses")} hint=${t("suppressions.addresses_hint")} rows=${4} ...${bind("text")} required />
  <//>`;
}
