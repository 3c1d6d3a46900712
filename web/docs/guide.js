/** Renders the guides into the page and its sidebar, before the reference. */
import { FIRST_CALL, GUIDES } from "./guides.js";
import { make } from "./make.js";
import { programs, sample, reply } from "./samples.js";

export function addGuides() {
  const main = /** @type {HTMLElement} */ (document.querySelector("main"));
  const start = /** @type {HTMLElement} */ (document.getElementById("top"));
  main.querySelector("#authentication")?.after(...GUIDES.map(guide));
  const first = article("first", FIRST_CALL);
  first.querySelector(".head")?.append(/** @type {HTMLElement} */ (document.getElementById("key")));
  start.append(
    first,
    make("h2", {}, "Guides"),
    make("ul", { class: "cards" }, ...GUIDES.map(({ id, title, about }) => make("li", {}, make("a", { href: `#${id}` }, make("strong", {}, title), make("span", {}, about))))),
  );
  const links = GUIDES.map(({ id, title }) => make("li", {}, make("a", { href: `#${id}` }, title)));
  document.getElementById("tools")?.after(make("ul", {}, make("li", {}, make("a", { href: "#top" }, "Start"))), make("h2", {}, "Guides"), make("ul", {}, ...links), make("h2", {}, "Basics"));
}

/** @param {import("./guides.js").Guide} guide */
const guide = ({ id, title, about, steps }) => make("section", { id, class: "guide" },
  make("h2", {}, title), make("p", { class: "lead" }, about), ...steps.map((step, index) => article(`${id}-${index + 1}`, step)));

/** @param {string} id @param {import("./guides.js").Step} step */
function article(id, { title, text, call, programs: code, reply: response }) {
  const beside = [...(call ? [sample(call)] : []), ...(code ? [programs(code)] : []), ...(response ? [reply(response.status, JSON.stringify(response.body, null, 2))] : [])];
  return make("article", { id }, make("div", { class: "head" }, make("h3", {}, title), ...text.map(written)),
    ...(beside.length > 0 ? [make("div", { class: "beside" }, ...beside)] : []));
}

/** @param {import("./guides.js").Text} text */
function written(text) {
  if (typeof text === "string") return make("p", {}, ...inline(text));
  if (Array.isArray(text)) return make("ul", { class: "points" }, ...text.map((one) => make("li", {}, ...inline(one))));
  const row = (cells, kind) => make("tr", {}, ...cells.map((cell) => make(kind, {}, ...inline(cell))));
  return make("div", { class: "table" }, make("table", {}, make("thead", {}, row(text.head, "th")), make("tbody", {}, ...text.rows.map((cells) => row(cells, "td")))));
}

/** Text with `code` and [links](#place), of which a link's text may be code. @param {string} text @returns {(string | Node)[]} */
function inline(text) {
  return text.split(/(`[^`]+`|\[[^\]]+\]\([^)]+\))/).filter(Boolean).map((piece) => {
    const [, label, href] = /^\[([^\]]+)\]\(([^)]+)\)$/.exec(piece) ?? [];
    if (href) return make("a", { href, ...(href.startsWith("https:") && { rel: "noreferrer" }) }, ...inline(label));
    return /^`[^`]+`$/.test(piece) ? make("code", {}, piece.slice(1, -1)) : piece;
  });
}
