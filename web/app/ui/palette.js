/** Command palette: screens, actions, lists, keys, an address to verify or to find in lists. Entries show their shortcuts. */
import { html, useEffect, useId, useRef, useState } from "../../vendor/lib.js";
import { get } from "../api.js";
import { commands, perform } from "../commands.js";
import { ago } from "../format.js";
import { testing } from "../mode.js";
import { go } from "../route.js";
import { administrates } from "../session.js";
import { letters } from "../shortcuts.js";
import { locale, t } from "../text.js";
import { Dialog } from "./dialog.js";

const LISTS = 50;
const KEYS = 100;
/** Maximum number of matching lists, and of matching keys. */
const SHOWN = 6;
/** Delay between the last keystroke and the list search. */
const TYPING_MS = 300;

/** True for active keys of the current mode. */
const isOfMode = ({ kind, revoked_at: revoked }) => (kind === "test") === testing.value && !revoked;

const plain = (text) => text.toLocaleLowerCase(locale()).normalize("NFKD").replace(/\p{M}/gu, "");

/** @param {{ close: () => void }} props */
export function Palette({ close }) {
  const id = useId();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const lists = useLists(text.trim());
  const [keys, setKeys] = useState(/** @type {any[]} */ ([]));
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const options = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    field.current?.focus();
    if (administrates.value) get("/api-keys", { per_page: KEYS }).then(({ data }) => setKeys(data.filter(isOfMode)), () => {});
  }, []);
  const found = entries(text.trim(), lists, keys);
  const active = Math.min(at, found.length - 1);
  useEffect(() => {
    options.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [active, text]);

  function run(entry) {
    close();
    perform(entry);
  }
  function press(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.length > 0) {
      event.preventDefault();
      setAt((active + step + found.length) % found.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (found[active]) run(found[active]);
    }
  }
  const typed = (event) => {
    setText(event.currentTarget.value);
    setAt(0);
  };
  return html`<${Dialog} title=${t("palette.title")} close=${close}>
    <input ref=${field} class="input" role="combobox" aria-label=${t("palette.field")} aria-expanded="true" aria-controls=${id} aria-autocomplete="list" autocomplete="off"
      aria-activedescendant=${found.length > 0 ? `${id}-${active}` : undefined} placeholder=${t("palette.field")} spellcheck=${false} value=${text} onInput=${typed} onKeyDown=${press} />
    <ul class="entries" id=${id} role="listbox" aria-label=${t("palette.title")} ref=${options}>${found.map((entry, n) => html`<li key=${entry.id} id=${`${id}-${n}`} role="option"
      aria-selected=${n === active} onClick=${() => run(entry)} onPointerMove=${() => n !== active && setAt(n)}>
      <span class="cut">${entry.name}</span>${entry.keys && letters.value && html`<kbd>${entry.keys}</kbd>`}${entry.kind && html`<span class="small quiet">${entry.kind}</span>`}</li>`)}</ul>
  <//>`;
}

/** Lists: the newest at once, and older ones with a matching name or tag after a delay. @param {string} q */
function useLists(q) {
  const [lists, setLists] = useState(/** @type {Map<string, any>} */ (new Map()));
  useEffect(() => {
    const stop = new AbortController();
    const add = ({ data }) => setLists((before) => new Map([...before, ...data.map((list) => [list.id, list])]));
    const ask = () => get("/app/lists", q ? { q, per_page: SHOWN } : { per_page: LISTS }, stop.signal).then(add, () => {});
    if (!q) return void ask();
    const timer = setTimeout(ask, TYPING_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [q]);
  return [...lists.values()];
}

/**
 * Matching entries: an address first, then names. Lists show what tells equal names apart. The last one searches the lists' rows.
 * @param {string} text @param {any[]} lists @param {any[]} keys @returns {import("../commands.js").Command[]}
 */
function entries(text, lists, keys) {
  const sought = plain(text);
  // "verify ann@example.com" refers to the address.
  const email = /\S+@\S+/.exec(text)?.[0];
  const fits = ({ name, tags = [] }) => sought.split(/\s+/).every((word) => plain([name, ...tags].join(" ")).includes(word));
  const named = lists.filter(({ name }) => name).map(({ id, name, tags, created_at: at, rows }) => ({ id, name, tags, kind: `${t("lists.sum_rows", { n: rows })} · ${ago(at)}`, run: () => go(["lists", id]) }));
  const opening = keys.map(({ id, name }) => ({ id, name, kind: t("actor.api_key"), run: () => go(["keys"], { key: id }) }));
  return [
    ...(email ? [{ id: "verify-this", name: t("palette.verify", { email }), run: () => go(["verify"], { email }) }] : []),
    ...commands().filter(fits),
    ...(sought ? [...named.filter(fits).slice(0, SHOWN), ...opening.filter(fits).slice(0, SHOWN),
      { id: "find-this", name: t("palette.find", { text: email ?? text }), run: () => go(["lists", "find"], { q: email ?? text }) }] : []),
  ];
}
