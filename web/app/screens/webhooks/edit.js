/** Webhook form: name, URL, subscribed events. */
import { html } from "../../../vendor/lib.js";
import { t } from "../../text.js";
import { Among, Field, FormDialog, Group, STATUS_OF, useEdits } from "../../ui.js";

/** Row events by verdict and by reason; text names match. */
const OF_STATUS = ["status.passed", "status.undeliverable", "status.risky", "status.unknown"];
const OF_REASON = Object.keys(STATUS_OF).map((reason) => `reason.${reason}`);

/** @param {{ title: string, of?: any, close: () => void, save: (webhook: any) => Promise<unknown> }} props */
export function Edit({ title, of, close, save }) {
  const { now, bind, edit } = useEdits({ name: of?.name ?? "", url: of?.url ?? "", events: /** @type {string[]} */ (of?.events ?? ["job.finished"]) });
  const check = (event, label) => html`<${Among} of=${event} label=${label} list=${now.events} set=${(events) => edit({ events })} />`;
  return html`<${FormDialog} title=${title} close=${close} send=${() => save(now)} submit=${t("save")}>
    <${Field} label=${t("name")} required maxlength="200" ...${bind("name")} />
    <${Field} label=${t("webhooks.url")} hint=${t("webhooks.url_hint")} type="url" required ...${bind("url")} />
    <${Group} label=${t("webhooks.events")} hint=${t("webhooks.events_hint")}>
      ${check("job.finished", t("webhooks.job_finished"))}
      ${check("connection.disconnected", t("webhooks.connection_disconnected"))}
      ${OF_STATUS.map((event) => check(event, t("webhooks.row", { what: t(event) })))}
      <details><summary>${t("webhooks.by_reason")}</summary><div class="stack tight">${OF_REASON.map((event) => check(event, t(event)))}</div></details>
    <//>
  <//>`;
}
