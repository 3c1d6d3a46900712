/** What a webhook is: its name, where it leads, what it is told of. */
import { html, useState } from "../../../vendor/lib.js";
import { t } from "../../text.js";
import { Dialog } from "../../ui/dialog.js";
import { Check, Field, Form, Group } from "../../ui/fields.js";

const STATUSES = ["passed", "undeliverable", "risky", "unknown"].map((status) => `status.${status}`);
const REASONS = [
  "valid", "invalid", "illegitimate", "nonexistent", "deactivated", "inbox_full", "spam", "complained", "bounced", "blacklisted",
  "disposable", "banned_words", "role_based", "available", "accept_all", "failed_exchange", "unverified",
].map((reason) => `reason.${reason}`);

/** @param {{ title: string, of?: any, close: () => void, save: (webhook: any) => Promise<unknown> }} props */
export function Edit({ title, of, close, save }) {
  const [name, setName] = useState(of?.name ?? "");
  const [url, setUrl] = useState(of?.url ?? "");
  const [events, setEvents] = useState(/** @type {string[]} */ (of?.events ?? ["job.finished"]));
  const check = (event, label) => html`<${Check} label=${label} checked=${events.includes(event)}
    set=${(on) => setEvents(on ? [...events, event] : events.filter((one) => one !== event))} />`;
  return html`<${Dialog} title=${title} close=${close}>
    <${Form} send=${() => save({ name, url, events })} submit=${t("save")}>
      <${Field} label=${t("webhooks.name")} required maxlength="200" value=${name} set=${setName} />
      <${Field} label=${t("webhooks.url")} hint=${t("webhooks.url_hint")} type="url" required value=${url} set=${setUrl} />
      <${Group} label=${t("webhooks.events")} hint=${t("webhooks.events_hint")}>
        ${check("job.finished", t("webhooks.job_finished"))}
        ${check("connection.disconnected", t("webhooks.connection_disconnected"))}
        ${STATUSES.map((event) => check(event, t("webhooks.row", { what: t(event) })))}
        <details><summary>${t("webhooks.by_reason")}</summary><div class="stack tight">${REASONS.map((event) => check(event, t(event)))}</div></details>
      <//>
    <//>
  <//>`;
}
