/** Account screen: name, language, password, two-factor authentication, sessions. */
import { html, useState } from "../../vendor/lib.js";
import { get, patch, post, remove } from "../api.js";
import { become, converse, learn, session } from "../session.js";
import { letters, setLetters } from "../shortcuts.js";
import { NAMES, language, t } from "../text.js";
import { choose as chooseTheme, chosen } from "../theme.js";
import { Ago, Button, Card, Check, Fetched, Field, Form, Group, Note, Page, Secret, Select, Table, toast, toastFailure, useEdits, useFetched } from "../ui.js";
import { NewPassword } from "../ui/password.js";

/** Up to this number of remaining recovery codes, the page warns. */
const FEW_CODES = 3;
/** Notifications, sent if a mail relay is configured. */
const NOTIFICATIONS = ["after_flossing", "weekly_report", "monthly_report"];

export function Screen() {
  const account = useFetched((signal) => get("/account", {}, signal), []);
  return html`<${Page} title=${t("account.title")} lead=${session.value?.user.email}>
    <div class="columns">
      <${Card} title=${t("account.profile")}><${Fetched} from=${account}>${(of) => html`<${Profile} of=${of} changed=${account.set} />`}<//><//>
      <${Card} title=${t("account.display")}>
        <${Select} label=${t("account.language")} hint=${ofMail()} value=${language()} set=${(tag) => converse(tag).catch(toastFailure)} options=${Object.entries(NAMES)} />
        <${Select} label=${t("theme.title")} value=${chosen.value ?? ""} set=${(wanted) => chooseTheme(wanted || undefined)}
          options=${[["", t("theme.system")], ["light", t("theme.light")], ["dark", t("theme.dark")]]} />
        <${Check} label=${t("account.letters")} hint=${t("account.letters_hint")} checked=${letters.value} set=${setLetters} />
      <//>
      <${Card} title=${t("sign-in.password")}><${Password} /><//>
      <${Card} title=${t("account.second_factor")}><${SecondFactor} /><//>
    </div>
    <${Card} title=${t("account.sessions")}><${Sessions} /><//>
  <//>`;
}

/** Language of emails, if any are sent; it may differ from the browser's language. */
function ofMail() {
  if (!session.value?.sends_mail) return undefined;
  const tag = session.value.user.language ?? "en";
  return tag === language() ? t("account.language_hint") : t("account.language_of_mail", { language: NAMES[tag] });
}

function Profile({ of: account, changed }) {
  const form = useEdits({ name: account.name ?? "", phone: account.phone ?? "", ...account.notifications });

  // Send only changed fields: another page may have changed the others since loading.
  async function send() {
    const { name, phone, ...notifications } = form.changed;
    const told = Object.keys(notifications).length > 0 ? notifications : undefined;
    changed(await patch("/app/account", { name, phone: phone === "" ? null : phone, notifications: told }));
    form.sent();
    await learn();
    toast(t("saved"));
  }

  return html`<${Form} send=${send} submit=${t("save")}>
    <${Field} label=${t("link.name")} autocomplete="name" required maxlength="200" ...${form.bind("name")} />
    <${Field} label=${t("account.phone")} type="tel" autocomplete="tel" ...${form.bind("phone")} />
    ${session.value?.sends_mail && html`<${Group} label=${t("account.notifications")}>${NOTIFICATIONS.map((of) => html`<${Check}
      label=${t(`notification.${of}`)} ...${form.tick(of)} />`)}<//>`}
  <//>`;
}

function Password() {
  const empty = { current: "", new: "" };
  const { now, bind, edit } = useEdits(empty);
  async function send() {
    become((await post("/app/password", now)).session);
    edit(empty);
    toast(t("account.password_changed"));
  }

  return html`<${Form} send=${send} submit=${t("save")}>
    <${Field} label=${t("account.current")} type="password" autocomplete="current-password" required ...${bind("current")} />
    <${NewPassword} label=${t("account.new")} ...${bind("new")} known=${[session.value?.user.email ?? "", session.value?.user.name ?? ""]} />
  <//>`;
}

function SecondFactor() {
  const [begun, setBegun] = useState(/** @type {any} */ (undefined));
  const [ended, setEnded] = useState(false);
  const [current, setCurrent] = useState("");
  const [code, setCode] = useState("");
  const [recovery, setRecovery] = useState(/** @type {string[] | undefined} */ (undefined));

  async function begin() {
    setBegun(await post("/app/second-factor", { current }));
    setCurrent("");
  }
  async function confirm() {
    const answer = await post("/app/second-factor/confirm", { code: code.replaceAll(" ", "") });
    setRecovery(answer.recovery_codes);
    setBegun(undefined);
    setCode("");
    become(answer.session);
  }
  async function end() {
    const { session: goesOn } = await remove("/app/second-factor", { code: code.replaceAll(" ", "") });
    setCode("");
    setRecovery(undefined);
    setEnded(true);
    become(goesOn);
  }

  const field = html`<${Field} key="code" label=${t("sign-in.code")} inputmode="numeric" autocomplete="one-time-code" required value=${code} set=${setCode} />`;
  if (recovery) {
    return html`<div class="stack"><${Note} kind="warning" focused=${true}>${t("account.recovery")}<//>
      <${Secret} text=${recovery.join(" ")} label=${t("account.recovery")} /></div>`;
  }
  if (session.value?.two_factor) return html`<${SwitchedOn} end=${end} field=${field} />`;
  if (begun) return html`<${Form} send=${confirm} submit=${t("account.second_factor_confirm")}><${Begun} of=${begun} />${field}<//>`;
  return html`<div class="stack"><p>${t("account.second_factor_text")}</p>
    <${Form} send=${begin} submit=${t("account.second_factor_begin")}>
      <${Field} key="current" label=${t("account.current")} type="password" autocomplete="current-password" required
        focused=${ended} value=${current} set=${setCurrent} />
    <//></div>`;
}

function SwitchedOn({ end, field }) {
  const left = session.value?.recovery_codes_left ?? 0;
  return html`<div class="stack"><${Note} kind="good">${t("account.second_factor_on")}<//>
    <${Note} kind=${left > FEW_CODES ? undefined : "warning"}>${t("account.codes_left", { n: left })}<//>
    <${Form} send=${end} submit=${t("account.second_factor_end")} danger=${true}>${field}<//></div>`;
}

/** Secret to enter into the authenticator before its first code is requested. */
function Begun({ of }) {
  return html`<${Note} focused=${true}>${t("account.second_factor_scan")}<//>
    ${of.otpauth_qr && html`<${Qr} of=${of.otpauth_qr} />`}
    <p><a href=${of.otpauth_uri}>${t("account.second_factor_open")}</a></p>
    <${Secret} text=${of.secret} label=${t("webhooks.secret")} />`;
}

/** Quiet zone in modules, as QR readers require. */
const QUIET = 4;

/** @param {{ of: { size: number, path: string } }} props */
function Qr({ of: { size, path } }) {
  const side = size + 2 * QUIET;
  return html`<svg class="qr" viewBox=${`${-QUIET} ${-QUIET} ${side} ${side}`} role="img" aria-label=${t("account.second_factor_qr")}><path d=${path} /></svg>`;
}

function Sessions() {
  const sessions = useFetched((signal) => get("/app/sessions", {}, signal), []);
  const end = { title: t("account.end"), acts: true, cell: (one) => !one.current && html`<${Button} kind="danger slim"
    work=${() => remove(`/app/sessions/${one.id}`).then(sessions.again)}>${t("account.end")}<//>` };
  const columns = [
    { title: t("account.browser"), cell: (one) => html`${one.client || "–"} ${one.current && html`<span class="badge good">${t("account.this")}</span>`}` },
    { title: t("account.begun"), cell: (one) => html`<${Ago} at=${one.created_at} />` },
    { title: t("account.seen"), cell: (one) => html`<${Ago} at=${one.last_seen_at} />` },
  ];
  return html`<${Fetched} from=${sessions}>${({ data }) => html`<${Table} caption=${t("account.sessions")} columns=${data.length > 1 ? [...columns, end] : columns} rows=${data} />
    ${data.length > 1 && html`<div><${Button} kind="danger" work=${() => remove("/app/sessions").then(sessions.again)}>${t("account.end_others")}<//></div>`}`}<//>`;
}
