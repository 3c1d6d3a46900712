/** Erasure: addresses that are to be forgotten, and the receipt. */
import { html, useState } from "../../vendor/lib.js";
import { get, post } from "../api.js";
import { number, time } from "../format.js";
import { administrates } from "../session.js";
import { t } from "../text.js";
import { Field, Form } from "../ui/fields.js";
import { Note } from "../ui/notes.js";
import { Card, Facts, Page } from "../ui/page.js";
import { Fetched, Table, useFetched } from "../ui/table.js";
import { State } from "../ui/verdict.js";

const MOST = 1_000;

export function Screen({ parts: [id] }) {
  const [asked, setAsked] = useState(id);
  return html`<${Page} title=${t("privacy.title")} lead=${t("privacy.lead")}>
    ${administrates.value ? html`<${Card} title=${t("privacy.erase")}><${Ask} asked=${setAsked} /><//>`
      : html`<${Note}>${t("team.only_administrators")}<//>`}
    ${asked && html`<${Card} title=${t("privacy.receipt")}><${Receipt} id=${asked} key=${asked} /><//>`}
  <//>`;
}

function Ask({ asked }) {
  const [text, setText] = useState("");
  const [sure, setSure] = useState("");
  const emails = [...new Set(text.split(/[\s,;]+/).filter(Boolean))];

  async function send() {
    const { id } = await post("/erasures", { emails }, true);
    asked(id);
    setText("");
    setSure("");
  }

  const many = emails.length > MOST ? t("privacy.too_many", { n: MOST }) : undefined;
  return html`<${Form} send=${send} submit=${t("privacy.erase_n", { n: emails.length })} danger=${true}>
    <${Field} label=${t("privacy.addresses")} hint=${t("privacy.addresses_hint", { n: MOST })} wrong=${many} rows=${5} required
      autocomplete="off" spellcheck=${false} value=${text} set=${setText} />
    <${Field} label=${t("privacy.sure", { n: String(emails.length) })} required pattern=${String(emails.length)} inputmode="numeric" autocomplete="off" value=${sure} set=${setSure} />
    <${Note} kind="warning">${t("privacy.final")}<//>
  <//>`;
}

function Receipt({ id }) {
  const receipt = useFetched((signal) => get(`/erasures/${encodeURIComponent(id)}`, {}, signal), [id]);
  const columns = [
    { title: t("privacy.where"), cell: ([table]) => html`<code>${table}</code>` },
    { title: t("privacy.removed"), number: true, cell: ([, count]) => number(count) },
  ];
  return html`<${Fetched} from=${receipt}>${(of) => html`
    <${Facts} of=${[
      [t("privacy.id"), html`<code>${of.id}</code>`],
      [t("lists.state"), html`<${State} of=${of.status} />`],
      [t("privacy.requested"), time(of.requested_at)],
      [t("privacy.completed"), time(of.completed_at)],
      [t("privacy.addresses"), number(of.addresses)],
    ]} />
    <${Table} caption=${t("privacy.receipt")} columns=${columns} rows=${Object.entries(of.removed ?? {})} id=${([table]) => table} />
    ${of.status !== "completed" && html`<div><button type="button" class="button" onClick=${receipt.again}>${t("privacy.look_again")}</button></div>`}`}<//>`;
}
