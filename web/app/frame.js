/**
 * The frame around the screens of those who are signed in: the sections, who they are, and how they leave.
 */
import { html, useEffect, useState } from "../vendor/lib.js";
import { where } from "./route.js";
import { sections } from "./screens.js";
import { session, signOut } from "./session.js";
import { t } from "./text.js";
import { Button } from "./ui/buttons.js";
import { Note } from "./ui/notes.js";
import { Brand } from "./ui/page.js";

export function Frame({ current, children }) {
  const [open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [where.value]);
  return html`
    <a class="skip" href="#page" onClick=${skip}>${t("frame.skip")}</a>
    <div class="frame">
      <header class=${open ? "bar open" : "bar"}>
        <${Brand} />
        <button type="button" class="button slim menu-button" aria-expanded=${open} aria-controls="sections"
          onClick=${() => setOpen(!open)}>${t("frame.menu")}</button>
        <nav id="sections" aria-label=${t("frame.sections")}>
          <ul class="sections">${sections.map((section) => html`<${Section} ...${section} current=${current} />`)}</ul>
        </nav>
        <${Who} current=${current} />
      </header>
      <div class="beside"><${Unencrypted} />${children}</div>
    </div>`;
}

/** The browser would take the address of the link for a place. */
function skip(event) {
  event.preventDefault();
  document.getElementById("page")?.focus();
}

/** What goes no further than this machine is encrypted nowhere, and nobody else reads it: browsers trust such pages. */
function Unencrypted() {
  if (session.value?.secure !== false || isSecureContext) return null;
  return html`<aside class="unencrypted"><${Note} kind="warning">${t("frame.unencrypted")}<//></aside>`;
}

function Section({ name, screens, current }) {
  return html`<li>
    <div class="title" id=${`section-${name}`}>${t(`section.${name}`)}</div>
    <ul aria-labelledby=${`section-${name}`}>
      ${screens.map((screen) => html`<li>
        <a href=${screen === "overview" ? "#/" : `#/${screen}`} aria-current=${screen === current ? "page" : undefined}>
          ${t(`${screen}.title`)}</a>
      </li>`)}
    </ul>
  </li>`;
}

function Who({ current }) {
  const known = session.value;
  if (!known) return null;
  return html`<div class="who">
    <div class="name">${known.organization.name ?? known.organization.id}</div>
    <a class="name" href="#/account" aria-current=${current === "account" ? "page" : undefined}>
      ${known.user.name ?? known.user.email}</a>
    <${Button} kind="slim" work=${signOut}>${t("frame.sign_out")}<//>
  </div>`;
}
