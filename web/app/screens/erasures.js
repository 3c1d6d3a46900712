/** Erasure requests and receipts. */
import { html, useEffect, useState } from "../../vendor/lib.js";
import { ask, get, post } from "../api.js";
import { number } from "../format.js";
import { useHere } from "../route.js";
import { administrates } from "../session.js";
import { says, t } from "../text.js";
import { Ago, Card, Empty, Facts, Failure, Fetched, Field, Form, Note, Page, Pages, State, Table, useEdits, useFetched, usePages, useReturn } from "../ui.js";

const MOST = 1_000;
/** Pause after typing before the lists are searched, and the number up to which the server counts deliveries. */
const [TYPING_MS, COUNTED] = [500, 10_000];

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
    ${some && !many && html`<${Traces} emails=${emails} />`}
    ${some && html`<${Field} label=${t("privacy.sure", { n: String(emails.length) })} required pattern=${String(emails.length)} inputmode="numeric"
      autocomplete="off" ...${bind("sure")} />`}
    <${Note} kind="warning">${t("privacy.final")}<//>
  <//>`;
}

/** What the erasure would reach. @param {{ emails: string[] }} props */
function Traces({ emails }) {
  const [found, setFound] = useState({ lists: 0, deliveries: 0, over: false });
  const [failure, setFailure] = useState(/** @type {unknown} */ (undefined));
  const [turn, setTurn] = useState(0);

  async function look(signal) {
    const whole = { lists: 0, deliveries: 0, over: false };
    let next;
    do {
      const part = await ask("POST", "/app/erasures/traces", { query: { next }, body: { emails }, signal });
      whole.lists += part.lists;
      whole.deliveries += part.deliveries;
      whole.over = part.next === null;
      if (!signal.aborted) setFound({ ...whole });
      next = part.next;
    } while (next);
  }
  useEffect(() => {
    setFound({ lists: 0, deliveries: 0, over: false });
    setFailure(undefined);
    const stop = new AbortController();
    const timer = setTimeout(() => look(stop.signal).catch((error) => stop.signal.aborted || setFailure(error)), TYPING_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [emails.join(" "), turn]);
  useReturn(failure, () => setTurn(turn + 1));

  if (failure !== undefined) return html`<${Failure} of=${failure} />`;
  const { lists, deliveries, over } = found;
  const responses = deliveries < COUNTED ? t("privacy.responses", { n: deliveries }) : t("privacy.responses_least", { n: deliveries });
  return html`<p role="status" aria-busy=${!over}>${over || lists > 0 ? t("privacy.found", { n: lists }) : ""} ${over ? "" : t("privacy.looking")}
    ${over && deliveries > 0 ? responses : ""}</p>`;
}

function Receipt({ id }) {
  const receipt = useFetched((signal) => get(`/erasures/${encodeURIComponent(id)}`, {}, signal), [id], "erasures");
  const columns = [
    { title: t("where"), cell: ([table]) => (says(`erased.${table}`) ? t(`erased.${table}`) : html`<code>${table}</code>`) },
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
