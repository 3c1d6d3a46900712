/**
 * Frame around the screens of signed-in users: navigation and user menu in the sidebar; breadcrumbs, palette, mode and theme in
 * the top bar.
 */
import { html, useEffect, useRef, useState } from "../vendor/lib.js";
import { Crumbs } from "./frame/crumbs.js";
import { Navigation } from "./frame/navigation.js";
import { Reader } from "./frame/reader.js";
import { testing, turn } from "./mode.js";
import { Unreachable } from "./reach.js";
import { where } from "./route.js";
import { session } from "./session.js";
import { isMac, usePalette } from "./shortcuts.js";
import { t } from "./text.js";
import { choose as chooseTheme, theme } from "./theme.js";
import { Brand, Icon, Note } from "./ui.js";

export function Frame({ current, children }) {
  const { palette, open: search, close } = usePalette();
  const { open, setOpen, side, button } = useSide();
  return html`
    <a class="skip" href="#page" onClick=${skip}>${t("frame.skip")}</a>
    <div class=${testing.value ? "frame frame-test" : "frame"}>
      <aside class=${open ? "side open" : "side"} id="side" aria-label=${t("frame.menu")} ref=${side}>
        <${Brand} />
        <${Navigation} current=${current} />
        <${Reader} />
      </aside>
      ${open && html`<div class="scrim" onClick=${() => setOpen(false)}></div>`}
      <div class="beside">
        <header class="top">
          <button type="button" class="button plain square menu-button" ref=${button} aria-label=${t("frame.menu")} aria-expanded=${open} aria-controls="side"
            onClick=${() => setOpen(!open)}><${Icon} name="menu" large=${true} /></button>
          <${Crumbs} />
          <button type="button" class="jump" onClick=${search}><${Icon} name="search" /><span class="grow cut">${t("palette.search")}</span><kbd>${isMac ? "⌘" : "Ctrl"} K</kbd></button>
          <${Mode} />
          <${Theme} />
        </header>
        <${TestLine} /><${Unencrypted} /><${Unreachable} />${children}
      </div>
    </div>
    ${palette && html`<${palette.Palette} close=${close} />`}`;
}

/** In a narrow window, the sidebar overlays the page. It takes the focus and returns it on Escape. */
function useSide() {
  const [open, setOpen] = useState(false);
  const side = useRef(/** @type {HTMLElement | null} */ (null));
  const button = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => setOpen(false), [where.value]);
  useEffect(() => {
    if (!open) return undefined;
    side.current?.querySelector("a")?.focus();
    const press = ({ key }) => {
      if (key !== "Escape") return;
      setOpen(false);
      button.current?.focus();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [open]);
  return { open, setOpen, side, button };
}

function Mode() {
  if (!session.value) return null;
  return html`<div class=${testing.value ? "mode mode-test" : "mode"} role="group" aria-label=${t("mode.title")}>
    ${[false, true].map((test) => html`<button type="button" aria-label=${test ? t("mode.test_title") : t("mode.live_title")} aria-pressed=${testing.value === test}
      onClick=${() => turn(session.value?.user.id ?? "", test)}><span class="dot" aria-hidden="true"></span>${test ? t("mode.test") : t("mode.live")}</button>`)}
  </div>`;
}

function TestLine() {
  if (!testing.value) return null;
  return html`<aside class="test-line" aria-label=${t("mode.test_title")}><${Icon} name="flask" /><p><strong>${t("mode.test_title")}</strong>${t("mode.test_text")}</p></aside>`;
}

/** Prevents the hash router from treating the link target as a screen. */
function skip(event) {
  event.preventDefault();
  document.getElementById("page")?.focus();
}

/** Warning for plain HTTP. Loopback is exempt: browsers treat it as a secure context. */
function Unencrypted() {
  if (session.value?.secure !== false || isSecureContext) return null;
  return html`<aside class="unencrypted"><${Note} kind="warning">${t("frame.unencrypted")}<//></aside>`;
}

function Theme() {
  const other = theme() === "dark" ? "light" : "dark";
  const name = other === "dark" ? t("theme.to_dark") : t("theme.to_light");
  return html`<button type="button" class="button plain square theme" aria-label=${name} title=${name} onClick=${() => chooseTheme(other)}><${Icon} name="theme" /></button>`;
}
