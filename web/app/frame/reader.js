/** User menu: name, account, language, theme and sign-out. */
import { html } from "../../vendor/lib.js";
import { converse, session, signOut } from "../session.js";
import { NAMES, language, t } from "../text.js";
import { choose as chooseTheme, chosen } from "../theme.js";
import { Button, Icon, Menu, Select, toastFailure } from "../ui.js";

export function Reader() {
  const known = session.value;
  if (!known) return null;
  const { user, organization } = known;
  const name = user.name ?? user.email ?? "";
  const label = html`<span class="avatar" aria-hidden="true">${initials(name)}</span>
    <span class="grow"><span class="name cut">${name}</span> <span class="of cut">${organization.name ?? organization.id}</span></span><${Icon} name="dots" />`;
  return html`<div class="who">
    <${Menu} label=${label} kind="plain" up=${true}>
      <div><strong class="cut">${name}</strong>${user.name && html`<div class="small quiet cut">${user.email}</div>`}
        <div class="small quiet">${t(`role.${user.role}`)}</div></div>
      <a class="button" href="#/account"><${Icon} name="person" />${t("account.title")}</a>
      <${Select} label=${t("account.language")} value=${language()} set=${(tag) => converse(tag).catch(toastFailure)} options=${Object.entries(NAMES)} />
      <${Select} label=${t("theme.title")} value=${chosen.value ?? ""} set=${(wanted) => chooseTheme(wanted || undefined)}
        options=${[["", t("theme.system")], ["light", t("theme.light")], ["dark", t("theme.dark")]]} />
      <${Button} work=${signOut}><${Icon} name="leave" />${t("frame.sign_out")}<//>
    <//>
  </div>`;
}

/** Initials of the first and last word of a name. @param {string} name */
function initials(name) {
  const words = name.split("@")[0].split(/[\s._-]+/).filter(Boolean);
  const first = (word = "") => [...word][0]?.toLocaleUpperCase() ?? "";
  return first(words[0]) + (words.length > 1 ? first(words.at(-1)) : "");
}
