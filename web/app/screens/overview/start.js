/**
 * First-steps checklist, shown until done or hidden. Completion follows from the organization's data; the browser only stores
 * whether the checklist is hidden and whether the sandbox returned a verdict.
 */
import { html, useState } from "../../../vendor/lib.js";
import { get } from "../../api.js";
import { choose, testing } from "../../mode.js";
import { WhatToDo, ways } from "../../reach.js";
import { useHere } from "../../route.js";
import { administrates, nameOrganization, session } from "../../session.js";
import { t } from "../../text.js";
import { Button, Glyph, Renaming, useFetched } from "../../ui.js";
import { hasVerified, hide, isHidden } from "./done.js";

export function Start() {
  const [hidden, setHidden] = useState(isHidden);
  return hidden ? null : html`<${Steps} hide=${() => {
    hide();
    setHidden(true);
  }} />`;
}

function Steps({ hide: away }) {
  const found = useFetched((signal) => get("/app/first-steps", {}, signal), [], "lists");
  const [open, setOpen] = useState("");
  if (!found.value) return null;
  const steps = stepsOf(found.value, setOpen);
  const done = steps.filter((step) => step.done).length;
  if (done === steps.length) return null;
  const next = steps.find((step) => !step.done);
  return html`<section class="card start" aria-labelledby="start">
    <div class="row apart"><div class="row"><${Share} of=${done / steps.length} />
        <div><h2 id="start">${t("start.title")}</h2><p class="quiet small">${t("start.done", { done, all: steps.length })}</p></div></div>
      <button type="button" class="button plain slim" onClick=${away}>${t("start.hide")}</button></div>
    <ol class="steps">${steps.map((step) => html`<${Step} key=${step.name} ...${step} isNext=${step === next} />`)}</ol>
    ${open === "name" && html`<${Renaming} title=${t("start.named")} label=${t("name")} hint=${t("organization.hint")} of="" close=${() => setOpen("")}
      save=${(name) => nameOrganization(name).then(found.refresh)} />`}
    ${open === "reach" && html`<${WhatToDo} close=${() => setOpen("")} />`}
  </section>`;
}

/** @typedef {{ name: string, done: boolean, act: (label: string) => unknown }} FirstStep */

/** Steps by role. @param {{ done: string[] }} of @param {(what: string) => void} open @returns {FirstStep[]} */
function stepsOf(of, open) {
  const link = (to) => (label) => html`<a class="button slim" href=${to}>${label}</a>`;
  const press = (what) => (label) => html`<button type="button" class="button slim" onClick=${() => open(what)}>${label}</button>`;
  const may = administrates.value;
  const has = (step) => of.done.includes(step);
  return /** @type {FirstStep[]} */ ([
    may && { name: "named", done: has("named"), act: press("name") },
    { name: "verified", done: has("verified") || hasVerified(), act: link("#/verify") },
    { name: "listed", done: has("listed"), act: (label) => html`<${Demo} label=${label} />` },
    may && { name: "keyed", done: has("keyed"), act: link("#/keys") },
    may && { name: "connected", done: has("connected"), act: link("#/connections") },
    ways.value?.reachable === false && { name: "reachable", done: false, act: press("reach") },
  ].filter(Boolean));
}

/** Progress ring. @param {{ of: number }} props */
const Share = ({ of }) => html`<svg class="done-ring" viewBox="0 0 36 36" aria-hidden="true"><circle cx="18" cy="18" r="15" /><circle class="part" cx="18" cy="18" r="15"
  pathLength="100" stroke-dasharray=${`${100 * of} 100`} transform="rotate(-90 18 18)" /></svg>`;

/** @param {FirstStep & { isNext: boolean }} props */
function Step({ name, done, isNext, act }) {
  return html`<li class=${done ? "done" : isNext ? "next" : undefined} title=${done ? undefined : t(`start.${name}_text`)}>
    ${done ? html`<${Glyph} of="passed" />` : html`<span class="ring" aria-hidden="true"></span>`}
    <div><strong>${t(`start.${name}`)}</strong>${done && html`<span class="hidden-text"> ${t("start.is_done")}</span>`}</div>
    ${!done && act(t(`start.${name}_act`))}
  </li>`;
}

/** Uploads the demo list. The sandbox verifies it, so the upload is in test mode. */
function Demo({ label }) {
  const here = useHere();
  const work = async () => {
    if (!testing.value) choose(session.value?.user.id ?? "", true);
    const [{ demo }, { send }] = await Promise.all([import("./demo.js"), import("../jobs/new/sending.js")]);
    const id = await send(demo(), { name: "demo.csv", source: "csv" }, new AbortController().signal);
    // The mode switch restarts the screen, so this instance is no longer mounted.
    location.hash = `#/lists/new?upload=${encodeURIComponent(id)}`;
  };
  return html`<${Button} kind="slim" work=${work} disabled=${here.signal.aborted}>${label}<//>`;
}
