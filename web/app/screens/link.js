/** One-time link: the owner's first password, an invitation, or a password reset. */
import { html, useEffect, useState } from "../../vendor/lib.js";
import { Refused, ask } from "../api.js";
import { choose } from "../mode.js";
import { go } from "../route.js";
import { enter, nameOrganization, session } from "../session.js";
import { t } from "../text.js";
import { Choice, Fetched, Field, Form, Icon, Note, toast, toastFailure, useEdits, useFetched } from "../ui.js";
import { Door } from "../ui/door.js";
import { NewPassword } from "../ui/password.js";

const PATH = "/app/link";

/** Sent in a header, because proxies log paths. @param {string} token */
const says = (token) => ({ "x-link-token": encodeURIComponent(token) });

/**
 * @typedef {object} Link link details from the server
 * @property {"invitation" | "password"} kind
 * @property {string | null} organization
 * @property {string | null} email null until the owner of a new installation enters it
 * @property {string | null} name
 */

/** @param {{ parts: string[] }} props link token */
export function Screen({ parts: [token = ""] }) {
  const link = useFetched((signal) => ask("GET", PATH, { headers: says(token), signal }), [token]);
  const isGone = link.failure instanceof Refused && link.failure.code === "not_found";
  // A used link redirects to sign-in.
  useEffect(() => {
    if (!isGone) return;
    if (session.value) toast(t("sign-in.link_gone"));
    go(session.value ? [] : ["sign-in"], session.value ? undefined : { link: "gone" }, true);
  }, [isGone]);
  if (isGone) return html`<${Door} />`;
  return html`<${Door}>
    ${link.failure !== undefined && html`<h1>${t("link.title")}</h1>`}
    <${Fetched} from=${link}>${(/** @type {Link} */ found) => html`<${Welcome} token=${token} link=${found} />`}<//>
  <//>`;
}

/** @param {{ token: string, link: Link }} props */
function Welcome({ token, link }) {
  // The sandbox responds at once, is free and needs no network.
  const { now: { name, organization, email, password, mode }, bind } = useEdits({ name: link.name ?? "", organization: "", email: link.email ?? "", password: "", mode: "test" });
  const [code, setCode] = useState(/** @type {string | undefined} */ (undefined));
  const fresh = link.email === null;
  const kind = fresh ? "owner" : link.kind === "password" ? "reset" : "invitation";

  async function send() {
    const given = { password, name: name.trim() || undefined, email: fresh ? email.trim() : undefined, code: code?.replaceAll(" ", "") || undefined };
    try {
      const { session: known } = await ask("POST", PATH, { body: given, headers: says(token) });
      if (fresh) choose(known.user.id, mode === "test");
      enter(known);
      // The link is already used; if this fails, the checklist asks for the name again.
      if (organization.trim()) await nameOrganization(organization.trim()).catch(toastFailure);
      go([], undefined, true);
    } catch (error) {
      if (!(error instanceof Refused && error.code === "second_factor_required" && code === undefined)) throw error;
      setCode("");
    }
  }

  return html`<section class="card">
    <h1>${t(`link.${kind}.title`)}</h1>
    <p class="quiet">${t(`link.${kind}.text`, { organization: link.organization ?? "Probity" })}</p>
    <${Form} send=${send} submit=${t("link.submit")}>
      ${fresh && html`<${Field} label=${t("organization.what")} autocomplete="organization" maxlength="200" ...${bind("organization")} />`}
      <${Field} label=${t("sign-in.email")} type="email" autocomplete="username" hint=${fresh && t("link.email_hint")}
        required=${fresh} readonly=${!fresh} ...${bind("email")} />
      ${kind !== "reset" && html`<${Field} label=${t("link.name")} autocomplete="name" maxlength="200" ...${bind("name")} />`}
      <${NewPassword} label=${t("sign-in.password")} ...${bind("password")} known=${[email, name, organization]} />
      ${fresh && html`<div class="begin"><${Choice} label=${t("link.begin")} ...${bind("mode")}
        options=${[["test", html`<${Icon} name="flask" />${t("mode.test_title")}`, t("link.begin_test")],
          ["live", html`<${Icon} name="globe" />${t("mode.live_title")}`, t("link.begin_live")]]} /></div>`}
      ${code !== undefined && html`<${Field} label=${t("sign-in.code")} hint=${t("sign-in.code_hint")} autocomplete="one-time-code"
        required focused value=${code} set=${setCode} />`}
    <//>
    <${Note}>${t("link.once")}<//>
  </section>`;
}
