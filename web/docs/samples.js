/**
 * Samples in the selected language, with this server's URL and the user's test key, and responses beside them.
 *
 * The server renders each as a curl command; `data-…` attributes hold its parts. The dashboard shares the selected language.
 */
import { KEY, LANGUAGES, written } from "./languages.js";
import { make } from "./make.js";

const KEPT = "probity.snippet";
let language = LANGUAGES.find((one) => one === localStorage.getItem(KEPT)) ?? LANGUAGES[0];
/** @type {string | undefined} */
let secret;

/** Programs of the guides, by their element. @type {WeakMap<Element, import("./guides.js").Programs>} */
const PROGRAMS = new WeakMap();

/** Element of a call, as the server renders it for an operation. @param {import("./guides.js").Call} call */
export const sample = ({ method, path, body, more }) => make("div", {
  class: "sample", "data-method": method, "data-path": path, "data-key": "", "data-base": document.querySelector(".sample")?.getAttribute("data-base") ?? location.origin,
  ...(body !== undefined && { "data-body": JSON.stringify(body) }), ...(more && { "data-more": JSON.stringify(more) }),
}, make("pre", {}, make("code")));

/** @param {import("./guides.js").Programs} programs */
export function programs(programs) {
  const element = sample({ method: "GET", path: "" });
  PROGRAMS.set(element, programs);
  return element;
}

/** Response beside its sample. @param {string} status @param {string} body */
export const reply = (status, body) => make("div", { class: "reply" },
  make("p", { class: "sample-head" }, make("span", { class: "status" }, status), "Response"),
  make("pre", { tabindex: "0", role: "region", "aria-label": `Response ${status}` }, make("code", {}, body)));

/** Moves the example of each operation's first response beside its call. */
export function besideCalls() {
  for (const call of document.querySelectorAll(".sample")) {
    const response = call.closest("article")?.querySelector(".rest details:not(.failures)");
    const example = response?.querySelector("pre");
    const status = response?.querySelector(".status")?.textContent ?? "";
    const beside = make("div", { class: "beside" });
    call.replaceWith(beside);
    beside.append(call, ...(example ? [reply(status, example.textContent ?? "")] : []));
    example?.remove();
  }
}

/** Renders all samples again. @param {string} [key] key to insert */
export function showSamples(key) {
  secret = key;
  document.documentElement.toggleAttribute("data-keyed", key !== undefined);
  for (const sample of document.querySelectorAll(".sample")) show(/** @type {HTMLElement} */ (sample));
}

/** @param {HTMLElement} sample */
function show(sample) {
  const { method = "GET", path = "", body, base = location.origin, key, more, reply = "json" } = sample.dataset;
  const call = { method, url: `${base}${path}`, body: body && JSON.parse(body), key: key === undefined ? undefined : secret ?? KEY, more: more && JSON.parse(more), reply };
  const code = /** @type {HTMLElement} */ (sample.querySelector("code"));
  const own = PROGRAMS.get(sample);
  const offered = own?.languages ?? LANGUAGES;
  const shown = offered.includes(language) ? language : offered[0];
  code.textContent = own ? own.write(shown, base, secret ?? KEY) : written(shown, call);
  mark(code, secret ?? KEY);
  const tabs = sample.querySelector(".switch") ?? addTabs(sample, offered);
  /** @type {HTMLElement} */ (sample.querySelector(".run")).hidden = !secret || key === undefined || method !== "GET" || own !== undefined;
  for (const tab of tabs.children) {
    const chosen = tab.textContent === shown;
    tab.setAttribute("aria-selected", String(chosen));
    tab.setAttribute("tabindex", chosen ? "0" : "-1");
    if (chosen) sample.querySelector("pre")?.setAttribute("aria-labelledby", tab.id);
  }
}

/** Marks the reader's key, or the place to put one. @param {HTMLElement} code @param {string} key */
function mark(code, key) {
  const [before, ...rest] = (code.textContent ?? "").split(key);
  if (rest.length === 0) return;
  code.replaceChildren(before, ...rest.flatMap((text) => [make("mark", { title: secret ? "Your test key" : "Your test key goes here" }, key), text]));
}

/** @param {HTMLElement} sample @param {string[]} languages */
function addTabs(sample, languages) {
  const name = sample.closest("article")?.id ?? "";
  const panel = /** @type {HTMLElement} */ (sample.querySelector("pre"));
  panel.id = `${name}-example`;
  panel.setAttribute("role", "tabpanel");
  panel.setAttribute("tabindex", "0");
  const tabs = make("div", { class: "switch", role: "tablist", "aria-label": "Language of the example" });
  for (const one of languages) {
    const tab = make("button", { type: "button", role: "tab", id: `${name}-${one}`, "aria-controls": panel.id }, one);
    tab.addEventListener("click", () => choose(tab));
    tabs.append(tab);
  }
  tabs.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[/** @type {KeyboardEvent} */ (event).key];
    if (!step) return;
    event.preventDefault();
    const all = [...tabs.children];
    const at = all.findIndex((tab) => tab.getAttribute("aria-selected") === "true") + step;
    choose(/** @type {HTMLElement} */ (all.at(at % all.length)));
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
  const run = make("button", { type: "button", class: "run" }, "Run");
  run.addEventListener("click", () => call(sample));
  sample.prepend(make("div", { class: "sample-head" }, tabs, make("span", { class: "acts" }, run, copy)));
  if (sample.querySelector("mark")) sample.append(make("p", { class: "put" }, "Replace the mark with your ", make("a", { href: "#key" }, "test key"), "."));
  return tabs;
}

/** Runs a call as a program would, without the session's cookie, and shows the response. @param {HTMLElement} sample */
async function call(sample) {
  const started = performance.now();
  let status = "", body = "The server cannot be reached.";
  try {
    const response = await fetch(sample.dataset.path ?? "", { headers: { authorization: `Bearer ${secret}` }, credentials: "omit" });
    status = `${response.status}, ${Math.round(performance.now() - started)} ms`;
    const text = await response.text();
    body = sample.dataset.reply === "text" ? text : JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // What was received, or the text above, is shown.
  }
  const shown = reply(status, body);
  shown.setAttribute("role", "status");
  const before = sample.parentElement?.querySelector(".reply");
  if (before) before.replaceWith(shown);
  else sample.after(shown);
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
