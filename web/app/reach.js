/**
 * Outbound SMTP availability. If mail servers are unreachable, every live page shows one line with advice and a link to the
 * sandbox, and live addresses are held: verdicts would describe this machine rather than the mailboxes.
 */
import { html, signal, useEffect, useState } from "../vendor/lib.js";
import { get, post } from "./api.js";
import { testing, turn } from "./mode.js";
import { session } from "./session.js";
import { t } from "./text.js";
import { Button, Copy } from "./ui/buttons.js";
import { Dialog } from "./ui/dialog.js";
import { Icon } from "./ui/icon.js";

/** Polling interval. */
const ASK_MS = 60_000;
/** Polling interval while mail servers are unreachable or not yet checked. */
const ASK_SOON_MS = 5_000;
/** Delay that leaves the connection to the first screen. */
const FIRST_MS = 500;

/** `config`: lines for the configuration file. @typedef {{ name: string, outcome: string, found: string, advice: string, config?: string }} Check */
/**
 * `missing`: `resolver`, `port`, `reverse_name` or `source`; `reachable`: null until the first checkup ends.
 * @typedef {{ reachable: boolean | null, missing: string | null, data: { node: string, state: any }[] | null }} Ways
 */

/** Last state from the server; `undefined` before the first response. */
export const ways = signal(/** @type {Ways | undefined} */ (undefined));

/** True if live addresses are held because mail servers are unreachable. */
export const isMute = () => !testing.value && ways.value?.reachable === false;

/** True if live lists are held until the first checkup of a new server. */
export const isUnchecked = () => !testing.value && ways.value?.reachable === null;

/** The server's problem as a sentence. */
export function lack() {
  const missing = ways.value?.missing ?? "port";
  return t(`reach.missing.${missing}`);
}

/** Switches to test mode and leaves pages that it lacks. */
export const trySandbox = () => turn(session.value?.user.id ?? "", true);

const ask = () => get("/app/egress").then((found) => {
  ways.value = found;
}, () => {});

/** Maximum number of reads after a checkup was requested, and the pause before each: it takes seconds, and its report some more. */
const LOOKS = 6;
const LOOK_MS = 3_000;

/** Has the server check again, and waits for its report. */
async function checkAgain() {
  const at = checkedAt();
  await post("/app/egress");
  for (let look = 0; look < LOOKS && checkedAt() === at; look += 1) {
    await new Promise((resolve) => { setTimeout(resolve, LOOK_MS); });
    await ask();
  }
}

const checkedAt = () => JSON.stringify((ways.value?.data ?? []).map(({ state }) => state?.checkup?.at));

export function Unreachable() {
  const user = session.value?.user.id;
  useEffect(() => {
    let isOver = false;
    const again = async () => {
      if (!document.hidden) await ask();
      if (!isOver) timer = setTimeout(again, ways.value?.reachable ? ASK_MS : ASK_SOON_MS);
    };
    let timer = setTimeout(again, FIRST_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [user]);
  if (!isMute()) return null;
  return html`<aside class="unreachable" aria-label=${t("reach.title")}>
    <div><strong>${t("reach.title")}</strong> <span>${lack()} ${t("reach.text")}</span></div>
    <div class="row"><${WhatButton} /><button type="button" class="button plain slim" onClick=${trySandbox}>${t("reach.sandbox")}</button></div>
  </aside>`;
}

export function WhatButton() {
  const [open, setOpen] = useState(false);
  return html`<button type="button" class="button slim" onClick=${() => setOpen(true)}>${t("reach.what")}</button>${open && html`<${WhatToDo} close=${() => setOpen(false)} />`}`;
}

/** @param {{ text: string }} props */
const CopyCode = ({ text }) => html`<${Copy} text=${text} icon=${html`<${Icon} name="copy" />`}>${t("keys.copy_code")}<//>`;

/** Advice from failed checks, or whom to contact. @param {{ close: () => void }} props */
export function WhatToDo({ close }) {
  const nodes = ways.value?.data;
  // As many as the overview counts, what prevents every probe first.
  /** @type {Check[]} */
  const open = (nodes ?? []).flatMap(({ state }) => state?.checkup?.checks ?? []).filter(({ outcome }) => outcome !== "ok");
  const file = nodes?.map(({ state }) => state?.checkup?.config_file).find(Boolean);
  const steps = ["fail", "warn"].flatMap((outcome) => open.filter((check) => check.outcome === outcome));
  return html`<${Dialog} title=${t("reach.what")} close=${close}>
    <p>${lack()} ${nodes ? t("reach.operator") : t("reach.customer")}</p>
    ${steps.length > 0 && html`<ol class="advices" lang="en">${steps.map(({ name, found, advice, config }) => html`<li key=${name}>
      <strong>${name}</strong><div class="quiet small">${found}</div><div>${advice}</div>
      ${config && html`<div class="lines"><pre class="code" tabindex="0" lang="zxx">${config}</pre><${CopyCode} text=${config} /></div>`}</li>`)}</ol>`}
    ${file && html`<p class="small">${t("reach.file")} <code>${file}</code> <${CopyCode} text=${file} /></p>`}
    ${nodes && html`<div class="row"><${Button} work=${checkAgain}>${t("reach.again")}<//></div>
      <p class="quiet small">${t("reach.doctor")} <code>probity doctor</code> <${CopyCode} text="probity doctor" /></p>`}
    <p>${t("reach.meanwhile")}</p>
  <//>`;
}
