/** Single sign-on: identity provider, domains, and values to register at the provider. Only the owner can change it. */
import { html, useState } from "../../../vendor/lib.js";
import { ask, post, remove } from "../../api.js";
import { day } from "../../format.js";
import { session } from "../../session.js";
import { says, t } from "../../text.js";
import { Button, Card, Check, Facts, Fetched, Field, Form, FormDialog, Note, Secret, Select, toast, useEdits, useFetched } from "../../ui.js";

const PATH = "/app/sso";
const ROLES = ["contributor", "administrator"];
/** Setting that the operator lacks, as an environment variable. */
const PUBLIC_URL = "PROBITY_SERVER__PUBLIC_URL=https://probity.example.com";
/** Providers with setup hints: values for the provider and its issuer URL. */
const HINTS = ["entra", "google", "okta", "keycloak"];

export function SignOn() {
  const sso = useFetched((signal) => ask("GET", PATH, { signal }), []);
  return html`<${Card} title=${t("sso.title")}>
    <p>${t("sso.lead")}</p>
    <${Fetched} from=${sso} lines=${4}>${(of) => html`<${State} of=${of} set=${sso.set} again=${sso.again} />`}<//>
  <//>`;
}

function State({ of, set, again }) {
  const owner = session.value?.user.is_primary ?? false;
  const { obstacle, provider, domains } = of;
  return html`<div class="stack">
    ${obstacle && html`<${Note} kind=${provider ? "warning" : undefined}>${t(`sso.obstacle.${obstacle}`)}${obstacle === "public_url" && html`<${Secret} text=${PUBLIC_URL} label=${t("settings.title")} />`}<//>`}
    ${!owner && html`<${Note}>${t("sso.only_owner")}<//>`}
    ${provider && html`<${Standing} of=${of} owner=${owner} again=${again} />`}
    ${domains.map((domain) => html`<${Domain} key=${domain.domain} of=${domain} owner=${owner} set=${set} />`)}
    ${owner && !obstacle && html`<${Setup} key=${provider?.changed_at ?? ""} of=${of} set=${set} />`}
  </div>`;
}

/** Configured provider and its status. */
function Standing({ of: { provider }, owner, again }) {
  const [tested, setTested] = useState(/** @type {{ works: boolean, fault: string | null, message: string | null, named: string | null } | undefined} */ (undefined));
  const [asks, setAsks] = useState(false);
  const role = provider.newcomer_role;
  return html`<${Facts} of=${[
      [t("sso.issuer"), provider.issuer],
      [t("sso.client"), provider.client_id],
      [t("sso.newcomers"), role ? t(`role.${role}`) : t("sso.nobody")],
      [t("sso.required"), provider.required ? t("yes") : t("no")],
    ]} />
    ${tested && html`<${Note} kind=${tested.works ? "good" : "bad"} focused=${true}>
      ${tested.works ? t("sso.works") : says(`sso.fault.${tested.fault}`) ? t(`sso.fault.${tested.fault}`) : tested.message}
      ${tested.named && html` ${t("sso.named", { issuer: tested.named })}`}<//>`}
    <div class="row">
      <${Button} work=${async () => setTested(await post(`${PATH}/test`))}>${t("sso.test")}<//>
      ${owner && html`<button type="button" class="button" onClick=${() => setAsks(true)}>${t("sso.delete")}</button>`}
    </div>
    ${asks && html`<${Deletion} close=${() => setAsks(false)} again=${again} />`}`;
}

/** Deletion dialog. The password is required because an unattended page must not suffice. */
function Deletion({ close, again }) {
  const [current, setCurrent] = useState("");
  async function send() {
    await remove(PATH, { current });
    close();
    again();
  }
  const cancel = html`<button type="button" class="button" onClick=${close}>${t("dialog.cancel")}</button>`;
  return html`<${FormDialog} title=${t("sso.delete_title")} close=${close} send=${send} submit=${t("sso.delete")} danger=${true} others=${cancel}>
    <p>${t("sso.delete_text")}</p>
    <${Field} label=${t("sso.current")} type="password" autocomplete="current-password" required=${true} value=${current} set=${setCurrent} />
  <//>`;
}

/** Domain; with its DNS record while unproven or if the record is missing. */
function Domain({ of, owner, set }) {
  const until = of.counts_until;
  if (of.proven_at && !until) return html`<p><strong>${of.domain}</strong> · ${t("sso.proven")}</p>`;
  async function look() {
    set(await post(`${PATH}/domains`, { domain: of.domain }));
    toast(t("sso.proven"));
  }
  return html`<${Note} kind="warning" title=${until ? t("sso.missing", { domain: of.domain }) : t("sso.unproven", { domain: of.domain })}>
    <div class="stack tight">
      <p>${until ? t("sso.missing_text", { date: day(until) }) : t("sso.record")}</p>
      <${Secret} text=${of.record_name} label=${t("name")} />
      <${Secret} text=${of.record_value} label=${t("sso.record_value")} />
      ${owner && html`<div><${Button} kind="slim" work=${look}>${t("sso.prove")}<//></div>`}
    </div>
  <//>`;
}

/** Form values of the configuration. */
function typed({ provider, domains }) {
  return {
    issuer: provider?.issuer ?? "", client_id: provider?.client_id ?? "", client_secret: "", current: "",
    domains: domains.map(({ domain }) => domain).join("\n"), required: provider?.required ?? false,
    newcomer_role: provider ? (provider.newcomer_role ?? "") : "contributor", trusts_email: provider?.trusts_email ?? false,
  };
}

function Setup({ of, set }) {
  const { now, edit, bind, tick } = useEdits(typed(of));
  const { provider, redirect_uri: redirect } = of;
  async function send() {
    const domains = now.domains.split(/[\s,;]+/).filter(Boolean);
    const body = { ...now, domains, client_secret: now.client_secret || null, newcomer_role: now.newcomer_role || null };
    set(await ask("PUT", PATH, { body }));
    edit({ current: "", client_secret: "" });
    toast(t("saved"));
  }
  const field = (name, label, more = {}) => html`<${Field} label=${label} autocomplete="off" spellcheck=${false} required=${true} ...${bind(name)} ...${more} />`;
  return html`<p>${t("sso.redirect")}</p>
    <${Secret} text=${redirect} label=${t("sso.redirect_uri")} />
    <details><summary>${t("sso.hints")}</summary><ul>${HINTS.map((name) => html`<li>${t(`sso.hint.${name}`)}</li>`)}</ul></details>
    <${Form} send=${send} submit=${provider ? t("save") : t("sso.submit")}>
      ${field("issuer", t("sso.issuer"), { type: "url", maxlength: "1000", hint: t("sso.issuer_hint") })}
      ${field("client_id", t("sso.client"), { maxlength: "1000" })}
      ${field("client_secret", t("sso.secret"), { type: "password", autocomplete: "new-password", maxlength: "1000", required: !provider, hint: provider ? t("sso.secret_hint") : undefined })}
      ${field("domains", t("sso.domains"), { rows: 2, hint: t("sso.domains_hint") })}
      <${Select} label=${t("sso.newcomers")} hint=${t("sso.newcomers_hint")} ...${bind("newcomer_role")}
        options=${[...ROLES.map((role) => [role, t(`role.${role}`)]), ["", t("sso.nobody")]]} />
      <${Check} label=${t("sso.required")} hint=${t("sso.required_hint")} ...${tick("required")} />
      <${Check} label=${t("sso.trusts")} hint=${t("sso.trusts_hint")} ...${tick("trusts_email")} />
      ${field("current", t("sso.current"), { type: "password", autocomplete: "current-password", hint: t("sso.current_hint") })}
    <//>`;
}
