/**
 * Whether this installation reaches mail servers. Where it does not, every page of live mode says so and what to do, because
 * verdicts would say more about this machine than about addresses.
 */
import { html, signal, useEffect, useState } from "../vendor/lib.js";
import { get } from "./api.js";
import { testing } from "./mode.js";
import { session } from "./session.js";
import { t } from "./text.js";
import { Dialog } from "./ui/dialog.js";

/** Interval of polls. */
const ASK_MS = 60_000;
/** After the first screen, which needs the connection for itself. */
const FIRST_MS = 500;

/** @typedef {{ name: string, outcome: string, found: string, advice: string }} Check */
/** @typedef {{ reachable: boolean | null, data: { node: string, state: any }[] | null }} Ways */

/** As the server said last; `undefined` before. */
export const ways = signal(/** @type {Ways | undefined} */ (undefined));

/** Whether live addresses would be judged without a word of their mail servers. */
export const isMute = () => !testing.value && ways.value?.reachable === false;

const ask = () => get("/app/egress").then((found) => {
  ways.value = found;
}, () => {});

/** Asks again: something may have been set right. */
export const recheck = ask;

export function Unreachable() {
  const [open, setOpen] = useState(false);
  const user = session.value?.user.id;
  useEffect(() => {
    const first = setTimeout(ask, FIRST_MS);
    const timer = setInterval(() => document.hidden || ask(), ASK_MS);
    return () => {
      clearTimeout(first);
      clearInterval(timer);
    };
  }, [user]);
  if (!isMute()) return null;
  return html`<aside class="unreachable" aria-label=${t("reach.title")}>
    <div><strong>${t("reach.title")}</strong> <span>${t("reach.text")}</span></div>
    <button type="button" class="button slim" onClick=${() => setOpen(true)}>${t("reach.what")}</button>
    ${open && html`<${WhatToDo} close=${() => setOpen(false)} />`}
  </aside>`;
}

/** What the checks of the machine advise, or whom to ask. @param {{ close: () => void }} props */
export function WhatToDo({ close }) {
  const nodes = ways.value?.data;
  /** @type {Check[]} */
  const failed = (nodes ?? []).flatMap(({ state }) => state?.checkup?.checks ?? []).filter(({ outcome }) => outcome === "fail");
  return html`<${Dialog} title=${t("reach.what")} close=${close}>
    <p>${nodes ? t("reach.operator") : t("reach.customer")}</p>
    ${failed.length > 0 && html`<ol class="advices" lang="en">${failed.map(({ name, found, advice }) => html`<li key=${name}>
      <strong>${name}</strong><div class="quiet small">${found}</div><div>${advice}</div></li>`)}</ol>`}
    ${nodes && html`<p class="quiet small">${t("reach.doctor")} <code>probity doctor</code></p>`}
    <p>${t("reach.meanwhile")}</p>
  <//>`;
}
