/** A new webhook: its secret, code that checks signatures, and a first test. */
import { html, useState } from "../../../vendor/lib.js";
import { get, post } from "../../api.js";
import { t } from "../../text.js";
import { Button, Dialog, Glyph, Icon, Note, Secret, useFetched } from "../../ui.js";
import { Code } from "../../ui/code.js";
import { came, isAccepted, wrong } from "./outcome.js";
import { LANGUAGES, checking } from "../../../docs/signature.js";

/** @param {{ of: any, close: () => void }} props `of`: webhook with its secret */
export function First({ of, close }) {
  const [test, setTest] = useState("");
  const path = `/webhooks/${encodeURIComponent(of.id)}`;
  const send = async () => setTest((await post(`${path}/test`, undefined, true)).id);
  return html`<${Dialog} title=${t("webhooks.made")} wide=${true} close=${close}>
    <${Note} kind="warning">${t("webhooks.once")}<//>
    <${Secret} text=${of.secret} label=${t("webhooks.secret")} />
    <${Code} title=${t("webhooks.check")} languages=${LANGUAGES} write=${(language) => checking(language, of.url)} />
    <div class="row apart"><div class="grow" role="status">${test ? html`<${Result} key=${test} webhook=${of.id} id=${test} />` : html`<p class="quiet">${t("webhooks.first")}</p>`}</div>
      <${Button} kind="primary" work=${send}>${t("webhooks.test")}<//></div>
  <//>`;
}

/** Outcome of the test, once it is known. @param {{ webhook: string, id: string }} props */
function Result({ webhook, id }) {
  const path = `/webhooks/${encodeURIComponent(webhook)}/deliveries/${encodeURIComponent(id)}`;
  const delivery = useFetched((signal) => get(path, {}, signal), [path], `delivery:${webhook}/${id}`);
  const last = delivery.value?.last_attempt;
  if (!last) return html`<p class="quiet row"><${Icon} name="clock" />${t("webhooks.tested")}</p>`;
  return html`<p class="row"><${Glyph} of=${isAccepted(last) ? "passed" : "undeliverable"} /><b>${came(last)}</b></p>
    ${!isAccepted(last) && html`<p class="small quiet">${wrong(last)}</p>`}`;
}
