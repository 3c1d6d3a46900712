/** Names that are hard to lay out, and what they break on a page. */
import { reader, server } from "./owner.mjs";
import { sample } from "./reader.mjs";

const WORD = "Donaudampfschifffahrtsgesellschaftskapitänskajütenschlüsselbundanhänger".slice(0, 60);
const LONG = "Customers of the spring newsletter 2026 who bought twice, moved house, changed their mind about it and then wrote to us again by letter.";
const LEFTWARD = "العملاء الذين اشتركوا في النشرة الإخبارية لفصل الربيع ثم غيروا عنوانهم وكتبوا إلينا مرة أخرى قبل نهاية الشهر الماضي بوقت قصير جدا جدا.";
const MIXED = `${WORD} ${LEFTWARD.slice(0, 37)} ${LONG}`;
const NAMES = [MIXED, LEFTWARD, WORD, LONG].map((name) => name.slice(0, 135));

let turn = 0;
const next = () => NAMES[turn++ % NAMES.length];

/** Renames everything that the owner can name; what cannot be renamed is created. */
export async function nameAll() {
  const { api } = server;
  const each = async (path) => {
    for (const { id } of (await api("GET", path)).data) await api("PATCH", `${path}/${id}`, { name: next() });
  };
  for (const { id } of (await api("GET", "/jobs")).data) await inSession("PATCH", `/app/jobs/${id}`, { name: next(), tags: [WORD.slice(0, 40), LEFTWARD.slice(0, 30)] });
  for (const name of NAMES) {
    await api("POST", "/api-keys", { name, kind: "live" });
    await api("POST", "/webhooks", { name, url: `https://hooks.example.com/${WORD}/${WORD}`, events: ["job.finished"] });
    await api("POST", "/users", { email: `${WORD.slice(0, 20).toLowerCase()}${turn}@${"a".repeat(60)}.example.com`, name: next(), role: "contributor" });
  }
  await each("/webhooks");
  await each("/users");
  for (const { id } of (await api("GET", "/integrations/ghost")).connections) await api("PATCH", `/integrations/ghost/connections/${id}`, { name: next() });
  await api("PATCH", "/organization/settings", { role_words: [WORD], banned_words: [WORD, LEFTWARD.slice(0, 60)] });
  await inSession("PATCH", "/app/organization", { name: next() });
  Object.assign(sample, { file: `${LONG}.csv`, list: MIXED.slice(0, 135), column: WORD });
}

/** Call of a route that keys do not have. */
async function inSession(method, path, body) {
  await reader.page.evaluate(async ([method, path, body]) => {
    const { csrf } = await (await fetch("/app/session")).json();
    const answer = await fetch(path, { method, body, headers: { "content-type": "application/json", "x-csrf-token": csrf } });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status}`);
  }, [method, path, JSON.stringify(body)]);
}

/** Runs in the page: what scrolls sideways, overlaps, sticks out of its box, or is cut. @returns {string[]} */
export function bursts() {
  /** What may be wider than its place: it scrolls there, and nothing else does. */
  const SCROLLERS = "pre, textarea, .picks, .tabs, .samples ul, .switch, .scroll:has(.preview), .copied, .virtual";
  const BOXES = ".card, .note, .empty, .button, .chip, .pick, .badge, .sample, .pop, .side, .top, dialog, td";
  const PRESSED = "button, a.button, [role=tab], input[type=submit]";
  const root = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
  const width = document.documentElement.clientWidth;
  const faults = new Set();
  const named = (element) => {
    const text = element.textContent.trim().replace(/\s+/g, " ");
    return `<${element.localName} class="${element.className?.baseVal ?? element.className}">${text.length > 50 ? `${text.slice(0, 50)}…` : text}`;
  };

  const over = document.documentElement.scrollWidth - width;
  if (over > 0) faults.add(`the page is ${over} px wider than the window`);

  /** Boxes of texts and controls as they are seen: without what an ancestor hides. */
  const things = [];
  const elements = [...root.querySelectorAll("*")].filter((element) => element.checkVisibility({ visibilityProperty: true }) && !element.closest(".hidden-text, svg *"));
  for (const element of elements) {
    const style = getComputedStyle(element);
    const scrolls = /auto|scroll/.test(style.overflowX) && element.scrollWidth > element.clientWidth + 1;
    if (scrolls && !element.matches(`${SCROLLERS}, input, select`)) faults.add(`scrolls sideways by ${element.scrollWidth - element.clientWidth} px: ${named(element)}`);
    if (element.matches(PRESSED)) {
      if (style.textOverflow !== "ellipsis" && element.scrollWidth > element.clientWidth + 1) faults.add(`cut: ${named(element)}`);
      const [box] = [element.getBoundingClientRect()];
      const seen = clipped(box, element);
      if (box.width > 0 && seen.width > 0 && seen.width < box.width - 1 && !element.closest(SCROLLERS)) faults.add(`cut by its place: ${named(element)}`);
    }
    if (element.matches("button, a.button, input, select, textarea")) things.push({ element, boxes: [clipped(element.getBoundingClientRect(), element)] });
    for (const text of element.childNodes) {
      if (text.nodeType !== Node.TEXT_NODE || !text.textContent.trim() || element.matches("option, select, textarea")) continue;
      const range = document.createRange();
      range.selectNodeContents(text);
      const boxes = [...range.getClientRects()].map((box) => clipped(box, element, true)).filter(({ width, height }) => width > 1 && height > 1);
      if (boxes.length > 0) things.push({ element, text, boxes });
    }
  }

  for (const { element, text, boxes } of things) {
    if (!text) continue;
    const box = element.closest(BOXES);
    const outer = box && layer(box) === layer(element) && !element.closest(SCROLLERS)?.matches(`:not(${BOXES}) *`) && box.getBoundingClientRect();
    if (outer && boxes.some(({ left, right }) => left < outer.left - 1 || right > outer.right + 1)) faults.add(`sticks out of ${box.className || box.localName}: ${named(element)}`);
    if (boxes.some(({ left, right }) => left < -1 || right > width + 1)) faults.add(`sticks out of the window: ${named(element)}`);
  }
  for (const [at, one] of things.entries()) {
    for (const other of things.slice(at + 1)) {
      if (one.element === other.element || one.element.contains(other.element) && !one.text || other.element.contains(one.element) && !other.text) continue;
      if (layer(one.element) !== layer(other.element)) continue;
      if (one.boxes.some((a) => other.boxes.some((b) => meets(a, b)))) faults.add(`overlap: ${named(one.element)} and ${named(other.element)}`);
    }
  }
  return [...faults];

  /** Nearest ancestor that lies above or beside the flow. */
  function layer(element) {
    for (let at = element; at && at !== root; at = at.parentElement) if (/fixed|absolute|sticky/.test(getComputedStyle(at).position)) return at;
    return root;
  }

  /** Lines of text stand closer than the boxes of their letters. */
  function meets(a, b) {
    return Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5;
  }

  /** What is seen of a box in an element, or of the element's own. */
  function clipped(box, element, isWithin = false) {
    let { left, right, top, bottom } = box;
    for (let at = isWithin ? element : element.parentElement; at && at !== document.body; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.display !== "inline" && style.overflowX !== "visible") {
        const outer = at.getBoundingClientRect();
        [left, right, top, bottom] = [Math.max(left, outer.left), Math.min(right, outer.right), Math.max(top, outer.top), Math.min(bottom, outer.bottom)];
      }
      if (style.position === "fixed") break;
    }
    return { left, right, top, bottom, width: Math.max(0, right - left), height: Math.max(0, bottom - top) };
  }
}
