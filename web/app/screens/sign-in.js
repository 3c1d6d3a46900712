/** Sign-in: email and password, optional two-factor code, choice of organization; password reset. */
import { html, useState } from "../../vendor/lib.js";
import { Refused, ask, post } from "../api.js";
import { where } from "../route.js";
import { ended, enter } from "../session.js";
import { language, says, t } from "../text.js";
import { Button, Fetched, Field, Form, Note, Select, useFetched } from "../ui.js";
import { Door } from "../ui/door.js";

/** @typedef {{ id: string, name: string | null }} Organization */

/** @param {{ parts: string[] }} props any location: every page sends visitors here until they sign in */
export function Screen({ parts }) {
  const [email, setEmail] = useState("");
  // A notice takes the focus, so that it is read out.
  const told = ["sso", "link"].some((name) => where.value.query.has(name));
  const address = html`<${Field} label=${t("sign-in.email")} type="email" autocomplete="username" required focused=${!told} value=${email} set=${setEmail} />`;
  return html`<${Door}>
    ${parts[0] === "sign-in" && parts[1] === "forgotten" ? html`<${Forgotten} email=${email} address=${address} />` : html`<${SignIn} email=${email} address=${address} />`}
  <//>`;
}

function SignIn({ email, address }) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState(/** @type {string | undefined} */ (undefined));
  const [choice, setChoice] = useState(/** @type {Organization[]} */ ([]));
  const [organization, setOrganization] = useState("");

  async function send() {
    const given = { email: email.trim(), password, code: code?.replaceAll(" ", "") || undefined, organization: organization || undefined };
    try {
      const { session, organizations } = await post("/app/sign-in", given);
      if (session) return enter(session);
      setChoice(organizations);
      setOrganization(organizations[0].id);
    } catch (error) {
      if (!(error instanceof Refused && error.code === "second_factor_required" && code === undefined)) throw error;
      setCode("");
    }
  }

  const refusal = where.value.query.get("sso");
  const options = useFetched((signal) => ask("GET", "/app/sign-in", { signal }), []);
  const url = options.value?.https_url;
  if (url && !isSecureContext) {
    return html`<section class="card">
      <h1>${t("sign-in.title")}</h1>
      <${Note} kind="warning">${t("sign-in.https")} <a href=${url}>${url}</a><//>
    </section>`;
  }
  return html`<section class="card">
      <h1>${t("sign-in.title")}</h1>
      ${ended.value && html`<${Note}>${t("sign-in.ended")}<//>`}
      ${refusal && html`<${Note} key=${refusal} kind="warning" focused=${true}>${says(`sso.refused.${refusal}`) ? t(`sso.refused.${refusal}`) : t("sso.refused.other")}<//>`}
      ${where.value.query.get("link") === "gone" && html`<${Note} kind="warning" focused=${true}>${t("sign-in.link_gone")}<//>`}
      <${Form} send=${send} submit=${t("sign-in.title")}>
        ${address}
        <${Field} label=${t("sign-in.password")} type="password" autocomplete="current-password" required value=${password} set=${setPassword} />
        ${choice.length > 0 && html`<${Select} label=${t("organization.title")} hint=${t("sign-in.choose")} value=${organization}
          set=${setOrganization} options=${choice.map(({ id, name }) => [id, name ?? id])} />`}
        ${code !== undefined && html`<${Field} label=${t("sign-in.code")} hint=${t("sign-in.code_hint")}
          autocomplete="one-time-code" required focused value=${code} set=${setCode} />`}
      <//>
      ${options.value?.sso && html`<${SingleSignOn} email=${email.trim()} />`}
    </section>
    <p class="small"><a href="#/sign-in/forgotten">${t("sign-in.forgotten")}</a></p>`;
}

/** Sign-in through the identity provider of the email's domain; needs no password. */
function SingleSignOn({ email }) {
  const [wrong, setWrong] = useState("");
  async function begin() {
    if (!email) return setWrong(t("sign-in.sso_address"));
    try {
      location.assign((await post("/app/sso/sign-in", { email })).location);
    } catch (error) {
      if (!(error instanceof Refused && error.code === "not_found")) throw error;
      setWrong(t("sign-in.sso_none"));
    }
  }
  return html`<div class="stack tight">
    ${wrong && html`<${Note} kind="warning">${wrong}<//>`}
    <${Button} work=${begin}>${t("sign-in.sso")}<//>
  </div>`;
}

/** Requests a password reset link; the response is the same for every address. */
function Forgotten({ email, address }) {
  const options = useFetched((signal) => ask("GET", "/app/sign-in", { signal }), []);
  const [minutes, setMinutes] = useState(/** @type {number | undefined} */ (undefined));
  async function send() {
    setMinutes((await post("/app/forgotten-password", { email: email.trim(), language: language() })).works_minutes);
  }
  const form = html`<p class="quiet">${t("sign-in.forgotten_text")}</p><${Form} send=${send} submit=${t("sign-in.forgotten_submit")}>${address}<//>`;
  return html`<section class="card">
      <h1>${t("sign-in.forgotten_title")}</h1>
      ${minutes !== undefined ? html`<${Note} kind="good" focused=${true}>${t("sign-in.asked", { minutes })}<//>`
        : html`<${Fetched} from=${options} lines=${2}>${({ sends_mail: sends }) => (sends ? form : html`<${Note}>${t("sign-in.lost")}<//>`)}<//>`}
    </section>
    <p class="small"><a href="#/sign-in">${t("sign-in.back")}</a></p>`;
}
