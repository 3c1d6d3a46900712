/** Signing in: address and password, the second factor where there is one, the organization where there are several. */
import { html, useState } from "../../vendor/lib.js";
import { Refused, post } from "../api.js";
import { become } from "../session.js";
import { t } from "../text.js";
import { Field, Form, Select } from "../ui/fields.js";
import { Brand } from "../ui/page.js";

/** @typedef {{ id: string, name: string | null }} Organization */

export function Screen() {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState(/** @type {string | undefined} */ (undefined));
  const [choice, setChoice] = useState(/** @type {Organization[]} */ ([]));
  const [organization, setOrganization] = useState("");

  async function send() {
    const given = { email: email.trim(), password, code: code?.replaceAll(" ", "") || undefined, organization: organization || undefined };
    try {
      const { session, organizations } = await post("/app/sign-in", given);
      if (session) return become(session);
      setChoice(organizations);
      setOrganization(organizations[0].id);
    } catch (error) {
      if (!(error instanceof Refused && error.code === "second_factor_required" && code === undefined)) throw error;
      setCode("");
    }
  }

  return html`<main class="alone" id="page">
    <${Brand} />
    <section class="card">
      <h1>${t("sign-in.title")}</h1>
      <${Form} send=${send} submit=${t("sign-in.submit")}>
        <${Field} label=${t("sign-in.email")} type="email" autocomplete="username" required value=${email} set=${setEmail} />
        <${Field} label=${t("sign-in.password")} type="password" autocomplete="current-password" required value=${password} set=${setPassword} />
        ${choice.length > 0 && html`<${Select} label=${t("sign-in.organization")} hint=${t("sign-in.choose")} value=${organization}
          set=${setOrganization} options=${choice.map(({ id, name }) => [id, name ?? id])} />`}
        ${code !== undefined && html`<${Field} label=${t("sign-in.code")} hint=${t("sign-in.code_hint")}
          autocomplete="one-time-code" required focused value=${code} set=${setCode} />`}
      <//>
    </section>
    <p class="quiet small">${t("sign-in.lost")}</p>
  </main>`;
}
