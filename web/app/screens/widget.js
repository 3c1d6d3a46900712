/** Website widget: key, options, snippet and preview. */
import { html, useEffect, useRef, useState } from "../../vendor/lib.js";
import { get, post } from "../api.js";
import { administrates } from "../session.js";
import { NAMES, t } from "../text.js";
import { Card, Check, Facts, Fetched, Field, Form, Note, Page, Secret, Select, useEdits, useFetched } from "../ui.js";
import { KeyName, OfWidget, hasEnded, restrictedTo, restrictions } from "./keys/widget.js";

const DELAY_S = "1.5";
/** Sandbox addresses, one per result. */
const TRIED = ["valid@sandbox.test", "nonexistent@sandbox.test", "ada@gmial.com"];

/**
 * @typedef {object} Look snippet options; empty ones use the widget's defaults
 * @property {string} delay seconds
 * @property {string} lang
 * @property {string} selector
 * @property {boolean} block
 * @property {string} valid
 * @property {boolean} quiet shows nothing for a good address
 * @property {string} invalid
 * @property {string} suggest
 */

/** @type {Look} */
const PLAIN = { delay: DELAY_S, lang: "", selector: "", block: false, valid: "", quiet: false, invalid: "", suggest: "" };

export function Screen({ query }) {
  const [key, setKey] = useState(query.get("key") ?? "");
  const look = useEdits(PLAIN);
  const keys = useFetched((signal) => (administrates.value ? get("/api-keys", { per_page: 100 }, signal) : Promise.resolve({ data: [] })), []);
  return html`<${Page} title=${t("widget.title")} lead=${t("widget.lead")}>
    <${Card}>
      <${Field} label=${t("widget.key")} hint=${t("widget.key_hint")} value=${key} set=${setKey} spellcheck="false" autocomplete="off"
        wrong=${key.trim() && !isPublic(key) ? t("widget.key_secret") : undefined} />
      ${administrates.value ? html`<${NewKey} made=${(secret) => (setKey(secret), keys.again())} />
        <${Fetched} from=${keys}>${({ data }) => html`<${Known} keys=${data} use=${setKey} />`}<//>`
      : html`<${Note}>${t("keys.only_administrators")}<//>`}
    <//>
    <div class="columns">
      <${Card} title=${t("widget.look")}><${Choices} of=${look} /><//>
      <div class="stack">
        <${Card} title=${t("widget.snippet")}>
          <p class="quiet">${t("widget.snippet_text")}</p>
          <${Secret} text=${snippet(isPublic(key) ? key.trim() : "", look.now)} label=${t("widget.snippet")} />
          <p class="quiet small">${t("widget.policy")} <code>script-src ${location.origin}; connect-src ${location.origin}</code></p>
        <//>
        <${Card} title=${t("widget.preview")}><${Preview} look=${look.now} /><//>
      </div>
    </div>
  <//>`;
}

/** Keys of other kinds grant more than widget access and must never appear in a page. @param {string} key */
const isPublic = (key) => key.includes("_pub_");

/** Creates a key for the pages of given websites. */
function NewKey({ made }) {
  const [open, setOpen] = useState(false);
  const { now, bind } = useEdits({ name: "", origins: "", cap: "" });
  async function send() {
    const key = await post("/api-keys", { name: now.name, kind: "pub", ...restrictions(now) }, true);
    made(key.secret);
    setOpen(false);
  }

  if (!open) return html`<div><button type="button" class="button" onClick=${() => setOpen(true)}>${t("widget.new_key")}</button></div>`;
  return html`<${Form} send=${send} submit=${t("keys.create")}>
    <${KeyName} ...${bind("name")} focused /><${OfWidget} bind=${bind} />
  <//>`;
}

/** Active public keys. New ones can be reused because they appear in public pages; of older ones only a fragment is stored. */
function Known({ keys, use }) {
  const open = keys.filter((key) => key.kind === "pub" && !hasEnded(key));
  if (!open.length) return null;
  return html`<${Facts} of=${open.map((key) => [key.name, html`<code class="small">${key.prefix}…${key.last4}</code>${" "}
    <span class="quiet small">${restrictedTo(key)}</span>
    ${key.public_key && html`<div><button type="button" class="button slim" onClick=${() => use(key.public_key)}>${t("widget.use")}<span class="hidden-text"> ${key.name}</span></button></div>`}`])} />`;
}

/** @param {{ of: ReturnType<typeof useEdits<Look>> }} props */
function Choices({ of: { now, bind, tick } }) {
  return html`<div class="stack">
    <${Field} label=${t("widget.delay")} hint=${t("widget.delay_hint")} type="number" min="0.3" max="10" step="0.1" inputmode="decimal" ...${bind("delay")} />
    <${Field} label=${t("widget.selector")} hint=${t("widget.selector_hint")} placeholder="input[type=email]" spellcheck="false" ...${bind("selector")} />
    <${Select} label=${t("account.language")} ...${bind("lang")} options=${[["", t("widget.language_page")], ...Object.entries(NAMES)]} />
    <${Field} label=${t("widget.valid")} hint=${t("widget.text_hint")} maxlength="200" ...${bind("valid")} disabled=${now.quiet} />
    <${Check} label=${t("widget.quiet")} ...${tick("quiet")} />
    <${Field} label=${t("widget.invalid")} maxlength="200" ...${bind("invalid")} />
    <${Field} label=${t("widget.suggest")} hint=${t("widget.suggest_hint")} maxlength="200" ...${bind("suggest")} />
    <${Check} label=${t("widget.block")} hint=${t("widget.block_hint")} ...${tick("block")} />
  </div>`;
}

/** Widget options, shared by snippet and preview. @param {Look} look */
function options(look) {
  const delay = Math.round(Number(look.delay || DELAY_S) * 1000);
  return {
    delay: look.delay === DELAY_S || !Number.isFinite(delay) ? undefined : String(delay),
    lang: look.lang || undefined,
    selector: look.selector.trim() || undefined,
    block: look.block ? "reject" : undefined,
    textValid: look.quiet ? "" : look.valid || undefined,
    textInvalid: look.invalid || undefined,
    textSuggest: look.suggest || undefined,
  };
}

/** HTML snippet for a page. @param {string} key @param {Look} look */
function snippet(key, look) {
  const given = Object.entries({ key: key || "probity_pub_…", ...options(look) }).filter(([, value]) => value !== undefined);
  const attributes = given.map(([name, value]) => `data-${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}="${quoted(String(value))}"`);
  return `<script src="${location.origin}/widget.js" ${attributes.join(" ")} async></script>`;
}

const quoted = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

/** Field as on a website. The sandbox responds, so no credits are spent. @param {{ look: Look }} props */
function Preview({ look }) {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const told = options(look);
  useEffect(() => {
    let detach = () => {};
    let over = false;
    import("../../widget/widget.js").then(() => {
      if (over || !field.current) return;
      const given = Object.fromEntries(Object.entries(told).filter(([name, value]) => value !== undefined && name !== "selector"));
      const ask = (email, signal) => get("/app/widget/preview", { email }, signal);
      detach = /** @type {any} */ (globalThis).probity.attach(field.current, { ...given, ask });
    });
    return () => {
      over = true;
      detach();
    };
  }, [JSON.stringify(told)]);
  return html`<div class="stack">
    <form class="field" onSubmit=${(event) => event.preventDefault()}>
      <label for="widget-preview">${t("verify.email")}</label>
      <div><input id="widget-preview" class="input" inputmode="email" spellcheck="false" autocomplete="off" ref=${field} /></div>
    </form>
    <p class="quiet small">${t("widget.preview_text")} ${TRIED.map((address) => html`<code>${address}</code> `)}</p>
  </div>`;
}
