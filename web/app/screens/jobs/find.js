/** Searches all lists for an address or domain, while their rows are retained. */
import { html, useEffect, useState } from "../../../vendor/lib.js";
import { get } from "../../api.js";
import { number } from "../../format.js";
import { link, useHere } from "../../route.js";
import { t } from "../../text.js";
import { Ago, Button, Card, Empty, Failure, Field, Form, Page, reason, Table, Verdict } from "../../ui.js";
import { nameOf } from "./name.js";

/** @param {{ query: URLSearchParams }} props */
export function Find({ query }) {
  const [text, setText] = useState(query.get("q") ?? "");
  const [failure, setFailure] = useState(/** @type {unknown} */ (undefined));
  const [found, setFound] = useState(/** @type {{ q: string, places: any[], scanned: number, next: string | null } | undefined} */ (undefined));
  const here = useHere();

  async function look(q, before) {
    const answer = await get("/app/lookup", { q, next: before?.next }, here.signal);
    const places = [...(before?.places ?? []), ...answer.data];
    setFailure(undefined);
    setFound({ q, places, scanned: (before?.scanned ?? 0) + answer.scanned, next: answer.next });
    here.go(["lists", "find"], { q }, true);
  }
  // An address in the URL is searched at once.
  useEffect(() => {
    if (text.trim()) look(text.trim(), undefined).catch(setFailure);
  }, []);

  return html`<${Page} title=${t("find.title")} lead=${t("find.lead")} above=${html`<a href="#/lists">${t("lists.title")}</a>`}>
    <section class="card ask">
      <${Form} send=${() => look(text.trim(), undefined)} submit=${t("find.submit")}>
        <${Field} label=${t("find.text")} value=${text} set=${setText} placeholder=${t("find.text")} required maxlength="320" autocomplete="off" spellcheck=${false} />
      <//>
    </section>
    ${failure !== undefined && html`<${Failure} of=${failure} />`}
    ${found && html`<${Card} title=${t("lists.sum_rows", { n: found.places.length })}>
      ${found.places.length > 0 ? html`<${Table} caption=${t("find.title")} columns=${columns()} rows=${found.places} id=${(place) => `${place.job} ${place.index}`} />`
        : html`<${Empty} title=${t("lists.found_none")}>${t("find.none")}<//>`}
      <div class="row"><span class="quiet small" role="status">${t("find.scanned", { n: found.scanned })}</span>
        ${found.next && html`<${Button} work=${() => look(found.q, found)}>${t("find.older")}<//>`}</div>
    <//>`}
  <//>`;
}

const columns = () => [
  { title: t("lists.list"), cell: (place) => html`<a href=${link(["lists", place.job], { q: place.email })}>${nameOf(place)}</a>
    <div class="quiet small"><${Ago} at=${place.created_at} /></div>` },
  { title: t("lists.row"), number: true, cell: (place) => number(place.index + 1) },
  { title: t("verify.email"), cell: (place) => place.email },
  { title: t("lists.verdict"), cell: (place) => html`<${Verdict} of=${place.processed ? place.status : "pending"} />` },
  { title: t("usage.reason"), cell: (place) => (place.reason ? reason(place.reason) : "") },
];
