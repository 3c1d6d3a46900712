/**
 * Search in all texts: guides, summaries, paths, parameters, fields and descriptions. The sidebar shows the places with a match.
 *
 * `/` or Ctrl+K focuses the field, arrows move through the matches, Enter opens one, Escape ends the search.
 */
import { make } from "./make.js";

/** @typedef {{ item: HTMLElement, link: HTMLElement, words: string, lines: () => string[], note: HTMLElement }} Entry */

/** Characters of a text around a match. */
const BEFORE = 24;
const AFTER = 60;
/** Errors, which all operations share, would match everywhere. */
const LEFT_OUT = ".failures, .beside, pre";

export function offerSearch() {
  const entries = read();
  const field = /** @type {HTMLInputElement} */ (make("input", {
    type: "search", id: "find", placeholder: "Search", autocomplete: "off", spellcheck: "false", "aria-label": "Search the documentation",
    "aria-keyshortcuts": "/ Control+K",
  }));
  const found = make("p", { role: "status", class: "found" });
  document.getElementById("tools")?.append(make("div", { class: "find" }, field, make("kbd", { "aria-hidden": "true" }, "/")), found);
  const look = () => show(entries, field.value, found);
  field.addEventListener("input", look);
  steer(field, entries, look);
}

/** @returns {Entry[]} */
function read() {
  return [...document.querySelectorAll("nav li a")].flatMap((link) => {
    const place = document.getElementById(link.getAttribute("href")?.slice(1) ?? "");
    const item = link.closest("li");
    if (!place || !item) return [];
    const route = place.querySelector(".route")?.textContent ?? "";
    const note = make("small", { class: "match" });
    const words = `${link.textContent} ${route} ${place.id}`.toLowerCase();
    link.append(note);
    /** @type {string[] | undefined} */
    let known;
    return [{ item, link: /** @type {HTMLElement} */ (link), words, lines: () => (known ??= linesOf(place)), note }];
  });
}

/** Names of fields, then paragraphs. @param {HTMLElement} place */
function linesOf(place) {
  const text = (selector) => [...place.querySelectorAll(selector)].filter((element) => !element.closest(LEFT_OUT)).map((element) => element.textContent ?? "");
  return [...new Set([...text("td:first-child > code"), ...text("h3, h4, p, li, td, .when")])];
}

/** Part of a line around a word. @param {string} line @param {string} word */
function excerpt(line, word) {
  const at = line.toLowerCase().indexOf(word);
  const [from, to] = [at - BEFORE, at + AFTER];
  return `${from > 0 ? "…" : ""}${line.slice(Math.max(from, 0), to).trim()}${to < line.length ? "…" : ""}`;
}

/** @param {Entry[]} entries @param {string} typed @param {HTMLElement} found */
function show(entries, typed, found) {
  const asked = typed.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const { item, words, lines, note } of entries) {
    const rest = asked.filter((word) => !words.includes(word));
    // Words missing in summary and path must all occur in one line.
    const line = rest.length > 0 ? lines().find((one) => rest.every((word) => one.toLowerCase().includes(word))) : undefined;
    const hit = rest.length === 0 || line !== undefined;
    item.hidden = !hit;
    note.textContent = line ? excerpt(line, rest[0]) : "";
    count += Number(hit);
  }
  for (const title of document.querySelectorAll("nav h2")) {
    const list = title.nextElementSibling;
    /** @type {HTMLElement} */ (title).hidden = ![...(list?.children ?? [])].some((item) => !(/** @type {HTMLElement} */ (item).hidden));
  }
  document.querySelector("nav")?.classList.toggle("finding", asked.length > 0);
  found.textContent = asked.length === 0 ? "" : count === 0 ? "Nothing found. Search for part of a name, such as “job”." : count === 1 ? "1 match" : `${count} matches`;
}

/** @param {HTMLInputElement} field @param {Entry[]} entries @param {() => void} look */
function steer(field, entries, look) {
  const shown = () => entries.filter(({ item }) => !item.hidden).map(({ link }) => link);
  const end = () => {
    field.value = "";
    look();
  };
  addEventListener("keydown", (event) => {
    const within = /** @type {Element | null} */ (event.target instanceof Element ? event.target.closest("input, textarea, select") : null);
    const wanted = (event.key === "/" && !within && !event.ctrlKey && !event.metaKey && !event.altKey)
      || (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey));
    if (!wanted) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
  document.querySelector("nav")?.addEventListener("keydown", (event) => {
    const { key } = /** @type {KeyboardEvent} */ (event);
    const links = shown();
    const at = links.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const inField = document.activeElement === field;
    if (!inField && at < 0) return;
    if (key === "Escape") {
      end();
      field.focus();
    } else if (key === "ArrowDown") links[at + 1]?.focus();
    else if (key === "ArrowUp" && at >= 0) (links[at - 1] ?? field).focus();
    else if (key === "Enter" && inField) links[0]?.click();
    else return;
    event.preventDefault();
  });
}
