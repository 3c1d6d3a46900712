/**
 * Scripted features of the API reference: search, samples in other languages, the user's test key, light or dark theme.
 *
 * The server renders a complete page; this script only adds to it.
 */
import { offerKey } from "./key.js";
import { make } from "./make.js";
import { showSamples } from "./samples.js";
import { offerSearch } from "./search.js";

/** Highlights the current section in the sidebar. */
function followReader() {
  const links = new Map([...document.querySelectorAll("nav li a")].map((link) => [link.getAttribute("href")?.slice(1), link]));
  /** @type {Element | undefined} */
  let current;
  const seen = new IntersectionObserver((entries) => {
    const entered = entries.filter(({ isIntersecting }) => isIntersecting).at(-1);
    const link = entered && links.get(entered.target.id);
    if (!link || link === current) return;
    current?.removeAttribute("aria-current");
    current = link;
    link.setAttribute("aria-current", "true");
    // Not `scrollIntoView`, which would also scroll the page.
    const bar = /** @type {HTMLElement} */ (document.querySelector("nav"));
    const { top, bottom } = link.getBoundingClientRect();
    if (bar.scrollHeight > bar.clientHeight && (top < 120 || bottom > innerHeight - 40)) bar.scrollTop += top - innerHeight / 2;
  }, { rootMargin: "0px 0px -75% 0px" });
  for (const place of document.querySelectorAll("main article, #authentication, #errors")) seen.observe(place);
}

function offerThemes() {
  const names = { "": "System", light: "Light", dark: "Dark" };
  const group = make("div", { class: "switch themes", role: "group", "aria-label": "Colors" });
  const show = () => {
    const chosen = document.documentElement.dataset.theme ?? "";
    for (const button of group.children) button.setAttribute("aria-pressed", String(button.getAttribute("value") === chosen));
  };
  for (const [theme, name] of Object.entries(names)) {
    const button = make("button", { type: "button", value: theme }, name);
    button.addEventListener("click", () => {
      if (theme) localStorage.setItem("probity.theme", theme);
      else localStorage.removeItem("probity.theme");
      // `storage` events only come from other pages; the page's first script listens for them.
      dispatchEvent(new Event("storage"));
      show();
    });
    group.append(button);
  }
  show();
  document.querySelector("nav")?.append(group);
}

offerSearch();
offerThemes();
followReader();
showSamples();
offerKey(showSamples);
