/**
 * Shows one page at a time: the start, a guide, an index of operations, one operation, or the errors.
 *
 * The server renders all of them as one document, which is complete without scripts. The location names the page: links to an
 * operation stay what they are.
 */
import { make } from "./make.js";

/** Parts of the start page; every other child of `main` is a page, or an index with a page per `article`. */
const START = new Set(["top", "authentication"]);

/** Sidebar links in reading order. @type {HTMLAnchorElement[]} */
let links = [];

export function offerPages() {
  links = [...document.querySelectorAll("nav li a")].map((link) => /** @type {HTMLAnchorElement} */ (link));
  document.querySelector("main")?.append(make("nav", { class: "turn", "aria-label": "Pages" }));
  addEventListener("hashchange", show);
  offerContents();
  show();
}

/** In a narrow window, the sidebar is behind a button. */
function offerContents() {
  const bar = /** @type {HTMLElement} */ (document.querySelector("body > nav"));
  bar.id = "contents";
  const button = make("button", { type: "button", class: "contents", "aria-controls": bar.id, "aria-expanded": "false" }, "Contents");
  const turn = (open) => button.setAttribute("aria-expanded", String(bar.classList.toggle("open", open)));
  button.addEventListener("click", () => turn(!bar.classList.contains("open")));
  addEventListener("hashchange", () => turn(false));
  document.getElementById("tools")?.append(button);
}

function show() {
  const id = decodeURIComponent(location.hash.slice(1)) || "top";
  const place = document.getElementById(id)?.closest("main *") ?? document.getElementById("top");
  const part = place?.closest("main > *");
  const isStart = !part || START.has(part.id);
  const isIndex = !isStart && !part.matches(".guide") && part.querySelector("article") !== null;
  const chosen = isIndex ? place?.closest("article") : null;
  for (const other of document.querySelectorAll("main > :not(.turn)")) {
    /** @type {HTMLElement} */ (other).hidden = isStart ? !START.has(other.id) : other !== part;
  }
  part?.classList.toggle("index", isIndex && !chosen);
  part?.classList.toggle("single", Boolean(chosen));
  if (isIndex) for (const article of part.querySelectorAll("article")) article.hidden = Boolean(chosen) && article !== chosen;
  mark(chosen?.id ?? (isStart ? place?.closest("main > *")?.id ?? "top" : part.id));
  if (place && place.id !== "top" && place !== chosen && place !== part) place.scrollIntoView();
  else scrollTo(0, 0);
}

/** Marks the page in the sidebar, names it in the title, and links its neighbors. @param {string} id */
function mark(id) {
  const isHere = (link) => link.getAttribute("href") === `#${id}`;
  for (const link of document.querySelectorAll("body > nav a[aria-current]")) link.removeAttribute("aria-current");
  const here = [...document.querySelectorAll("body > nav :is(li, h2) a")].find(isHere);
  here?.setAttribute("aria-current", "page");
  document.title = id === "top" || !here ? TITLE : `${label(here)} · ${TITLE}`;
  reveal(here);
  const at = links.findIndex(isHere);
  const turn = (link, word) => (link ? [make("a", { href: link.getAttribute("href"), class: word.toLowerCase() }, make("small", {}, word), label(link))] : []);
  document.querySelector(".turn")?.replaceChildren(...(at < 0 ? [] : [...turn(links[at - 1], "Previous"), ...turn(links[at + 1], "Next")]));
}

const TITLE = document.title;
const label = (link) => link.firstChild?.textContent ?? "";

/** Scrolls the sidebar, and not the page as `scrollIntoView` would. @param {Element | undefined} link */
function reveal(link) {
  const bar = document.querySelector("body > nav");
  if (!link || !bar || bar.scrollHeight <= bar.clientHeight) return;
  const { top, bottom } = link.getBoundingClientRect();
  if (top < 120 || bottom > innerHeight - 40) bar.scrollTop += top - innerHeight / 2;
}
