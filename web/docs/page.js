/**
 * Scripted features of the documentation: guides, pages, search, samples in other languages, the user's test key, light or dark
 * theme.
 *
 * The server renders a complete page; this script only adds to it.
 */
import { addGuides } from "./guide.js";
import { offerKey } from "./key.js";
import { make } from "./make.js";
import { offerPages } from "./pages.js";
import { besideCalls, showSamples } from "./samples.js";
import { offerSearch } from "./search.js";

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

besideCalls();
addGuides();
offerSearch();
offerThemes();
showSamples();
offerPages();
offerKey(showSamples);
