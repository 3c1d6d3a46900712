/** Sending services that report bounces and complaints by themselves, each to a URL of its own. */
import { html, useState } from "../../../vendor/lib.js";
import { get, post, remove } from "../../api.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Secret } from "../../ui/buttons.js";
import { Confirm, Dialog } from "../../ui/dialog.js";
import { Field, Form, Select } from "../../ui/fields.js";
import { Empty, Note } from "../../ui/notes.js";
import { Card } from "../../ui/page.js";
import { Fetched, Table, useFetched } from "../../ui/table.js";
import { Ago } from "../../ui/time.js";

/** @type {Record<string, string>} */
const SERVICES = { postmark: "Postmark", sendgrid: "SendGrid", mailgun: "Mailgun", sparkpost: "SparkPost", ses: "Amazon SES" };
/** Services that sign, so that their key is needed. */
const SIGNING = ["sendgrid", "mailgun", "ses"];

export function Sources() {
  const sources = useFetched((signal) => get("/outcome-sources", {}, signal), []);
  const [open, setOpen] = useState(/** @type {{ adding?: boolean, made?: any, gone?: any }} */ ({}));
  const close = () => setOpen({});
  const may = administrates.value;
  const add = may && html`<button type="button" class="button" onClick=${() => setOpen({ adding: true })}>${t("sources.add")}</button>`;
  const columns = [
    { title: t("sources.name"), cell: (one) => one.name },
    { title: t("sources.service"), cell: (one) => SERVICES[one.service] ?? one.service },
    { title: t("sources.last"), cell: (one) => html`<${Ago} at=${one.last_event_at} />` },
    ...(may ? [{ title: t("sources.action"), acts: true, cell: (one) => html`<button type="button" class="button slim" aria-label=${t("sources.remove_title", { name: one.name })}
      onClick=${() => setOpen({ gone: one })}>${t("sources.remove")}</button>` }] : []),
  ];
  async function create(wish) {
    setOpen({ made: await post("/outcome-sources", wish, true) });
    sources.again();
  }
  async function end() {
    await remove(`/outcome-sources/${encodeURIComponent(open.gone.id)}`);
    sources.again();
  }
  return html`<${Card} title=${t("sources.title")} actions=${add}>
    <p>${t("sources.lead")}</p>
    <${Fetched} from=${sources} lines=${2}>${({ data }) => (data.length
      ? html`<${Table} caption=${t("sources.title")} columns=${columns} rows=${data} />`
      : html`<${Empty} title=${t("sources.none")} />`)}<//>
    ${open.adding && html`<${Add} close=${close} create=${create} />`}
    ${open.made && html`<${Made} of=${open.made} close=${close} />`}
    ${open.gone && html`<${Confirm} title=${t("sources.remove_title", { name: open.gone.name })} submit=${t("sources.remove")} close=${close} work=${end}>${t("sources.remove_text")}<//>`}
  <//>`;
}

function Add({ close, create }) {
  const [name, setName] = useState("");
  const [service, setService] = useState("postmark");
  const [key, setKey] = useState("");
  const signs = SIGNING.includes(service);
  const send = () => create({ name: name.trim(), service, ...(signs ? { signing_key: key.trim() } : {}) });
  return html`<${Dialog} title=${t("sources.add")} close=${close}>
    <${Form} send=${send} submit=${t("sources.add")}>
      <${Select} label=${t("sources.service")} value=${service} set=${setService} options=${Object.entries(SERVICES)} />
      <${Field} label=${t("sources.name")} required maxlength="200" autocomplete="off" value=${name} set=${setName} />
      ${signs && html`<${Field} key=${service} label=${t(`sources.key.${service}`)} required maxlength="500" autocomplete="off" spellcheck=${false} value=${key} set=${setKey} />`}
    <//>
  <//>`;
}

/** The URL of a new source, which is shown this once. */
function Made({ of, close }) {
  const url = of.url.startsWith("/") ? location.origin + of.url : of.url;
  return html`<${Dialog} title=${t("sources.made")} wide=${true} close=${close}>
    <${Note} kind="warning" focused=${true}>${t("sources.once", { service: SERVICES[of.service] ?? of.service })}<//>
    <${Secret} text=${url} label=${t("sources.url")} />
    <p>${t(`sources.events.${of.service}`)}</p>
  <//>`;
}
