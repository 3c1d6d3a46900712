/** API keys: overview with permissions, creation, rotation, revocation. */
import { html, useEffect, useState } from "../../vendor/lib.js";
import { ask, remove } from "../api.js";
import { day, time } from "../format.js";
import { testing } from "../mode.js";
import { go, link } from "../route.js";
import { administrates } from "../session.js";
import { t } from "../text.js";
import { Ago, Card, Check, Confirm, Empty, Note, Page, Pages, Renaming, usePages } from "../ui.js";
import { Add, Rotate } from "./keys/dialogs.js";
import { Made } from "./keys/made.js";
import { kindOf, presetOf } from "./keys/presets.js";
import { Usage } from "./keys/usage.js";
import { hasEnded, restrictedTo } from "./keys/widget.js";

/** Inactivity after which a key is highlighted. */
const IDLE_MS = 90 * 86_400_000;

const isShown = ({ kind }) => (kind === "test") === testing.value;

export function Screen({ query }) {
  if (administrates.value) return html`<${Keys} wanted=${query.get("key")} />`;
  return html`<${Page} title=${t("keys.title")} lead=${t("keys.lead")}><${Note}>${t("keys.only_administrators")}<//><//>`;
}

/** Open dialog and its key. @typedef {{ act: "add" | "rename" | "rotate" | "revoke" | "made" | "usage", key?: any }} Doing */

/** @param {{ wanted: string | null }} props ID of the key selected in the palette */
function Keys({ wanted }) {
  const all = usePages("/api-keys", { per_page: 100 }, "keys");
  const [doing, setDoing] = useState(/** @type {Doing | undefined} */ (undefined));
  const [withEnded, setWithEnded] = useState(false);
  const mine = all.rows?.filter(isShown);
  const keys = { ...all, rows: mine?.filter((key) => withEnded || !hasEnded(key)) };
  const add = html`<button type="button" class="button primary" onClick=${() => setDoing({ act: "add" })}>${t("keys.new")}</button>`;
  const columns = [
    { title: t("name"), cell: (key) => html`<div>${key.name}</div><code class="small quiet" title=${kindOf(key)}>${key.prefix}…${key.last4}</code>` },
    { title: t("keys.may"), cell: (key) => html`<${May} of=${key} />` },
    { title: t("keys.used"), cell: (key) => html`<${Used} of=${key} show=${() => setDoing({ act: "usage", key })} />` },
    { title: t("keys.created"), cell: (key) => html`<time datetime=${key.created_at} title=${time(key.created_at)}>${day(key.created_at)}</time>` },
    { title: t("team.do"), acts: true, cell: (key) => html`<${State} of=${key} act=${(act) => setDoing({ act, key })} />` },
  ];
  const ended = mine?.filter(hasEnded).length ?? 0;
  const close = () => {
    setDoing(undefined);
    if (wanted) go(["keys"], {}, true);
  };
  const found = wanted && mine?.find(({ id }) => id === wanted);
  useEffect(() => {
    if (found && found.kind !== "test") setDoing({ act: "usage", key: found });
  }, [found?.id]);
  return html`<${Page} title=${t("keys.title")} lead=${t("keys.lead")} actions=${add}>
    <${Card}>
      ${ended > 0 && html`<div class="row end"><${Check} label=${t("keys.show_ended", { n: ended })} checked=${withEnded} set=${setWithEnded} /></div>`}
      <${Pages} of=${keys} caption=${t("keys.title")} columns=${columns} empty=${html`<${Empty} title=${t("keys.none")} action=${add}>${t("keys.none_text")}<//>`} />
    <//>
    <${Acting} doing=${doing} close=${close} again=${all.again} made=${(key) => setDoing({ act: "made", key })} />
  <//>`;
}

/** @param {{ doing?: Doing, close: () => void, again: () => unknown, made: (key: any) => void }} props */
function Acting({ doing, close, again, made }) {
  if (!doing) return null;
  const { act, key } = doing;
  const shown = (fresh) => {
    made(fresh);
    again();
  };
  if (act === "add") return html`<${Add} close=${close} made=${shown} />`;
  if (act === "made") return html`<${Made} of=${key} close=${close} />`;
  if (act === "usage") return html`<${Usage} of=${key} close=${close} />`;
  if (act === "rename") return html`<${Renaming} title=${t("keys.rename")} label=${t("name")} hint=${t("keys.name_hint")} maxlength="100" of=${key.name} close=${close}
    save=${(name) => ask("PATCH", `/app/keys/${key.id}`, { body: { name } }).then(again)} />`;
  if (act === "rotate") return html`<${Rotate} of=${key} close=${close} made=${shown} />`;
  return html`<${Confirm} title=${t("keys.revoke")} submit=${t("keys.revoke")} close=${close}
    work=${() => remove(`/api-keys/${key.id}`).then(again)}>${t("keys.revoke_text", { name: key.name })}<//>`;
}

function May({ of: key }) {
  const preset = presetOf(key);
  return html`<div>${t(`preset.${preset}`)}</div>
    ${preset === "own" && html`<div class="quiet small">${key.scopes.join(", ")}</div>`}
    ${key.kind === "pub" && html`<div class="quiet small">${restrictedTo(key)}</div>`}
    ${key.public_key && !hasEnded(key) && html`<a class="small" href=${link(["widget"], { key: key.public_key })}>${t("keys.widget")}</a>`}`;
}

/** @param {{ of: any, show: () => unknown }} props */
function Used({ of: key, show }) {
  const { last_used_at: at, created_at: created } = key;
  const idle = !hasEnded(key) && Date.now() - Date.parse(at ?? created) > IDLE_MS;
  // Test keys are free and have no usage counts.
  return html`<div><${Ago} kind=${idle ? "idle" : undefined} at=${at} /></div>
    ${key.kind !== "test" && html`<button type="button" class="button plain slim" onClick=${show}>${t("usage.title")}<span class="hidden-text"> ${key.name}</span></button>`}`;
}

/** Reason why a key is inactive, or actions for an active key. */
function State({ of: key, act }) {
  if (key.revoked_at) return html`<span class="badge bad">${t("keys.revoked", { day: day(key.revoked_at) })}</span>`;
  if (hasEnded(key)) return html`<span class="badge bad">${t("keys.expired", { day: day(key.expires_at) })}</span>`;
  // A rotated key expires after the overlap, as would a second successor.
  const acts = /** @type {const} */ (["rotate", "rename", "revoke"]).filter((one) => one !== "rotate" || !key.replaced_by);
  return html`${key.expires_at && html`<div class="small quiet">${t("keys.ends", { time: time(key.expires_at) })}</div>`}
    <div class="row acts">${acts.map((one) => html`<button type="button" key=${one} class=${`button slim ${one === "revoke" ? "danger" : ""}`}
      onClick=${() => act(one)}>${t(`keys.${one}`)}<span class="hidden-text"> ${key.name}</span></button>`)}</div>`;
}
