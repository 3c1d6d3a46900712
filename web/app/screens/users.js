/** The people of the organization: who they are, what they may do, invitations. */
import { html, useState } from "../../vendor/lib.js";
import { patch, post, remove } from "../api.js";
import { useChanges } from "../changes.js";
import { day } from "../format.js";
import { administrates, session } from "../session.js";
import { t } from "../text.js";
import { Button, Secret } from "../ui/buttons.js";
import { Confirm, Dialog } from "../ui/dialog.js";
import { Field, Form, Select } from "../ui/fields.js";
import { Note } from "../ui/notes.js";
import { Card, Page } from "../ui/page.js";
import { Pages, usePages } from "../ui/table.js";
import { State } from "../ui/verdict.js";

const ROLES = ["contributor", "administrator"];
const roles = () => /** @type {[string, string][]} */ (ROLES.map((role) => [role, t(`role.${role}`)]));

export function Screen() {
  const people = usePages("/users", { per_page: 100 });
  useChanges("team", people.refresh);
  const [inviting, setInviting] = useState(false);
  const [changing, setChanging] = useState(/** @type {any} */ (undefined));
  const [renewed, setRenewed] = useState(/** @type {any} */ (undefined));
  const [removing, setRemoving] = useState(/** @type {any} */ (undefined));
  const may = administrates.value;
  const invite = may && html`<button type="button" class="button primary" onClick=${() => setInviting(true)}>${t("team.invite")}</button>`;
  const columns = [
    { title: t("team.person"), cell: (user) => html`<div>${user.name ?? user.email}</div>${user.name && html`<div class="quiet small">${user.email}</div>`}` },
    { title: t("team.role"), cell: (user) => html`${t(`role.${user.role}`)} ${user.is_primary && html`<span class="badge">${t("team.primary")}</span>`}` },
    { title: t("team.state"), cell: (user) => html`<${State} of=${user.status} />` },
    { title: t("team.since"), cell: (user) => day(user.created_at) },
    ...(may ? [{ title: t("team.do"), acts: true, cell: (user) => html`<${Acts} of=${user} again=${people.again} change=${setChanging} renewed=${setRenewed} end=${setRemoving} />` }] : []),
  ];
  return html`<${Page} title=${t("team.title")} lead=${t("team.lead")} actions=${invite}>
    ${!may && html`<${Note}>${t("team.only_administrators")}<//>`}
    <${Card}><${Pages} of=${people} caption=${t("team.title")} columns=${columns} /><//>
    ${inviting && html`<${Invite} close=${() => setInviting(false)} invited=${people.again} />`}
    ${changing && html`<${Change} of=${changing} close=${() => setChanging(undefined)} changed=${people.again} />`}
    ${renewed && html`<${Invited} of=${renewed} text="team.renewed_text" close=${() => setRenewed(undefined)} />`}
    ${removing && html`<${Confirm} title=${t("team.remove")} submit=${t("team.remove")} close=${() => setRemoving(undefined)}
      work=${() => remove(`/users/${removing.id}`).then(people.again)}>${t("team.remove_text", { name: removing.name ?? removing.email })}<//>`}
  <//>`;
}

function Acts({ of: user, again, change, renewed, end }) {
  if (user.is_primary || user.id === session.value?.user.id) return null;
  const name = html`<span class="hidden-text"> ${user.name ?? user.email}</span>`;
  const turn = user.status === "paused" ? "active" : "paused";
  /** Invites anew: links of before end. */
  const renew = () => post("/users", { email: user.email, name: user.name ?? undefined, role: user.role }, true).then(renewed);
  return html`<div class="row">
    ${user.status === "invited" && html`<${Button} kind="slim" work=${renew}>${t("team.renew")}${name}<//>`}
    <button type="button" class="button slim" onClick=${() => change(user)}>${t("team.change")}${name}</button>
    ${user.status !== "invited" && html`<${Button} kind="slim" work=${() => patch(`/users/${user.id}`, { status: turn }).then(again)}>
      ${t(`team.${turn}`)}${name}<//>`}
    <button type="button" class="button danger slim" onClick=${() => end(user)}>${t("team.remove")}${name}</button>
  </div>`;
}

function Invite({ close, invited }) {
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [role, setRole] = useState("contributor");
  const [made, setMade] = useState(/** @type {any} */ (undefined));

  async function send() {
    setMade(await post("/users", { email: email.trim(), name: name || undefined, role }, true));
    invited();
  }

  if (made) return html`<${Invited} of=${made} close=${close} />`;
  return html`<${Dialog} title=${t("team.invite")} close=${close}>
    <${Form} send=${send} submit=${t("team.invite")}>
      <${Field} label=${t("sign-in.email")} type="email" required value=${email} set=${setEmail} />
      <${Field} label=${t("team.name")} maxlength="200" value=${name} set=${setName} />
      <${Select} label=${t("team.role")} value=${role} set=${setRole} options=${roles()} hint=${t(`role.${role}_hint`)} />
    <//>
  <//>`;
}

/** The link of somebody who was just invited, this once. */
function Invited({ of: made, text = "team.invited_text", close }) {
  return html`<${Dialog} title=${t("team.invited")} close=${close}>
    <${Note}>${t(text, { email: made.email })}<//>
    <${Secret} text=${new URL(made.invitation_url, location.origin).href} label=${t("team.link")} />
  <//>`;
}

function Change({ of: user, close, changed }) {
  const [name, setName] = useState(user.name ?? "");
  const [role, setRole] = useState(user.role);
  const [made, setMade] = useState(/** @type {any} */ (undefined));

  // Only what was changed here is said: the rest may have been changed by somebody else since it was loaded.
  async function send() {
    if (user.status === "invited" && role === "administrator" && role !== user.role) {
      // Links of before open no administrator, so whoever becomes one is invited anew.
      setMade(await post("/users", { email: user.email, name, role }, true));
      changed();
      return;
    }
    const said = { ...(name !== (user.name ?? "") && { name }), ...(role !== user.role && { role }) };
    if (Object.keys(said).length > 0) {
      await patch(`/users/${user.id}`, said);
      changed();
    }
    close();
  }

  if (made) return html`<${Invited} of=${made} close=${close} />`;
  return html`<${Dialog} title=${t("team.change")} close=${close}>
    <${Form} send=${send} submit=${t("save")}>
      <${Field} label=${t("team.name")} maxlength="200" required value=${name} set=${setName} />
      <${Select} label=${t("team.role")} value=${role} set=${setRole} options=${roles()} hint=${t(`role.${role}_hint`)} />
    <//>
  <//>`;
}
