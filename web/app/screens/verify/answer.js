/** Verdict with its evidence. */
import { html } from "../../../vendor/lib.js";
import { readableAddress } from "../../idn.js";
import { t } from "../../text.js";
import { Copy, Glyph, Icon, reason, word } from "../../ui.js";
import { Because, groundOf } from "../../ui/because.js";
import { Sandboxed } from "../../ui/verdict.js";
import { Checks } from "./checks.js";
import { Conversation } from "./conversation.js";
import { curl } from "./curl.js";
import { Timings } from "./timings.js";

const FLAGS = ["role", "disposable", "free", "relay", "gibberish"];

/** @param {{ of: any, accept: (suggestion: string) => void }} props */
export function Answer({ of: verdict, accept }) {
  const { evidence } = verdict;
  const flags = FLAGS.filter((flag) => verdict[flag]);
  return html`
    <section class=${`card verdict-card ${verdict.status}`} aria-labelledby="verdict-title">
      <${Glyph} of=${verdict.status} />
      <div class="grow">
        <p class="mail" id="verdict-mail">${verdict.email}</p>
        <h2 id="verdict-title" aria-describedby="verdict-mail">${word("status", verdict.status)}</h2>
        <p class="sentence"><strong>${reason(verdict.reason)}</strong> <${Sandboxed} of=${verdict} /></p>
        <${Because} of=${groundOf(verdict)} />
        ${verdict.suggestion && html`<div class="row meant"><span class="quiet">${t("verify.meant")}</span>
          <button type="button" class="pick" onClick=${() => accept(verdict.suggestion)}>${readableAddress(verdict.suggestion)}</button></div>`}
        ${flags.length > 0 && html`<div class="row flags">${flags.map((flag) => html`<span class="chip line">${t(`flag.${flag}`)}</span>`)}</div>`}
      </div>
      <div class="row acts">
        <${Copy} text=${JSON.stringify(verdict, null, 2)} icon=${html`<${Icon} name="copy" />`}>${t("verify.copy_result")}<//>
        <${Copy} text=${curl(verdict.email)} icon=${html`<${Icon} name="code" />`}>${t("verify.copy_curl")}<//>
      </div>
    </section>
    ${evidence && html`<${Checks} of=${verdict} />
      <${Conversation} of=${verdict} />
      <${Timings} of=${verdict} />`}`;
}
