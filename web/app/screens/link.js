/** A one-time link: the owner's first password, an invitation, or a new password. */
import { html, useState } from "../../vendor/lib.js";
import { get, post } from "../api.js";
import { go } from "../route.js";
import { learn } from "../session.js";
import { t } from "../text.js";
import { Field, Form } from "../ui/fields.js";
import { Note } from "../ui/notes.js";
import { Brand } from "../ui/page.js";
import { Fetched, useFetched } from "../ui/table.js";

const PASSWORD_MIN = 12;

/** @param {{ parts: string[] }} props the link's token */
export function Screen({ parts: [token = ""] }) {
  const link = useFetched((signal) => get(`/app/links/${encodeURIComponent(token)}`, undefined, signal), [token]);
  return html`<main class="alone" id="page">
    <${Brand} />
    <${Fetched} from=${link}>${(found) => html`<${Welcome} token=${token} link=${found} />`}<//>
  </main>`;
}

function Welcome({ token, link }) {
  const [name, setName] = useState(link.name ?? "");
  const [password, setPassword] = useState("");
  const short = password !== "" && [...password].length < PASSWORD_MIN;

  async function send() {
    await post(`/app/links/${encodeURIComponent(token)}`, { password, name: name || undefined });
    await learn();
    go([], undefined, true);
  }

  return html`<section class="card">
    <h1>${t(`link.${link.kind}.title`)}</h1>
    <p class="quiet">${t(`link.${link.kind}.text`, { organization: link.organization ?? "Probity" })}</p>
    <${Form} send=${send} submit=${t("link.submit")}>
      <${Field} label=${t("sign-in.email")} type="email" autocomplete="username" readonly value=${link.email} set=${() => {}} />
      ${link.kind !== "reset" && html`<${Field} label=${t("link.name")} autocomplete="name" value=${name} set=${setName} />`}
      <${Field} label=${t("link.password")} type="password" autocomplete="new-password" required minlength=${PASSWORD_MIN}
        hint=${t("link.password_hint", { n: PASSWORD_MIN })} wrong=${short ? t("link.password_short", { n: PASSWORD_MIN }) : undefined}
        value=${password} set=${setPassword} />
    <//>
    <${Note}>${t("link.once")}<//>
  </section>`;
}
