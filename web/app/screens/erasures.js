/** Erasure requests and receipts. */
import { html } from "../../vendor/lib.js";
import { get, post } from "../api.js";
import { number } from "../format.js";
import { useHere } from "../route.js";
import { administrates } from "../session.js";
import { t } from "../text.js";
import { Ago, Card, Empty, Facts, Fetched, Field, Form, Note, Page, Pages, State, Table, useEdits, useFetched, usePages } from "../ui.js";

const MOST = 1_000;

/** @param {{ parts: string[] }} props erasure ID, or nothing */
export function Screen({ parts: [id] }) {
  return html`<${Page} title=${t("privacy.title")} lead=${t("privacy.lead")}>
    ${administrates.value ? html`<${Erasures} id=${id} />` : html`<${Note}>${t("team.only_administrators")}<//>`}
  <//>`;
}

function Erasures({ id }) {
  const erasures = usePages("/erasures", {}, "erasures");
  const columns = [
    { title: t("privacy.requested"), cell: (of) => html`<a href=${`#/privacy/${of.id}`}><${Ago} at=${of.requested_at} /></a>` },
    { title: t("lists.addresses"), number: true, cell: (of) => number(of.addresses) },
    { title: t("lists.state"), cell: (of) => html`<${State} of=${of.status} />` },
  ];
  return html`
    ${id && html`<${Card} title=${t("privacy.receipt")}><${Receipt} id=${id} key=${id} /><//>`}
    <${Card} title=${t("privacy.erase")}><${Ask} done=${erasures.again} /><//>
    <${Card} title=${t("privacy.before")}>
      <${Pages} of=${erasures} caption=${t("privacy.before")} columns=${columns} empty=${html`<${Empty} title=${t("privacy.none")} />`} />
    <//>`;
}

function Ask({ done }) {
  const empty = { text: "", sure: "" };
  const { now: { text }, bind, edit } = useEdits(empty);
  const here = useHere();
  const emails = [...new Set(text.split(/[\s,;]+/).filter(Boolean))];

  async function send() {
    const { id } = await post("/erasures", { emails }, true);
    edit(empty);
    done();
    here.go(["privacy", id]);
  }

  const many = emails.length > MOST ? t("privacy.too_many", { n: MOST }) : undefined;
  const some = emails.length > 0;
  return html`<${Form} send=${send} submit=${some ? t("privacy.erase_n", { n: emails.length }) : t("privacy.erase")} waits=${!some || many !== undefined} danger=${true}>
    <${Field} label=${t("lists.addresses")} hint=${t("privacy.addresses_hint", { n: MOST })} wrong=${many} rows=${5} required
      autocomplete="off" spellcheck=${false} ...${bind("text")} />
    ${some && html`<${Field} label=${t("privacy.sure", { n: String(emails.length) })} required pattern=${String(emails.length)} inputmode="numeric"
      autocomplete="off" ...${bind("sure")} />`}
    <${Note} kind="warning">${t("privacy.final")}<//>
  <//>`;
}

function Receipt({ id }) {
  const receipt = useFetched((signal) => get(`/erasures/${encodeURIComponent(id)}`, {}, signal), [id], "erasures");
  const columns = [
    { title: t("where"), cell: ([table]) => html`<code>${table}</code>` },
    { title: t("privacy.removed"), number: true, cell: ([, count]) => number(count) },
  ];
  return html`<${Fetched} from=${receipt}>${(of) => html`
    <${Facts} of=${[
      [t("privacy.id"), html`<code>${of.id}</code>`],
      [t("lists.state"), html`<${State} of=${of.status} />`],
      [t("privacy.requested"), html`<${Ago} at=${of.requested_at} />`],
      [t("privacy.completed"), of.completed_at ? html`<${Ago} at=${of.completed_at} />` : "–"],
      [t("lists.addresses"), number(of.addresses)],
    ]} />
    <${Table} caption=${t("privacy.receipt")} columns=${columns} rows=${Object.entries(of.removed)} id=${([table]) => table} />`}<//>`;
}
