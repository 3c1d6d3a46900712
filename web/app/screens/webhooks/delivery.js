/** One delivery, updated live: request, responses by attempt, and next attempt. */
import { html } from "../../../vendor/lib.js";
import { get, post } from "../../api.js";
import { clock } from "../../format.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Ago, Button, Card, Copy, Facts, Fetched, Glyph, Icon, Note, Page, toast, useFetched } from "../../ui.js";
import { DeliveryState, came, isAccepted, wrong } from "./outcome.js";

/** Attempts for a delivery, unless it is a test: `SCHEDULE_MS` in `crates/backend/src/webhooks/attempt.rs`. */
const ATTEMPTS = 8;

/** @param {{ id: string, delivery: string }} props */
export function Delivery({ id, delivery }) {
  const [path, one] = [`/webhooks/${encodeURIComponent(id)}`, encodeURIComponent(delivery)];
  const webhook = useFetched((signal) => get(path, {}, signal), [id]);
  const shown = useFetched((signal) => get(`${path}/deliveries/${one}`, {}, signal), [id, delivery], `delivery:${id}/${delivery}`);
  async function resend() {
    await post(`${path}/deliveries/${one}/redeliver`, undefined, true);
    toast(t("webhooks.redelivered"));
    shown.refresh();
  }
  const isOff = webhook.value?.status === "disabled";
  const act = administrates.value && shown.value && html`<${Button} work=${resend} disabled=${isOff}><${Icon} name="retry" />${t("webhooks.again")}<//>`;
  return html`<${Page} title=${shown.value?.type ?? t("webhooks.delivery")} actions=${act} above=${html`<a href="#/webhooks">${t("webhooks.title")}</a>
    <span aria-hidden="true">/</span><a href=${`#/webhooks/${encodeURIComponent(id)}`}>${webhook.value?.name ?? t("webhooks.what")}</a>`}>
    ${isOff && administrates.value && html`<${Note}>${t("webhooks.off")}<//>`}
    <${Fetched} from=${shown} lines=${8}>${(of) => html`<${Standing} of=${of} /><div class="columns"><${Attempts} of=${of} /><${Request} of=${of} /></div>`}<//>
  <//>`;
}

/** Why the delivery waits or has failed, and what happens next. */
function Standing({ of: { status, attempts, next_attempt_at: next, last_attempt: last } }) {
  if (status === "waiting" && !last) return html`<${Note}>${t("webhooks.waits")}<//>`;
  if (!last || isAccepted(last)) return null;
  return html`<${Note} kind=${status === "exhausted" ? "bad" : "warning"} title=${came(last)}>${wrong(last)}
    ${next && attempts > 0 && html` <span>${t("webhooks.again_at", { time: clock(next), n: attempts + 1, most: ATTEMPTS })}</span>`}<//>`;
}

/** Newest attempt first, preceded by the next one. */
function Attempts({ of: { status, attempts, created_at: created, next_attempt_at: next, request, last_attempt: last, earlier_attempts: earlier } }) {
  const made = [last, ...earlier].filter(Boolean);
  // Already due: being sent, or about to be.
  const isDue = next && Date.parse(next) <= Date.now();
  return html`<${Card} title=${t("attempts")} actions=${html`<${DeliveryState} of=${status} />`}>
    <ol class="happened" aria-label=${t("attempts")}>
      ${next && html`<li><span class="kind"><${Icon} name="clock" /></span>
        <p class="grow">${isDue ? t("webhooks.sending") : t("webhooks.next_at", { time: clock(next) })}</p></li>`}
      ${status === "exhausted" && html`<li><span class="kind"><${Icon} name="stop" /></span><p class="grow">${t("webhooks.given_up", { n: attempts })}</p></li>`}
      ${status === "cancelled" && html`<li><span class="kind"><${Icon} name="stop" /></span><p class="grow">${t("webhooks.canceled")}</p></li>`}
      ${made.map((one) => html`<${Attempt} key=${one.at} of=${one} url=${request.url} />`)}
      <li><span class="kind"><${Icon} name="plus" /></span><p class="grow">${t("webhooks.created")}</p><${Ago} at=${created} kind="small quiet" /></li>
    </ol>
  <//>`;
}

/** Result of one attempt; its URL is shown if the delivery's URL has changed since. */
function Attempt({ of, url }) {
  return html`<li><span class="kind"><${Glyph} of=${isAccepted(of) ? "passed" : "undeliverable"} /></span>
    <div class="grow stack tight">
      <p><strong>${came(of)}</strong></p>
      <p class="small quiet">${[of.took_ms === null ? null : t("webhooks.took_ms", { ms: of.took_ms }), of.url === url ? null : of.url].filter(Boolean).join(" · ")}</p>
      ${of.answer && html`<pre class="code snippet" tabindex="0" aria-label=${t("response")}>${of.answer}</pre>`}
    </div>
    <${Ago} at=${of.at} kind="small quiet" /></li>`;
}

function Request({ of }) {
  const { request, last_attempt: last, body, missing_body: missing } = of;
  const timestamp = last ? String(Math.floor(Date.parse(last.at) / 1000)) : t("webhooks.each_attempt");
  const headers = { ...request.headers, "webhook-timestamp": timestamp, "webhook-signature": `v1,… (${t("webhooks.not_stored")})` };
  return html`<${Card} title=${t("requests.request")} actions=${body && html`<${Copy} text=${body} icon=${html`<${Icon} name="copy" />`}>${t("webhooks.copy_body")}<//>`}>
    <${Facts} of=${[
      ["POST", html`<code>${request.url}</code>`],
      ...(request.job_id ? [[t("lists.list"), html`<a href=${`#/lists/${request.job_id}`}>${request.job_id}</a>`]] : []),
      ...(last ? [[t("webhooks.sent_last"), html`<${Ago} at=${last.at} />`]] : []),
    ]} />
    <h3>${t("webhooks.headers")}</h3>
    <pre class="code snippet" tabindex="0" aria-label=${t("webhooks.headers")}>${Object.entries(headers).map(([name, value]) => `${name}: ${value}`).join("\n")}</pre>
    <h3>${t("webhooks.body")}</h3>
    ${missing ? html`<${Note}>${t(`webhooks.missing_${missing}`)}<//>` : html`
      ${request.rows && html`<p class="small quiet">${t("webhooks.built")}</p>`}
      <pre class="code snippet" tabindex="0" dir="ltr" aria-label=${t("webhooks.body")}>${pretty(body)}</pre>`}
  <//>`;
}

/** Pretty-printed body; the signature covers the original bytes. @param {string} body */
function pretty(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
