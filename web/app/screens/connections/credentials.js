/** Credential form, built from the platform's description. */
import { html, useEffect, useRef, useState } from "../../../vendor/lib.js";
import { Refused } from "../../api.js";
import { away } from "../../away.js";
import { sentence } from "../../format.js";
import { t } from "../../text.js";
import { Field, Held, Select } from "../../ui/fields.js";
import { Failure, Note } from "../../ui/notes.js";
import { described } from "./platform.js";

/** API message that names the invalid field: `credentials.api_key: what is wrong`. */
const OF_A_FIELD = /^credentials\.(\w+): (.+)$/s;

/**
 * Sends the credentials; the server first tests them at the platform, which takes a moment.
 * @param {{ platform: any, submit: string, send: (credentials: Record<string, string>) => Promise<unknown>, others?: unknown, children?: unknown }} props
 */
export function Credentials({ platform, submit, send, others, children }) {
  const [values, setValues] = useState(/** @type {Record<string, string>} */ (initial(platform)));
  const [state, setState] = useState(/** @type {{ busy: boolean, field?: string, wrong?: string, failure?: unknown }} */ ({ busy: false }));
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  useEffect(() => {
    if (state.field) form.current?.querySelector(/** @type {"input"} */ ("[aria-invalid=true]"))?.focus();
  }, [state]);

  async function sent(event) {
    event.preventDefault();
    if (state.busy || away.value) return;
    setState({ busy: true });
    try {
      await send(entered(platform, values));
      setState({ busy: false });
    } catch (failure) {
      setState({ busy: false, ...told(platform, failure) });
    }
  }
  const set = (name) => (value) => setValues((before) => ({ ...before, [name]: value }));
  return html`<form class="stack" onSubmit=${sent} ref=${form}>
    ${platform.credentials.map((field) => html`<${Credential} key=${field.name} of=${field} value=${values[field.name]} set=${set(field.name)}
      wrong=${state.field === field.name ? state.wrong : undefined} />`)}
    ${children}
    <${Held} />
    <${Wrong} platform=${platform} failure=${state.failure} />
    <div class="row end">
      <p class="quiet small grow" role="status">${state.busy && t("connections.trying", { platform: platform.name })}</p>
      ${others}
      <button class="button primary" aria-disabled=${state.busy || away.value !== undefined} aria-busy=${state.busy}>${submit}</button>
    </div>
  </form>`;
}

const initial = ({ credentials }) => Object.fromEntries(credentials.map(({ name, kind, choices, optional }) => [name, kind === "choice" && !optional ? choices[0] : ""]));

/** Omits empty optional fields. */
function entered({ credentials }, values) {
  const given = credentials.filter(({ name, optional }) => !optional || values[name].trim() !== "");
  return Object.fromEntries(given.map(({ name }) => [name, values[name].trim()]));
}

/** Error message for the field that the API names, if the form has it. */
function told({ credentials }, failure) {
  const [, field, wrong] = (failure instanceof Refused && OF_A_FIELD.exec(failure.message)) || [];
  return credentials.some(({ name }) => name === field) ? { field, wrong: sentence(wrong ?? "") } : { failure };
}

function Credential({ of: { name, label, kind, help, choices, optional }, value, set, wrong }) {
  const named = optional ? t("connections.optional", { label: described(label) }) : described(label);
  const hint = described(help);
  if (kind === "choice") return html`<${Select} label=${named} value=${value} set=${set} hint=${hint} wrong=${wrong} options=${[...(optional ? [["", "–"]] : []), ...choices.map((one) => [one, one])]} />`;
  return html`<${Field} label=${named} hint=${hint} wrong=${wrong} value=${value} set=${set} required=${!optional} name=${name}
    type=${kind === "secret" ? "password" : "text"} inputmode=${kind === "url" ? "url" : undefined} autocomplete="off" spellcheck=${false} autocapitalize="off" />`;
}

/** Error display. An unavailable platform is neither a server error nor a fault of the credentials. */
function Wrong({ platform, failure }) {
  if (failure === undefined) return null;
  if (!(failure instanceof Refused)) return html`<${Failure} of=${failure} />`;
  if (failure.status === 503) return html`<div role="alert"><${Note} kind="warning" title=${t("connections.no_answer", { platform: platform.name })}>${sentence(failure.message)} ${t("connections.no_answer_text")}<//></div>`;
  if (failure.status === 400) return html`<div role="alert"><${Note} kind="bad" title=${t("connections.not_accepted", { platform: platform.name })}>${sentence(failure.message.replace(/^credentials: /, ""))}<//></div>`;
  return html`<${Failure} of=${failure} />`;
}
