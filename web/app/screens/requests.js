/** Live log of API requests by keys. */
import { html } from "../../vendor/lib.js";
import { get } from "../api.js";
import { number, time } from "../format.js";
import { go, open, shut } from "../route.js";
import { administrates } from "../session.js";
import { t } from "../text.js";
import { Ago, Card, Copy, Dialog, Empty, Facts, Icon, Page, Pages, Select, useFetched, usePages } from "../ui.js";

const STATUSES = ["succeeded", "failed", "refused", "broken"];
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/** Maximum number of keys with a name, one API page. */
const NAMED = 100;
const PER_PAGE = 50;

export function Screen({ query }) {
  const filter = Object.fromEntries(["status", "method", "key_id", "route"].map((name) => [name, query.get(name) ?? ""]));
  const set = (part) => go(["requests"], { ...filter, ...part });
  const requests = usePages("/app/requests", { ...filter, per_page: PER_PAGE }, "requests");
  const keys = useFetched((signal) => (administrates.value ? get("/api-keys", { per_page: NAMED }, signal) : Promise.resolve({ data: [] })), []);
  const names = Object.fromEntries((keys.value?.data ?? []).map(({ id, name }) => [id, name]));
  const isFiltered = Object.values(filter).some(Boolean);
  const narrow = (label, part) => html`<button type="button" class="button plain slim" title=${t("requests.only")} onClick=${() => set(part)}>${label}</button>`;
  const columns = [
    { title: t("requests.time"), cell: ({ at, id }) => html`<button type="button" class="button plain slim" title=${t("requests.details")} onClick=${() => open(["requests"], { ...filter, id })}><${Ago} at=${at} /></button>` },
    { title: t("requests.request"), cell: ({ method, route }) => html`<span><code>${method}</code> ${narrow(html`<code>${route}</code>`, { route })}</span>` },
    { title: t("response"), cell: ({ status }) => html`<span class=${`badge ${kindOf(status)}`}>${status}</span>` },
    { title: t("duration"), number: true, cell: ({ took_ms: ms }) => html`${number(ms)} ms` },
    { title: t("actor.api_key"), cell: ({ key_id: id }) => narrow(names[id] ?? html`<code>${id.slice(0, 12)}…</code>`, { key_id: id }) },
    { title: t("requests.id"), cell: ({ id, at }) => html`<code class="small id" title=${`${id} · ${time(at)}`}>${id}</code>` },
  ];
  const one = requests.rows?.find(({ id }) => id === query.get("id"));
  const clear = html`<button type="button" class="button" onClick=${() => go(["requests"])}>${t("timeline.clear")}</button>`;
  const empty = isFiltered
    ? html`<${Empty} title=${t("requests.nothing")} action=${clear}>${t("requests.nothing_text")}<//>`
    : html`<${Empty} title=${t("requests.none")} action=${html`<a class="button" href="/docs">${t("docs.title")}</a>`}>${t("requests.none_text")}<//>`;
  const some = (label, name, options) => html`<${Select} label=${label} value=${filter[name]} set=${(value) => set({ [name]: value })} options=${[["", t("lists.any")], ...options]} />`;
  return html`<${Page} title=${t("requests.title")} lead=${t("requests.lead")}>
    <${Card}>
      <div class="row">
        ${some(t("response"), "status", STATUSES.map((of) => [of, t(`requests.${of}`)]))}
        ${some(t("requests.method"), "method", METHODS.map((of) => [of, of]))}
        ${some(t("actor.api_key"), "key_id", keysFor(names, filter.key_id))}
        ${isFiltered && requests.rows?.length !== 0 && clear}
      </div>
      ${filter.route && html`<p>${t("labelled", { name: t("requests.route") })} <code>${filter.route}</code></p>`}
      <div class="requests"><${Pages} of=${requests} caption=${t("requests.title")} columns=${columns} empty=${empty} /></div>
    <//>
    ${one && html`<${One} of=${one} name=${names[one.key_id]} close=${() => shut(["requests"], filter)} />`}
  <//>`;
}

/** Everything that is kept of a request. @param {{ of: any, name: string | undefined, close: () => void }} props */
function One({ of: { id, at, method, route, status, took_ms: ms, key_id: key }, name, close }) {
  return html`<${Dialog} title=${t("requests.details")} close=${close}>
    <${Facts} of=${[
      [t("requests.request"), html`<code>${method} ${route}</code>`],
      [t("response"), html`<span class=${`badge ${kindOf(status)}`}>${status}</span> ${meaning(status)}`],
      [t("requests.time"), time(at)],
      [t("duration"), html`${number(ms)} ms`],
      [t("actor.api_key"), html`${name && html`<div>${name}</div>`}<code class="small">${key}</code>`],
      [t("requests.id"), html`<code class="small">${id}</code> <${Copy} text=${id} icon=${html`<${Icon} name="copy" />`}>${t("copy.copy")}<//>`],
    ]} />
    <p class="small quiet">${t("requests.kept")}</p>
  <//>`;
}

/** Status codes with a sentence of their own. */
const EXPLAINED = [400, 401, 402, 403, 404, 409, 413, 422, 429, 499, 503];

/** What a status code tells the sender. @param {number} status */
function meaning(status) {
  const said = EXPLAINED.includes(status) ? status : status >= 500 ? 500 : undefined;
  return said ? t(`requests.status.${said}`) : status < 400 ? t("requests.succeeded") : "";
}

/** Key options, including a selected key without a known name. @param {Record<string, string>} names @param {string} chosen */
const keysFor = (names, chosen) => Object.entries(chosen && !names[chosen] ? { ...names, [chosen]: chosen } : names);

/** @param {number} status */
const kindOf = (status) => (status >= 500 ? "bad" : status >= 400 ? "warn" : "good");
