/** Sending services that report bounces and complaints, each to its own URL. */
import { html, useState } from "../../../vendor/lib.js";
import { get, post, remove } from "../../api.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Ago, Card, Confirm, Dialog, Empty, Fetched, Field, FormDialog, Note, Secret, Select, Table, useEdits, useFetched } from "../../ui.js";

/** @type {Record<string, string>} */
const SERVICES = { postmark: "Postmark", sendgrid: "SendGrid", mailgun: "Mailgun", sparkpost: "SparkPost", ses: "Amazon SES" };
/** Services that sign their reports, which requires their key. */
const SIGNING = ["sendgrid", "mailgun", "ses"];

export function Sources() {
  const sources = useFetched((signal) => get("/outcome-sources", {}, signal), []);
  const [open, setOpen] = useState(/** @type {{ adding?: boolean, made?: any, gone?: any }} */ ({}));
  const close = () => setOpen({});
  const may = administrates.value;
  const add = may && html`<button type="button" class="button" onClick=${() => setOpen({ adding: true })}>${t("sources.add")}</button>`;
  const columns = [
    { title: t("name"), cell: (one) => one.name },
    { title: t("sources.service"), cell: (one) => SERVICES[one.service] ?? one.service },
    { title: t("sources.last"), cell: (one) => html`<${Ago} at=${one.last_event_at} />` },
    ...(may ? [{ title: t("action"), acts: true, cell: (one) => html`<button type="button" class="button slim" aria-label=${t("sources.remove_title", { name: one.name })}
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
  const { now, bind } = useEdits({ name: "", service: "postmark", key: "" });
  const signs = SIGNING.includes(now.service);
  const send = () => create({ name: now.name.trim(), service: now.service, ...(signs ? { signing_key: now.key.trim() } : {}) });
  return html`<${FormDialog} title=${t("sources.add")} close=${close} send=${send} submit=${t("sources.add")}>
    <${Select} label=${t("sources.service")} ...${bind("service")} options=${Object.entries(SERVICES)} />
    <${Field} label=${t("name")} required maxlength="200" autocomplete="off" ...${bind("name")} />
    ${signs && html`<${Field} key=${now.service} label=${t(`sources.key.${now.service}`)} required maxlength="500" autocomplete="off" spellcheck=${false} ...${bind("key")} />`}
  <//>`;
}

/** URL of a new source, shown once. */
function Made({ of, close }) {
  const url = of.url.startsWith("/") ? location.origin + of.url : of.url;
  return html`<${Dialog} title=${t("sources.made")} wide=${true} close=${close}>
    <${Note} kind="warning" focused=${true}>${t("sources.once", { service: SERVICES[of.service] ?? of.service })}<//>
    <${Secret} text=${url} label=${t("webhooks.url")} />
    <p>${t(`sources.events.${of.service}`)}</p>
  <//>`;
}
