/** Verification of one address with its evidence, or of several with verdicts as they arrive. */
import { html, useEffect, useRef, useState } from "../../vendor/lib.js";
import { testing } from "../mode.js";
import { useMetered } from "../plan.js";
import { isMute } from "../reach.js";
import { go, useHere } from "../route.js";
import { t } from "../text.js";
import { Card, Empty, Failure, Field, Form, Page, reason, Skeleton, Switch, word } from "../ui.js";
import { because, groundOf } from "../ui/because.js";
import { isSample } from "../ui/verdict.js";
import { Answer } from "./verify/answer.js";
import { Details } from "./verify/details.js";
import { Held } from "./verify/held.js";
import { Past } from "./verify/past.js";
import { bare } from "./verify/pasted.js";
import { ask, past, questionOf, remembered } from "./verify/question.js";
import { Samples } from "./verify/samples.js";
import { Several } from "./verify/several.js";

/** @typedef {import("./verify/question.js").Question} Question */

export function Screen({ parts, query }) {
  const several = parts[0] === "several";
  const choice = html`<${Switch} label=${t("verify.how_many")} options=${[[false, t("verify.one")], [true, t("verify.several")]]} value=${several}
    set=${(many) => go(many ? ["verify", "several"] : ["verify"])} />`;
  return html`<${Page} title=${t("verify.title")} lead=${t("verify.lead")} actions=${choice}>
    ${several ? html`<${Several} />` : html`<${One} query=${query} />`}
  <//>`;
}

function One({ query }) {
  const [question, setQuestion] = useState(() => remembered(query.get("email")));
  // Displayed question: an earlier verdict that arrives later must not replace it.
  const shown = useRef(question);
  const show = (/** @type {Question | undefined} */ of) => {
    shown.current = of;
    setQuestion(of);
  };
  const metered = useMetered();
  const [email, setEmail] = useState(query.get("email") ?? question?.email ?? "");
  const [accepted, setAccepted] = useState(0);
  // Address held because mail servers are unreachable.
  const [held, setHeld] = useState("");
  const [, draw] = useState(0);
  const here = useHere();
  // Result of an earlier question.
  useEffect(() => {
    const answered = () => draw((before) => before + 1);
    question?.answer.then(answered, answered);
  }, [question]);

  // Link from this screen to itself with another address.
  const place = query.get("email");
  useEffect(() => {
    if (place === null || place === question?.email || place === email) return;
    setHeld("");
    setEmail(place);
    show(remembered(place));
  }, [place]);

  /** @param {string} wanted @param {boolean} [anyway] */
  async function verify(wanted, anyway = false) {
    const holds = isMute() && !isSample(wanted) && !anyway;
    setHeld(holds ? wanted : "");
    if (holds) return;
    const asked = ask(wanted);
    show(asked);
    await asked.answer.catch(() => {});
    if (asked.verdict && shown.current === asked) here.go(["verify"], { email: asked.email }, true);
  }

  const send = () => {
    const address = bare(email);
    setEmail(address);
    return verify(address);
  };
  const sample = (chosen) => {
    setEmail(chosen);
    verify(chosen);
  };
  const accept = (suggestion) => {
    setEmail(suggestion);
    show(undefined);
    setAccepted(accepted + 1);
  };
  /** @param {import("./verify/question.js").Answered} of */
  const open = (of) => {
    setHeld("");
    setEmail(of.email);
    show(questionOf(of));
    here.go(["verify"], { email: of.email }, true);
  };
  const evidence = !held && question?.verdict?.evidence;
  return html`<div class=${evidence || past().length > 0 ? "answered" : "stack five"}>
    <div class="stack five">
      <section class="card ask">
        <${Form} send=${send} waits=${waiting(question)} submit=${t("verify.submit")}>
          <${Field} label=${t("verify.email")} key=${accepted} focused=${accepted > 0} value=${email} set=${setEmail} required maxlength="1024" inputmode="email"
            autocomplete="off" spellcheck=${false} placeholder="name@example.com" hint=${!metered ? undefined : testing.value ? t("verify.free") : t("verify.price")} />
        <//>
        ${(testing.value || !question) && html`<${Samples} take=${sample} busy=${waiting(question)} />`}
      </section>
      <p class="hidden-text" role="status">${question && told(question)}</p>
      ${held ? html`<${Held} anyway=${() => verify(held, true)} />` : html`<${Told} of=${question} accept=${accept} />`}
    </div>
    <div class="stack five stay">
      ${evidence && html`<${Details} of=${question.verdict} at=${question.at} />`}
      <${Past} open=${open} current=${held ? undefined : question?.email} />
    </div>
  </div>`;
}

/** @param {Question | undefined} of */
const waiting = (of) => of !== undefined && of.verdict === undefined && of.failure === undefined;

/** Screen reader announcement: verification started, then the verdict. Errors are announced separately. @param {Question} of */
function told({ email, verdict, failure }) {
  if (failure !== undefined) return "";
  if (!verdict) return t("verify.asking", { email });
  return `${verdict.email}: ${word("status", verdict.status)}. ${reason(verdict.reason)}. ${because(groundOf(verdict)).join(" ")}`;
}

/** @param {{ of?: Question, accept: (suggestion: string) => void }} props */
function Told({ of, accept }) {
  if (!of) return html`<${Empty} title=${t("verify.empty")}>${t("verify.empty_text")}<//>`;
  if (of.failure !== undefined) return html`<${Failure} of=${of.failure} />`;
  if (of.verdict) return html`<${Answer} of=${of.verdict} accept=${accept} />`;
  return html`<${Card}><p class="quiet" aria-hidden="true">${t("verify.asking", { email: of.email })}</p><${Skeleton} lines=${4} /><//>`;
}
