/** Empty, loading and error states. */
import { html, useEffect, useRef } from "../../vendor/lib.js";
import { Refused, unreachable } from "../api.js";
import { choose, testing } from "../mode.js";
import { where } from "../route.js";
import { session } from "../session.js";
import { says, t } from "../text.js";

/** Errors that users fix themselves; the request ID is omitted. */
const OWN_FAULTS = ["sign_in_failed", "sso_required"];
/** Screens whose resources belong to one mode. */
const SORTED_SCREENS = ["lists", "webhooks", "connections", "privacy"];

/** Error text in the user's language if the code is known, otherwise the server's message. */
export function explain(error) {
  if (!(error instanceof Refused)) return error instanceof Error ? error.message : String(error);
  // One code covers all denied actions; the server's message tells whether the role is the cause.
  const role = error.code === "forbidden_scope" && /\brole\b|\badministrators\b/.test(error.message);
  const own = role ? "failure.role" : `failure.${error.code}`;
  return says(own) ? t(own, { message: error.message }) : error.message;
}

/** Error for a module that did not load. @param {Awaited<ReturnType<typeof import("../away.js").lackOfModule>>} lack */
export const missingPart = (lack) => (lack === "unreachable" ? unreachable() : new Error(t(`failure.${lack}`)));

/** A retry cannot help if the resource does not exist. @param {unknown} failure */
const isMissing = (failure) => failure instanceof Refused && failure.code === "not_found";

/** @param {{ of: unknown, again?: () => unknown }} props */
export function Failure({ of, again }) {
  const id = of instanceof Refused && !OWN_FAULTS.includes(of.code) ? of.requestId : undefined;
  return html`<div class="note note-bad" role="alert">
    <strong>${t("failure.title")}</strong>
    <span>${explain(of)}</span>
    ${id && html`<span class="small">${t("requests.request")} <code>${id}</code></span>`}
    <div class="row acts"><${Elsewhere} of=${of} />
      ${again && !isMissing(of) && html`<button type="button" class="button slim" onClick=${again}>${t("failure.again")}</button>`}</div>
  </div>`;
}

/** Link to the other mode, which may have the resource: URLs do not contain the mode. @param {{ of: unknown }} props */
function Elsewhere({ of }) {
  const user = session.value?.user.id;
  const isOne = isMissing(of) && SORTED_SCREENS.includes(where.value.parts[0]) && where.value.parts.length > 1;
  if (!isOne || !user) return null;
  return html`<button type="button" class="button slim" onClick=${() => choose(user, !testing.value)}>${testing.value ? t("mode.look_live") : t("mode.look_test")}</button>`;
}

/**
 * @param {{ kind?: "good" | "bad" | "warning", title?: unknown, focused?: boolean, children?: unknown }} props
 *   `focused` moves the focus to the note when it appears because the focused element is gone; `autofocus` is
 *   for a note that opens with its dialog
 */
export function Note({ kind, title, focused, children }) {
  const note = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (focused) note.current?.focus();
  }, []);
  return html`<div class=${kind ? `note note-${kind}` : "note"} ref=${note} tabindex=${focused ? "-1" : undefined} autofocus=${focused}>${title && html`<strong>${title}</strong>`}<div>${children}</div></div>`;
}

/** Empty state: what appears here, and the first action. */
export function Empty({ title, children, action }) {
  return html`<div class="empty"><h2>${title}</h2>${children && html`<p>${children}</p>`}${action}</div>`;
}

/** Loading placeholder. @param {{ lines?: number }} props */
export function Skeleton({ lines = 3 }) {
  return html`<div class="stack tight" aria-hidden="true">
    ${Array.from({ length: lines }, (_, line) => html`<div class="skeleton" key=${line}></div>`)}
  </div>`;
}
