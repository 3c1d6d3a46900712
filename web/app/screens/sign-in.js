/** Signing in: address and password, and the second factor where the person has one. */
import { html, useState } from "../../vendor/lib.js";
import { Refused, post } from "../api.js";
import { become, learn } from "../session.js";
import { t } from "../text.js";
import { Field, Form } from "../ui/fields.js";
import { Brand } from "../ui/page.js";

export function Screen() {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState(/** @type {string | undefined} */ (undefined));

  async function send() {
    try {
      await post("/app/sign-in", { email, password, code: code?.replaceAll(" ", "") || undefined });
    } catch (error) {
      if (error instanceof Refused && error.code === "second_factor_required" && code === undefined) {
        setCode("");
        return;
      }
      throw error;
    }
    become(null);
    await learn();
  }

  return html`<main class="alone" id="page">
    <${Brand} />
    <section class="card">
      <h1>${t("sign-in.title")}</h1>
      <${Form} send=${send} submit=${t("sign-in.submit")}>
        <${Field} label=${t("sign-in.email")} type="email" autocomplete="username" required value=${email} set=${setEmail} />
        <${Field} label=${t("sign-in.password")} type="password" autocomplete="current-password" required value=${password} set=${setPassword} />
        ${code !== undefined && html`<${Field} label=${t("sign-in.code")} hint=${t("sign-in.code_hint")} inputmode="numeric"
          autocomplete="one-time-code" required autofocus value=${code} set=${setCode} />`}
      <//>
    </section>
    <p class="quiet small">${t("sign-in.lost")}</p>
  </main>`;
}
