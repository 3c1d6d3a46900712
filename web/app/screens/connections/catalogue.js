/** All connections with their state, and all platforms with their capabilities. */
import { html, useRef, useState } from "../../../vendor/lib.js";
import { get } from "../../api.js";
import { testing } from "../../mode.js";
import { go } from "../../route.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Fetched, Icon, Note, Page, useFetched } from "../../ui.js";
import { ConnectionCard } from "./card.js";
import { pathOf } from "./live.js";
import { Capabilities, Monogram, about, byUse } from "./platform.js";

export function Catalogue() {
  const known = useFetched(load, []);
  const search = useRef(/** @type {HTMLElement | null} */ (null));
  const mine = known.value?.connections ?? [];
  const find = () => {
    search.current?.scrollIntoView();
    search.current?.querySelector("input")?.focus();
  };
  const add = administrates.value && mine.length > 0 && html`<button type="button" class="button primary" onClick=${find}>${t("connections.connect_one")}</button>`;
  return html`<${Page} title=${t("connections.title")} lead=${t("connections.lead")} actions=${add}>
    ${testing.value && html`<${Note}>${t("mode.connections")}<//>`}
    ${!administrates.value && html`<${Note}>${t("connections.only_administrators")}<//>`}
    <${Fetched} from=${known} lines=${12}>${({ platforms, connections }) => html`
      ${connections.length > 0 && html`<section class="cards" aria-label=${t("connections.mine")}>
        ${connections.map(({ platform, connection }) => html`<${ConnectionCard} key=${connection.id} platform=${platform} of=${connection} />`)}
      </section>`}
      <${Platforms} of=${platforms} place=${search} />`}<//>
  <//>`;
}

/**
 * All platforms, and the organization's connections: active ones first, deleted ones last.
 * @param {AbortSignal} signal
 */
async function load(signal) {
  const { data: platforms } = await get("/integrations", {}, signal);
  const used = platforms.filter((one) => one.connection_count + one.disconnected_count > 0);
  const all = await Promise.all(used.map(async ({ type }) => {
    const { platform, connections, disconnected_connections: former } = await get(`/integrations/${encodeURIComponent(type)}`, {}, signal);
    // The reason for a disconnection is only in the full connection.
    const whole = await Promise.all(former.map(({ id }) => get(pathOf(type, id), {}, signal)));
    return [...connections, ...whole].map((connection) => ({ platform, connection }));
  }));
  const rank = ({ connection: { status, disconnected_reason: why } }) => (status === "active" ? 0 : why === "deleted" ? 2 : 1);
  return { platforms, connections: all.flat().sort((one, other) => rank(one) - rank(other)) };
}

function Platforms({ of, place }) {
  const [q, setQ] = useState("");
  const words = q.trim().toLocaleLowerCase();
  const found = of.toSorted(byUse).filter(({ type, platform: { name } }) => [type, name, about(type)].some((text) => text.toLocaleLowerCase().includes(words)));
  return html`<section class="stack" aria-labelledby="platforms">
    <div class="row apart" ref=${place}><h2 id="platforms">${t("connections.platforms")}</h2>
      <search class="seek"><label class="sought"><${Icon} name="search" /><span class="hidden-text">${t("connections.find")}</span>
        <input class="input" type="search" autocomplete="off" spellcheck=${false} placeholder=${t("connections.find")} value=${q} onInput=${({ currentTarget }) => setQ(currentTarget.value)} /></label></search></div>
    <ul class="cards plain-list">${found.map((one) => html`<${Platform} key=${one.type} of=${one} />`)}</ul>
    <p class="quiet" role="status">${found.length === 0 && t("connections.none_found", { q })}</p>
    <p class="quiet small">${t("connections.missing")}</p>
  </section>`;
}

function Platform({ of: { type, platform } }) {
  return html`<li class=${platform.contacts ? "card compact" : "card compact lacking"}>
    <div class="named"><${Monogram} type=${type} name=${platform.name} />
      <div class="grow"><h3>${platform.name} ${platform.beta && html`<span class="badge">${t("connections.beta")}</span>`}</h3><p class="quiet small">${about(type)}</p></div>
      ${administrates.value && platform.contacts && html`<button type="button" class="button slim" aria-label=${t("connections.connect", { platform: platform.name })}
        onClick=${() => go(["connections", type, "new"])}>${t("connections.connect_short")}</button>`}</div>
    <${Capabilities} of=${platform} />
  </li>`;
}
