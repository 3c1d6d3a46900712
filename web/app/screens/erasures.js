/** Erasure: addresses that are to be forgotten, and the receipts. */
import { html, useState } from "../../vendor/lib.js";
import { get, post } from "../api.js";
import { useChanges } from "../changes.js";
import { number } from "../format.js";
import { useHere } from "../route.js";
import { administrates } from "../session.js";
import { t } from "../text.js";
import { Field, Form } from "../ui/fields.js";
import { Empty, Note } from "../ui/notes.js";
import { Card, Facts, Page } from "../ui/page.js";
import { Fetched, Pages, Table, useFetched, usePages } from "../ui/table.js";
import { Ago } from "../ui/time.js";
import { State } from "../ui/verdict.js";

const MOST = 1_000;

/** @param {{ parts: string[] }} props the id of an erasure, or nothing */
export function Screen({ parts: [id] }) {
  return html`<${Page} title=${t("privacy.title")} lead=${t("privacy.lead")}>
    ${administrates.value ? html`<${Erasures} id=${id} />` : html`<${Note}>${t("team.only_administrators")}<//>`}
  <//>`;
}

function Erasures({ id }) {
  const erasures = usePages("/erasures");
  useChanges("erasures", erasures.refresh);
  const columns = [
    { title: t("privacy.requested"), cell: (of) => html`<a href=${`#/privacy/${of.id}`}><${Ago} at=${of.requested_at} /></a>` },
    { title: t("privacy.addresses"), number: true, cell: (of) => number(of.addresses) },
    { title: t("keys.state"), cell: (of) => html`<${State} of=${of.status} />` },
  ];
  return html`
    ${id && html`<${Card} title=${t("privacy.receipt")}><${Receipt} id=${id} key=${id} /><//>`}
    <${Card} title=${t("privacy.erase")}><${Ask} done=${erasures.again} /><//>
    <${Card} title=${t("privacy.before")}>
      <${Pages} of=${erasures} caption=${t("privacy.before")} columns=${columns} empty=${html`<${Empty} title=${t("privacy.none")} />`} />
    <//>`;
}

function Ask({ done }) {
  const [text, setText] = useState("");
  const [sure, setSure] = useState("");
  const here = useHere();
  const emails = [...new Set(text.split(/[\s,;]+/).filter(Boolean))];

  async function send() {
    const { id } = await post("/erasures", { emails }, true);
    setText("");
    setSure("");
    done();
    here.go(["privacy", id]);
  }

  const many = emails.length > MOST ? t("privacy.too_many", { n: MOST }) : undefined;
  const some = emails.length > 0;
  return html`<${Form} send=${send} submit=${some ? t("privacy.erase_n", { n: emails.length }) : t("privacy.erase")} waits=${!some || many !== undefined} danger=${true}>
    <${Field} label=${t("privacy.addresses")} hint=${t("privacy.addresses_hint", { n: MOST })} wrong=${many} rows=${5} required
      autocomplete="off" spellcheck=${false} value=${text} set=${setText} />
    ${some && html`<${Field} label=${t("privacy.sure", { n: String(emails.length) })} required pattern=${String(emails.length)} inputmode="numeric"
      autocomplete="off" value=${sure} set=${setSure} />`}
    <${Note} kind="warning">${t("privacy.final")}<//>
  <//>`;
}

function Receipt({ id }) {
  const receipt = useFetched((signal) => get(`/erasures/${encodeURIComponent(id)}`, {}, signal), [id]);
  useChanges("erasures", receipt.refresh);
  const columns = [
    { title: t("privacy.where"), cell: ([table]) => html`<code>${table}</code>` },
    { title: t("privacy.removed"), number: true, cell: ([, count]) => number(count) },
  ];
  return html`<${Fetched} from=${receipt}>${(of) => html`
    <${Facts} of=${[
      [t("privacy.id"), html`<code>${of.id}</code>`],
      [t("keys.state"), html`<${State} of=${of.status} />`],
      [t("privacy.requested"), html`<${Ago} at=${of.requested_at} />`],
      [t("privacy.completed"), of.completed_at ? html`<${Ago} at=${of.completed_at} />` : "–"],
      [t("privacy.addresses"), number(of.addresses)],
    ]} />
    <${Table} caption=${t("privacy.receipt")} columns=${columns} rows=${Object.entries(of.removed)} id=${([table]) => table} />`}<//>`;
}
