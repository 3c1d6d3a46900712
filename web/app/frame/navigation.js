/** Navigation sections and screens, with counts of lists in progress and of connections that need a decision. */
import { html, useEffect, useState } from "../../vendor/lib.js";
import { get } from "../api.js";
import { useChanges } from "../changes.js";
import { number } from "../format.js";
import { testing } from "../mode.js";
import { where } from "../route.js";
import { address, visibleSections } from "../screens.js";
import { t } from "../text.js";
import { Icon } from "../ui/icon.js";

/** Delay that leaves the connection to the first screen. */
const FIRST_MS = 500;
/** Upper bound of the server's count. */
const COUNT_MAX = 100;

/** @type {Record<string, Parameters<typeof Icon>[0]["name"]>} */
const ICONS = {
  overview: "overview", verify: "verify", lists: "list", connections: "plug", timeline: "activity", usage: "usage", keys: "key",
  webhooks: "hook", widget: "widget", requests: "code", docs: "book", team: "people", settings: "gear", privacy: "shield",
};

/** @param {{ current: string }} props */
export function Navigation({ current }) {
  const counts = useCounts();
  return html`<nav id="sections" aria-label=${t("frame.sections")}>
    <ul class="sections">${visibleSections().map(({ name, screens }) => html`<li key=${name}>
      <div class=${name === "work" ? "hidden-text" : "title"} id=${`section-${name}`}>${t(`section.${name}`)}</div>
      <ul aria-labelledby=${`section-${name}`}>${screens.map((screen) => html`<li key=${screen}>
        <a href=${address(screen)} aria-current=${screen === current ? "page" : undefined}>
          <${Icon} name=${ICONS[screen]} large=${true} />${t(`${screen}.title`)}<${Count} of=${screen} n=${counts[screen] ?? 0} /></a>
      </li>`)}</ul>
    </li>`)}</ul>
  </nav>`;
}

/** Running items are blue; items that need a decision are not. */
function Count({ of, n }) {
  if (n === 0) return null;
  const shown = n < COUNT_MAX ? number(n) : `${number(COUNT_MAX - 1)}+`;
  return html` <span class=${of === "lists" ? "count hot" : "count"}>${shown}<span class="hidden-text"> ${t(`count.${of}`)}</span></span>`;
}

/** Counts for the current mode, refreshed on navigation and whenever a list changes. @returns {Record<string, number>} */
function useCounts() {
  const [counts, setCounts] = useState({});
  const [turn, setTurn] = useState(0);
  const [isFirst, setFirst] = useState(true);
  useEffect(() => {
    const timer = setTimeout(() => setFirst(false), FIRST_MS);
    return () => clearTimeout(timer);
  }, []);
  const place = where.value.parts.join("/");
  useEffect(() => {
    if (isFirst) return undefined;
    const stop = new AbortController();
    get("/app/changes/counts", {}, stop.signal).then(setCounts, () => {});
    return () => stop.abort();
  }, [isFirst, testing.value, place, turn]);
  useChanges(isFirst ? undefined : "lists", () => setTurn((before) => before + 1));
  return counts;
}
