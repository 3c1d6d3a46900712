/** Form fields, each with a label and an optional hint and error. */
import { html, useEffect, useId, useRef, useState } from "../../vendor/lib.js";
import { isUnreachable } from "../api.js";
import { away } from "../away.js";
import { t } from "../text.js";
import { noteSent, useUnsaved } from "../unsent.js";
import { Failure } from "./notes.js";
import { useReturn } from "./table.js";

/** IDs of a field's hint and error. @param {string} id @param {unknown} hint @param {string | undefined} wrong */
const describedBy = (id, hint, wrong) => [hint && `${id}-hint`, wrong && `${id}-wrong`].filter(Boolean).join(" ") || undefined;

/**
 * @param {{ label: string, value: string, set: (value: string) => void, type?: string, hint?: unknown, wrong?: string,
 *   required?: boolean, autocomplete?: string, rows?: number, placeholder?: string, focused?: boolean, [more: string]: unknown }} props
 *   `focused` moves the focus to the field when it appears, as a follow-up step
 */
export function Field({ label, value, set, hint, wrong, rows, focused, ...more }) {
  const id = useId();
  const input = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (focused) input.current?.focus();
  }, []);
  const shared = { id, ref: input, class: "input", value, "aria-describedby": describedBy(id, hint, wrong), "aria-invalid": wrong ? "true" : undefined, ...more };
  const type = (event) => set(event.currentTarget.value);
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${rows ? html`<textarea ...${shared} rows=${rows} onInput=${type}></textarea>` : html`<input ...${shared} onInput=${type} />`}
    ${hint && html`<span class="hint" id=${`${id}-hint`}>${hint}</span>`}
    ${wrong && html`<span class="wrong" id=${`${id}-wrong`}>${wrong}</span>`}
  </div>`;
}

/**
 * @param {{ label: string, value: string, set: (value: string) => void, options: [string, unknown][], hint?: unknown,
 *   wrong?: string, disabled?: boolean }} props  the focus returns to the field after a temporary `disabled`
 */
export function Select({ label, value, set, options, hint, wrong, disabled = false }) {
  const id = useId();
  const input = useRef(/** @type {HTMLSelectElement | null} */ (null));
  const left = useRef(false);
  useEffect(() => {
    if (!disabled && left.current && document.activeElement === document.body) input.current?.focus();
    left.current = disabled;
  }, [disabled]);
  return html`<div class="field">
    <label for=${id}>${label}</label>
    <select id=${id} ref=${input} class="input" value=${value} disabled=${disabled} aria-describedby=${describedBy(id, hint, wrong)} aria-invalid=${wrong ? "true" : undefined}
      onChange=${(event) => set(event.currentTarget.value)}>
      ${options.map(([of, text]) => html`<option value=${of} selected=${of === value}>${text}</option>`)}
    </select>
    ${hint && html`<span class="hint" id=${`${id}-hint`}>${hint}</span>`}
    ${wrong && html`<span class="wrong" id=${`${id}-wrong`}>${wrong}</span>`}
  </div>`;
}

/** @param {{ label: unknown, checked: boolean, set: (checked: boolean) => void, disabled?: boolean, hint?: unknown }} props */
export function Check({ label, checked, set, disabled, hint }) {
  const id = useId();
  return html`<div class="choice">
    <input type="checkbox" id=${id} checked=${checked} disabled=${disabled} onChange=${(event) => set(event.currentTarget.checked)} />
    <label for=${id}>${label}${hint && html`<span class="quiet small"> ${hint}</span>`}</label>
  </div>`;
}

/**
 * Radio group with an optional hint per option.
 * @param {{ label: string, value: string, set: (value: string) => void, options: [value: string, label: unknown, hint?: unknown][], hint?: unknown }} props
 */
export function Choice({ label, value, set, options, hint }) {
  const id = useId();
  return html`<fieldset class="field"><legend>${label}</legend>${hint && html`<span class="hint">${hint}</span>`}
    <div class="stack tight">${options.map(([of, text, about]) => html`<div class="choice" key=${of}>
      <input type="radio" id=${`${id}-${of}`} name=${id} value=${of} checked=${of === value} onChange=${() => set(of)} aria-describedby=${about ? `${id}-${of}-hint` : undefined} />
      <div><label for=${`${id}-${of}`}>${text}</label>${about && html`<div class="quiet small" id=${`${id}-${of}-hint`}>${about}</div>`}</div>
    </div>`)}</div></fieldset>`;
}

/** @param {{ of: string, list: string[], set: (list: string[]) => void, label: unknown, hint?: unknown }} props */
export const Among = ({ of, list, set, ...more }) => html`<${Check} checked=${list.includes(of)} set=${(on) => set(on ? [...list, of] : list.filter((one) => one !== of))} ...${more} />`;

/** Group of checkboxes with a heading. @param {{ label: string, hint?: unknown, children?: unknown }} props */
export function Group({ label, hint, children }) {
  return html`<fieldset class="field"><legend>${label}</legend>${hint && html`<span class="hint">${hint}</span>`}
    <div class="stack tight">${children}</div></fieldset>`;
}

/**
 * Edits of a resource that others may change concurrently: loaded values overlaid with the user's changes. Only the changes are
 * sent.
 * @template {Record<string, any>} T
 * @param {T} loaded
 */
export function useEdits(loaded) {
  const [edits, setEdits] = useState(/** @type {Partial<T>} */ ({}));
  const unless = (of, same) => Object.fromEntries(Object.entries(of).filter(([name, value]) => !same(name, value)));
  const changed = unless(edits, (name, value) => alike(value, loaded[name]));
  useUnsaved(Object.keys(changed).length > 0);
  const now = /** @type {T} */ ({ ...loaded, ...edits });
  const edit = (/** @type {Partial<T>} */ part) => setEdits((before) => ({ ...before, ...part }));
  const set = (/** @type {keyof T} */ name) => (/** @type {any} */ value) => edit(/** @type {Partial<T>} */ ({ [name]: value }));
  return {
    now,
    changed,
    /** Loaded values of the changed fields, sent to undo the changes. */
    former: unless(loaded, (name) => !(name in changed)),
    edit,
    /** Props of a value field. */
    bind: (/** @type {keyof T & string} */ name) => ({ value: now[name], set: set(name) }),
    /** Props of a checkbox. */
    tick: (/** @type {keyof T & string} */ name) => ({ checked: now[name], set: set(name) }),
    /** Clears sent edits and keeps later ones. */
    sent: () => setEdits((before) => /** @type {Partial<T>} */ (unless(before, (name, value) => value === edits[name]))),
  };
}

/** Value equality; lists compare without order. */
function alike(one, other) {
  const [left, right] = [one, other].map((value) => JSON.stringify(Array.isArray(value) ? value.toSorted() : value));
  return left === right;
}

/** Reason why nothing can be sent while the server is away. */
export const Held = () => away.value && html`<p class="small quiet">${t("away.held")}</p>`;

/**
 * Form: submits once at a time and shows errors above the button. While the server is away, it says so instead.
 * @param {{ send: () => Promise<unknown>, submit: string, danger?: boolean, waits?: boolean, others?: unknown, children?: unknown }} props
 *   `waits`: cannot be submitted yet
 */
export function Form({ send, submit, danger, waits = false, others, children }) {
  const [state, setState] = useState(/** @type {{ busy: boolean, failure?: unknown }} */ ({ busy: false }));
  useReturn(state.failure, () => setState({ busy: false }));
  async function sent(event) {
    event.preventDefault();
    if (state.busy || waits || away.value) return;
    const form = event.currentTarget;
    setState({ busy: true });
    try {
      await send();
      noteSent(form);
      setState({ busy: false });
    } catch (failure) {
      setState({ busy: false, failure });
    }
  }
  return html`<form class="stack" onSubmit=${sent}>
    ${children}
    ${state.failure !== undefined && !(away.value && isUnreachable(state.failure)) && html`<${Failure} of=${state.failure} />`}
    <${Held} />
    <div class="row end">${others}
      <button class=${danger ? "button danger" : "button primary"} aria-disabled=${state.busy || waits || away.value !== undefined} aria-busy=${state.busy}>${submit}</button>
    </div>
  </form>`;
}
