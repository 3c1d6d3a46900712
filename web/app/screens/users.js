/** Team members: permissions and invitations. */
import { html, useState } from "../../vendor/lib.js";
import { get, patch, post, remove } from "../api.js";
import { day } from "../format.js";
import { administrates, session } from "../session.js";
import { t } from "../text.js";
import { Ago, Button, Card, Confirm, Dialog, Field, FormDialog, Note, Page, Pages, Secret, Select, State, useEdits, useFetched, usePages } from "../ui.js";

const ROLES = ["contributor", "administrator"];

export function Screen() {
  const people = usePages("/users", { per_page: 100 }, "team");
  const uses = useFetched((signal) => get("/app/users/last-uses", {}, signal), [], "team");
  const [doing, setDoing] = useState(/** @type {Doing | undefined} */ (undefined));
  const may = administrates.value;
  const invite = may && html`<button type="button" class="button primary" onClick=${() => setDoing({ act: "invite" })}>${t("team.invite")}</button>`;
  const columns = [
    { title: t("actor.user"), cell: (user) => html`<div>${user.name ?? user.email}</div>${user.name && html`<div class="quiet small">${user.email}</div>`}` },
    { title: t("team.role"), cell: (user) => html`${t(`role.${user.role}`)} ${user.is_primary && html`<span class="badge">${t("team.primary")}</span>`}` },
    { title: t("lists.state"), cell: (user) => html`<${State} of=${user.status} />` },
    { title: t("team.last"), cell: ({ id, status }) => (status === "invited" || !uses.value ? "" : uses.value[id] ? html`<${Ago} at=${uses.value[id]} />` : html`<span class="quiet">${t("team.signed_out")}</span>`) },
    { title: t("team.since"), cell: (user) => day(user.created_at) },
    ...(may ? [{ title: t("team.do"), acts: true, cell: (user) => html`<${Acts} of=${user} again=${people.again} begin=${(act, of = user) => setDoing({ act, user: of })} />` }] : []),
  ];
  return html`<${Page} title=${t("team.title")} lead=${t("team.lead")} actions=${invite}>
    ${!may && html`<${Note}>${t("team.only_administrators")}<//>`}
    <${Card}><${Pages} of=${people} caption=${t("team.title")} columns=${columns} /><//>
    <${Acting} doing=${doing} close=${() => setDoing(undefined)} again=${people.again} />
  <//>`;
}

/**
 * Open dialog and its user; after `renew`, the user with the new invitation.
 * @typedef {{ act: "invite" | "change" | "renew" | "remove", user?: any }} Doing
 */

/** @param {{ doing?: Doing, close: () => void, again: () => unknown }} props */
function Acting({ doing, close, again }) {
  if (!doing) return null;
  const { act, user } = doing;
  if (act === "invite") return html`<${Invite} close=${close} invited=${again} />`;
  if (act === "change") return html`<${Change} of=${user} close=${close} changed=${again} />`;
  if (act === "renew") return html`<${Invited} of=${user} text="team.renewed_text" close=${close} />`;
  return html`<${Confirm} title=${t("team.remove")} submit=${t("team.remove")} close=${close}
    work=${() => remove(`/users/${user.id}`).then(again)}>${t("team.remove_text", { name: user.name ?? user.email })}<//>`;
}

function Acts({ of: user, again, begin }) {
  if (user.is_primary || user.id === session.value?.user.id) return null;
  const name = html`<span class="hidden-text"> ${user.name ?? user.email}</span>`;
  const turn = user.status === "paused" ? "active" : "paused";
  /** Renews an invitation; earlier links expire. */
  const renew = () => post("/users", { email: user.email, name: user.name ?? undefined, role: user.role }, true).then((invited) => begin("renew", invited));
  return html`<div class="row">
    ${user.status === "invited" && html`<${Button} kind="slim" work=${renew}>${t("team.renew")}${name}<//>`}
    <button type="button" class="button slim" onClick=${() => begin("change")}>${t("team.change")}${name}</button>
    ${user.status !== "invited" && html`<${Button} kind="slim" work=${() => patch(`/users/${user.id}`, { status: turn }).then(again)}>
      ${t(`team.${turn}`)}${name}<//>`}
    <button type="button" class="button danger slim" onClick=${() => begin("remove")}>${t("team.remove")}${name}</button>
  </div>`;
}

function Invite({ close, invited }) {
  const { now, bind } = useEdits({ email: "", name: "", role: "contributor" });
  const [made, setMade] = useState(/** @type {any} */ (undefined));

  async function send() {
    setMade(await post("/users", { email: now.email.trim(), name: now.name || undefined, role: now.role }, true));
    invited();
  }

  if (made) return html`<${Invited} of=${made} close=${close} />`;
  return html`<${FormDialog} title=${t("team.invite")} close=${close} send=${send} submit=${t("team.invite")}>
    <${Field} label=${t("sign-in.email")} type="email" required ...${bind("email")} />
    <${NameAndRole} bind=${bind} role=${now.role} />
  <//>`;
}

/** @param {{ bind: (name: "name" | "role") => object, role: string, required?: boolean }} props */
const NameAndRole = ({ bind, role, required }) => html`<${Field} label=${t("name")} maxlength="200" required=${required} ...${bind("name")} />
  <${Select} label=${t("team.role")} ...${bind("role")} options=${ROLES.map((one) => [one, t(`role.${one}`)])} hint=${t(`role.${role}_hint`)} />`;

/** Invitation link, shown once. */
function Invited({ of: made, text = "team.invited_text", close }) {
  return html`<${Dialog} title=${t("team.invited")} close=${close}>
    <${Note}>${t(text, { email: made.email })}<//>
    <${Secret} text=${new URL(made.invitation_url, location.origin).href} label=${t("team.link")} />
  <//>`;
}

function Change({ of: user, close, changed }) {
  const form = useEdits({ name: user.name ?? "", role: user.role });
  const [made, setMade] = useState(/** @type {any} */ (undefined));

  // Send only changed fields: another user may have changed the rest since loading.
  async function send() {
    if (user.status === "invited" && form.changed.role === "administrator") {
      // Earlier links never grant the administrator role, so a promoted invitee needs a new one.
      setMade(await post("/users", { email: user.email, ...form.now }, true));
      changed();
      return;
    }
    if (Object.keys(form.changed).length > 0) {
      await patch(`/users/${user.id}`, form.changed);
      changed();
    }
    close();
  }

  if (made) return html`<${Invited} of=${made} close=${close} />`;
  return html`<${FormDialog} title=${t("team.change")} close=${close} send=${send} submit=${t("save")}>
    <${NameAndRole} bind=${form.bind} role=${form.now.role} required />
  <//>`;
}
