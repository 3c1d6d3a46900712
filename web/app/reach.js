/**
 * Whether this installation can ask mail servers. Where it cannot, every page of live mode says so in one line, with what to do and
 * a way to the sandbox, and live addresses wait: verdicts would say more about this machine than about mailboxes.
 */
import { html, signal, useEffect, useState } from "../vendor/lib.js";
import { get } from "./api.js";
import { testing, turn } from "./mode.js";
import { session } from "./session.js";
import { t } from "./text.js";
import { Dialog } from "./ui/dialog.js";

/** Interval of polls. */
const ASK_MS = 60_000;
/** Interval of polls while mail servers cannot be asked, or while that is not known yet. */
const ASK_SOON_MS = 5_000;
/** After the first screen, which needs the connection for itself. */
const FIRST_MS = 500;

/** @typedef {{ name: string, outcome: string, found: string, advice: string }} Check */
/**
 * `missing`: `resolver`, `port`, `reverse_name` or `source`; `reachable` is null before the first checkup has ended.
 * @typedef {{ reachable: boolean | null, missing: string | null, data: { node: string, state: any }[] | null }} Ways
 */

/** As the server said last; `undefined` before. */
export const ways = signal(/** @type {Ways | undefined} */ (undefined));

/** Whether live addresses wait, because their mail servers cannot be asked. */
export const isMute = () => !testing.value && ways.value?.reachable === false;

/** Whether live lists wait for the first checkup of a server that has just started. */
export const isUnchecked = () => !testing.value && ways.value?.reachable === null;

/** What the server lacks, in a sentence. */
export function lack() {
  const missing = ways.value?.missing ?? "port";
  return t(`reach.missing.${missing}`);
}

/** Goes to test mode, where the sandbox answers, and leaves pages of which it has none. */
export const trySandbox = () => turn(session.value?.user.id ?? "", true);

const ask = () => get("/app/egress").then((found) => {
  ways.value = found;
}, () => {});

/** Asks again: something may have been set right. */
export const recheck = ask;

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

/** What the checks of the machine advise, or whom to ask. @param {{ close: () => void }} props */
export function WhatToDo({ close }) {
  const nodes = ways.value?.data;
  /** @type {Check[]} */
  const failed = (nodes ?? []).flatMap(({ state }) => state?.checkup?.checks ?? []).filter(({ outcome }) => outcome === "fail");
  return html`<${Dialog} title=${t("reach.what")} close=${close}>
    <p>${lack()} ${nodes ? t("reach.operator") : t("reach.customer")}</p>
    ${failed.length > 0 && html`<ol class="advices" lang="en">${failed.map(({ name, found, advice }) => html`<li key=${name}>
      <strong>${name}</strong><div class="quiet small">${found}</div><div>${advice}</div></li>`)}</ol>`}
    ${nodes && html`<p class="quiet small">${t("reach.doctor")} <code>probity doctor</code></p>`}
    <p>${t("reach.meanwhile")}</p>
  <//>`;
}
