/** Searches all lists, by their name and for a part of an address, while their rows are retained. */
import { html, useEffect, useRef, useState } from "../../../vendor/lib.js";
import { get } from "../../api.js";
import { number } from "../../format.js";
import { link, useHere } from "../../route.js";
import { t } from "../../text.js";
import { Ago, Button, Card, Empty, Failure, Field, Form, Page, reason, Skeleton, Table, useReturn, Verdict } from "../../ui.js";
import { nameOf } from "./name.js";

/** Maximum number of lists that are shown by name, and of characters of a name. */
const [LISTS, NAME_MAX] = [10, 200];

/** @param {{ query: URLSearchParams }} props */
export function Find({ query }) {
  const given = query.get("q") ?? "";
  const [text, setText] = useState(given);
  const [failure, setFailure] = useState(/** @type {unknown} */ (undefined));
  const [found, setFound] = useState(/** @type {{ q: string, lists: any[], places: any[], scanned: number, next: string | null } | undefined} */ (undefined));
  const asked = useRef("");
  const here = useHere();

  async function look(q, before) {
    asked.current = q;
    const [answer, lists] = await Promise.all([
      get("/app/lookup", { q, next: before?.next }, here.signal),
      before?.lists ?? get("/app/lists", { q: q.slice(0, NAME_MAX), per_page: LISTS }, here.signal).then(({ data }) => data),
    ]);
    if (asked.current !== q) return;
    setFailure(undefined);
    setFound({ q, lists, places: [...(before?.places ?? []), ...answer.data], scanned: (before?.scanned ?? 0) + answer.scanned, next: answer.next });
    if (q !== given) here.go(["lists", "find"], { q });
  }
  // A text in the URL is searched at once, also after Back.
  useEffect(() => {
    if (given === asked.current) return;
    setText(given);
    setFound(undefined);
    if (given.trim()) look(given.trim(), undefined).catch(setFailure);
  }, [given]);
  useReturn(failure, () => look(asked.current, undefined).catch(setFailure));

  return html`<${Page} title=${t("find.title")} lead=${t("find.lead")} above=${html`<a href="#/lists">${t("lists.title")}</a>`}>
    <section class="card ask">
      <${Form} send=${() => look(text.trim(), undefined)} submit=${t("find.submit")}>
        <${Field} label=${t("find.text")} value=${text} set=${setText} type="search" placeholder=${t("find.text")} required maxlength="320" autocomplete="off" spellcheck=${false} />
      <//>
    </section>
    ${failure !== undefined && html`<${Failure} of=${failure} />`}
    ${given && !found && failure === undefined && html`<${Skeleton} lines=${6} />`}
    ${found && found.lists.length > 0 && html`<${Card} title=${t("find.lists", { n: found.lists.length })}>
      <${Table} caption=${t("lists.title")} columns=${columnsOfLists()} rows=${found.lists} /><//>`}
    ${found && html`<${Card} title=${t("find.rows", { n: found.places.length })}>
      ${found.places.length > 0 ? html`<${Table} caption=${t("find.title")} columns=${columns()} rows=${found.places} id=${(place) => `${place.job} ${place.index}`} />`
        : html`<${Empty} title=${t("lists.found_none")}>${t("find.none")}<//>`}
      <div class="row"><span class="quiet small" role="status">${t("find.scanned", { n: found.scanned })}</span>
        ${found.next && html`<${Button} work=${() => look(found.q, found)}>${t("find.older")}<//>`}</div>
    <//>`}
  <//>`;
}

const columnsOfLists = () => [
  { title: t("lists.list"), cell: (list) => html`<a href=${link(["lists", list.id])}>${nameOf(list)}</a>` },
  { title: t("lists.rows"), number: true, cell: (list) => number(list.rows) },
  { title: t("lists.created"), cell: (list) => html`<${Ago} at=${list.created_at} />` },
];

const columns = () => [
  { title: t("lists.list"), cell: (place) => html`<a href=${link(["lists", place.job], { q: place.email })}>${nameOf(place)}</a>
    <div class="quiet small"><${Ago} at=${place.created_at} /></div>` },
  { title: t("lists.row"), number: true, cell: (place) => number(place.index + 1) },
  { title: t("verify.email"), cell: (place) => place.email },
  { title: t("lists.verdict"), cell: (place) => html`<${Verdict} of=${place.processed ? place.status : "pending"} />` },
  { title: t("usage.reason"), cell: (place) => (place.reason ? reason(place.reason) : "") },
];
