/** Layout for signed-out users: a form and, if space allows, a presentation of the service. */
import { html } from "../../vendor/lib.js";
import { t } from "../text.js";
import { Glyph } from "./icon.js";
import { Brand } from "./page.js";

/** Example probe with its replies. @type {[string, string, string, string][]} address, reply, meaning, verdict */
const ASKED = [
  ["anna@letter.example", "250 2.1.5 OK", "talk.yes", "passed"],
  ["tom@letter.example", "550 5.1.1 User unknown", "talk.no", "undeliverable"],
];

/** @param {{ children?: unknown }} props */
export function Door({ children }) {
  return html`<div class="door"><main class="alone" id="page"><${Brand} />${children}</main>
    <div class="art" aria-hidden="true"><div class="asked">${ASKED.map(([email, reply, meaning, verdict]) => html`
        <p class="us"><code>${`RCPT TO:<${email}>`}</code>${t("talk.ask_rcpt", { email })}</p>
        <p class="them"><code>${reply}</code>${t(meaning)}</p>
        <p class=${`said ${verdict}`}><${Glyph} of=${verdict} />${t(`status.${verdict}`)}</p>`)}</div>
      <p class="line">${t("sign-in.what")}</p></div></div>`;
}
