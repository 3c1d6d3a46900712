/** A new list: addresses that are pasted, and what they will cost at most. */
import { html, useState } from "../../../vendor/lib.js";
import { get, post } from "../../api.js";
import { number } from "../../format.js";
import { go } from "../../route.js";
import { t } from "../../text.js";
import { Field, Form } from "../../ui/fields.js";
import { Note } from "../../ui/notes.js";
import { Card, Figure, Page } from "../../ui/page.js";
import { Fetched, useFetched } from "../../ui/table.js";

export function New() {
  const [text, setText] = useState("");
  const organization = useFetched((signal) => get("/organization", {}, signal), []);
  const emails = text.split(/[\n,;\t]+/).map((line) => line.trim()).filter(Boolean);
  const distinct = new Set(emails.map((email) => email.toLowerCase())).size;

  async function send() {
    const { id } = await post("/batch-verify", { emails }, true);
    go(["lists", id]);
  }

  return html`<${Page} title=${t("lists.new")} lead=${t("lists.new_lead")}>
    <p><a href="#/lists">${t("lists.all")}</a></p>
    <${Card}>
      <${Form} send=${send} submit=${t("lists.start")}>
        <${Field} label=${t("lists.addresses")} hint=${t("lists.addresses_hint")} rows=${12} required autocomplete="off" spellcheck=${false} value=${text} set=${setText} />
        <div class="grid">
          <${Figure} label=${t("lists.rows")} value=${number(emails.length)} />
          <${Figure} label=${t("lists.duplicates")} value=${number(emails.length - distinct)}>${t("lists.duplicates_free")}<//>
          <${Figure} label=${t("lists.at_most")} value=${number(distinct)} />
          <${Fetched} from=${organization}>${({ credits }) => html`<${Figure} label=${t("lists.there")} value=${number(credits.total)} />`}<//>
        </div>
        ${organization.value && emails.length > organization.value.credits.total && html`<${Note} kind="warning">${t("failure.insufficient_credits")}<//>`}
      <//>
    <//>
  <//>`;
}
