/**
 * Samples in the selected language, with this server's URL and the user's test key.
 *
 * The server renders each as a curl command; `data-…` attributes hold its parts. The dashboard shares the selected language.
 */
import { KEY, LANGUAGES, written } from "./languages.js";
import { make } from "./make.js";

const KEPT = "probity.snippet";
let language = LANGUAGES.find((one) => one === localStorage.getItem(KEPT)) ?? LANGUAGES[0];
/** @type {string | undefined} */
let secret;

/** Renders all samples again. @param {string} [key] key to insert */
export function showSamples(key) {
  secret = key;
  for (const sample of document.querySelectorAll(".sample")) show(/** @type {HTMLElement} */ (sample));
}

/** @param {HTMLElement} sample */
function show(sample) {
  const { method = "GET", path = "", body, base = location.origin, key, reply = "json" } = sample.dataset;
  const call = { method, url: `${base}${path}`, body: body && JSON.parse(body), key: key === undefined ? undefined : secret ?? KEY, reply };
  const code = /** @type {HTMLElement} */ (sample.querySelector("code"));
  code.textContent = written(language, call);
  const tabs = sample.querySelector(".switch") ?? addTabs(sample);
  for (const tab of tabs.children) {
    const chosen = tab.textContent === language;
    tab.setAttribute("aria-selected", String(chosen));
    tab.setAttribute("tabindex", chosen ? "0" : "-1");
    if (chosen) sample.querySelector("pre")?.setAttribute("aria-labelledby", tab.id);
  }
}

/** @param {HTMLElement} sample */
function addTabs(sample) {
  const name = sample.closest("article")?.id ?? "";
  const panel = /** @type {HTMLElement} */ (sample.querySelector("pre"));
  panel.id = `${name}-example`;
  panel.setAttribute("role", "tabpanel");
  panel.setAttribute("tabindex", "0");
  const tabs = make("div", { class: "switch", role: "tablist", "aria-label": "Language of the example" });
  for (const one of LANGUAGES) {
    const tab = make("button", { type: "button", role: "tab", id: `${name}-${one}`, "aria-controls": panel.id }, one);
    tab.addEventListener("click", () => choose(tab));
    tabs.append(tab);
  }
  tabs.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[/** @type {KeyboardEvent} */ (event).key];
    if (!step) return;
    event.preventDefault();
    const at = LANGUAGES.indexOf(language) + step;
    choose(/** @type {HTMLElement} */ (tabs.children[(at + LANGUAGES.length) % LANGUAGES.length]));
  });
  const copy = make("button", { type: "button", class: "copy" }, "Copy");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(panel.textContent ?? "");
      copy.textContent = "Copied";
    } catch {
      // Without HTTPS there is no clipboard: the text is selected for manual copying.
      getSelection()?.selectAllChildren(panel);
      copy.textContent = "Press Ctrl+C";
    }
  });
  copy.addEventListener("blur", () => { copy.textContent = "Copy"; });
  sample.prepend(make("div", { class: "sample-head" }, tabs, copy));
  return tabs;
}

/** Switches all samples and keeps the scroll position of the current one. @param {HTMLElement} tab */
function choose(tab) {
  const before = tab.getBoundingClientRect().top;
  language = tab.textContent ?? language;
  localStorage.setItem(KEPT, language);
  showSamples(secret);
  scrollBy({ top: tab.getBoundingClientRect().top - before, behavior: "instant" });
  tab.focus({ preventScroll: true });
}
