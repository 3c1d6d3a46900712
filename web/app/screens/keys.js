/** API keys: which there are, new ones, and the end of old ones. */
import { html, useState } from "../../vendor/lib.js";
import { post, remove } from "../api.js";
import { ago, day, endOfDay, fieldDay } from "../format.js";
import { administrates } from "../session.js";
import { t } from "../text.js";
import { Secret } from "../ui/buttons.js";
import { Confirm, Dialog } from "../ui/dialog.js";
import { Check, Field, Form, Group, Select } from "../ui/fields.js";
import { Empty, Note } from "../ui/notes.js";
import { Card, Page } from "../ui/page.js";
import { Pages, usePages } from "../ui/table.js";

const KINDS = ["live", "rk", "test", "pub"];
const SCOPES = [
  "verify", "read:jobs", "write:jobs", "read:account", "write:account", "read:team", "write:team", "read:reports",
  "read:integrations", "write:integrations", "read:webhooks", "write:webhooks", "write:erasures", "write:keys",
];

export function Screen() {
  if (administrates.value) return html`<${Keys} />`;
  return html`<${Page} title=${t("keys.title")} lead=${t("keys.lead")}><${Note}>${t("keys.only_administrators")}<//><//>`;
}

function Keys() {
  const keys = usePages("/api-keys");
  const [adding, setAdding] = useState(false);
  const [ending, setEnding] = useState(/** @type {any} */ (undefined));
  const add = html`<button type="button" class="button primary" onClick=${() => setAdding(true)}>${t("keys.new")}</button>`;
  const columns = [
    { title: t("keys.name"), cell: (key) => html`<div>${key.name}</div><code class="small quiet">${key.prefix}…${key.last4}</code>` },
    { title: t("keys.kind"), cell: (key) => html`${t(`kind.${key.kind}`)} ${key.kind === "rk" && html`<span class="quiet small">${key.scopes.join(", ")}</span>`}
      ${key.kind === "pub" && html`<span class="quiet small">
        ${[...key.allowed_origins, key.daily_cap && t("keys.capped", { n: key.daily_cap })].filter(Boolean).join(", ")}</span>`}` },
    { title: t("keys.used"), cell: (key) => ago(key.last_used_at) },
    { title: t("keys.created"), cell: (key) => day(key.created_at) },
    { title: t("keys.state"), cell: (key) => ended(key) ?? html`<button type="button" class="button danger slim"
        onClick=${() => setEnding(key)}>${t("keys.revoke")}<span class="hidden-text"> ${key.name}</span></button>` },
  ];
  return html`<${Page} title=${t("keys.title")} lead=${t("keys.lead")} actions=${add}>
    <${Card}><${Pages} of=${keys} caption=${t("keys.title")} columns=${columns}
      empty=${html`<${Empty} title=${t("keys.none")} action=${add}>${t("keys.none_text")}<//>`} /><//>
    ${adding && html`<${Add} close=${() => setAdding(false)} added=${keys.again} />`}
    ${ending && html`<${Confirm} title=${t("keys.revoke")} submit=${t("keys.revoke")} close=${() => setEnding(undefined)}
      work=${() => remove(`/api-keys/${ending.id}`).then(keys.again)}>${t("keys.revoke_text", { name: ending.name })}<//>`}
  <//>`;
}

/** Why a key opens nothing any more; `undefined` where it does. */
function ended({ revoked_at: revoked, expires_at: expires }) {
  if (revoked) return html`<span class="badge bad">${t("keys.revoked", { day: day(revoked) })}</span>`;
  if (expires && Date.parse(expires) <= Date.now()) return html`<span class="badge bad">${t("keys.expired", { day: day(expires) })}</span>`;
  return undefined;
}

function Add({ close, added }) {
  const [made, setMade] = useState(/** @type {any} */ (undefined));
  const [name, setName] = useState("");
  const [kind, setKind] = useState("live");
  const [scopes, setScopes] = useState(/** @type {string[]} */ (["verify"]));
  const [origins, setOrigins] = useState("");
  const [cap, setCap] = useState("");
  const [expires, setExpires] = useState("");

  async function send() {
    const allowed = origins.split(/\s+/).filter(Boolean);
    setMade(await post("/api-keys", {
      name,
      kind,
      scopes: kind === "rk" ? scopes : undefined,
      allowed_origins: kind === "pub" ? allowed : undefined,
      daily_cap: kind === "pub" && cap !== "" ? Number(cap) : undefined,
      expires_at: expires ? endOfDay(expires).toISOString() : undefined,
    }, true));
    added();
  }

  if (made) {
    return html`<${Dialog} title=${t("keys.made")} close=${close}>
      <${Note} kind="warning" focused=${true}>${t("keys.once")}<//>
      <${Secret} text=${made.secret ?? made.key} label=${t("keys.made")} />
    <//>`;
  }
  return html`<${Dialog} title=${t("keys.new")} close=${close}>
    <${Form} send=${send} submit=${t("keys.create")}>
      <${Field} label=${t("keys.name")} hint=${t("keys.name_hint")} required maxlength="100" value=${name} set=${setName} />
      <${Select} label=${t("keys.kind")} value=${kind} set=${setKind} options=${KINDS.map((of) => [of, t(`kind.${of}`)])} hint=${t(`kind.${kind}_hint`)} />
      ${kind === "rk" && html`<${Group} label=${t("keys.scopes")}>${SCOPES.map((scope) => html`<${Check} label=${html`<code>${scope}</code>`}
        checked=${scopes.includes(scope)} set=${(on) => setScopes(on ? [...scopes, scope] : scopes.filter((one) => one !== scope))} />`)}<//>`}
      ${kind === "pub" && html`<${Field} label=${t("keys.origins")} hint=${t("keys.origins_hint")} rows=${3} required value=${origins} set=${setOrigins} />
        <${Field} label=${t("keys.daily_cap")} hint=${t("keys.daily_cap_hint")} type="number" min="1" inputmode="numeric" value=${cap} set=${setCap} />`}
      <${Field} label=${t("keys.expires")} hint=${t("keys.expires_hint")} type="date" min=${fieldDay(new Date())} value=${expires} set=${setExpires} />
    <//>
  <//>`;
}
