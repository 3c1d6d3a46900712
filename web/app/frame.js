/**
 * The frame around the screens of those who are signed in: the sections, who they are, and how they leave.
 */
import { html, useEffect, useState } from "../vendor/lib.js";
import { choose, testing } from "./mode.js";
import { Unreachable } from "./reach.js";
import { go, where } from "./route.js";
import { sections } from "./screens.js";
import { session, signOut } from "./session.js";
import { isMac, usePalette } from "./shortcuts.js";
import { t } from "./text.js";
import { choose as chooseTheme, theme } from "./theme.js";
import { Button } from "./ui/buttons.js";
import { Icon } from "./ui/icon.js";
import { Note } from "./ui/notes.js";
import { Brand } from "./ui/page.js";

export function Frame({ current, children }) {
  const [open, setOpen] = useState(false);
  const { palette, open: search, close } = usePalette();
  useEffect(() => setOpen(false), [where.value]);
  return html`
    <a class="skip" href="#page" onClick=${skip}>${t("frame.skip")}</a>
    <div class=${testing.value ? "frame frame-test" : "frame"}>
      <header class=${open ? "bar open" : "bar"}>
        <${Brand} />
        <${Mode} />
        <button type="button" class="button slim menu-button" aria-expanded=${open} aria-controls="sections"
          onClick=${() => setOpen(!open)}>${t("frame.menu")}</button>
        <button type="button" class="button slim jump" onClick=${search}><${Icon} name="search" /><span class="grow cut">${t("palette.search")}</span><kbd>${isMac ? "⌘" : "Ctrl"} K</kbd></button>
        <nav id="sections" aria-label=${t("frame.sections")}>
          <ul class="sections">${sections.map((section) => html`<${Section} ...${section} current=${current} />`)}</ul>
        </nav>
        <${Who} current=${current} />
      </header>
      <div class="beside"><${TestLine} /><${Unencrypted} /><${Unreachable} />${children}</div>
    </div>
    ${palette && html`<${palette.Palette} close=${close} />`}`;
}

/** Live or test. What stands open in the one is not in the other, so the reader comes to the screen's beginning. */
function Mode() {
  const user = session.value?.user.id;
  if (!user) return null;
  const turn = (test) => {
    if (test === testing.value) return;
    const [screen, ...inner] = where.value.parts;
    choose(user, test);
    if (inner.length > 0) go([screen]);
  };
  return html`<div class=${testing.value ? "mode mode-test" : "mode"} role="group" aria-label=${t("mode.title")}>
    ${[false, true].map((test) => html`<button type="button" aria-label=${test ? t("mode.test_title") : t("mode.live_title")} aria-pressed=${testing.value === test} onClick=${() => turn(test)}>${test ? t("mode.test") : t("mode.live")}</button>`)}
  </div>`;
}

function TestLine() {
  if (!testing.value) return null;
  return html`<aside class="test-line" aria-label=${t("mode.test_title")}><strong>${t("mode.test_title")}</strong> <span>${t("mode.test_text")}</span> <span class="more">${t("mode.test_more")}</span></aside>`;
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
    <div class="row leave"><${Theme} /><${Button} kind="slim" work=${signOut}>${t("frame.sign_out")}<//></div>
  </div>`;
}

function Theme() {
  const other = theme() === "dark" ? "light" : "dark";
  const name = other === "dark" ? t("theme.to_dark") : t("theme.to_light");
  return html`<button type="button" class="button plain square" aria-label=${name} title=${name} onClick=${() => chooseTheme(other)}><${Icon} name="theme" /></button>`;
}
