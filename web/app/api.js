/**
 * Calls of the API, under the session's cookie.
 *
 * The dashboard sees what any client sees: `/app/v1` are the handlers of `/v1`. What only a person in a browser needs
 * (signing in, sessions, uploads) is under `/app`. A refusal becomes a {@link Refused} with the code and the request id of the
 * answer, so that screens can show both.
 */

/** What a server that could not do something said. */
export class Refused extends Error {
  /**
   * @param {number} status 0 where no answer came at all
   * @param {string} code
   * @param {string} message
   * @param {string | undefined} requestId
   */
  constructor(status, code, message, requestId) {
    super(message);
    this.name = "Refused";
    this.status = status;
    this.code = code;
    this.requestId = requestId;
  }
}

/** What goes with every request: some that read have a price. Known once somebody is signed in. */
let csrf = "";
/** Told when the session is over. */
let over = () => {};

/** @param {string} token @param {() => void} ended */
export function authorize(token, ended) {
  csrf = token;
  over = ended;
}

/**
 * @typedef {object} Call
 * @property {Record<string, unknown>} [query] parameters; those that are undefined or empty are left out
 * @property {unknown} [body] sent as JSON, or as it is where it is a `Blob` or `FormData`
 * @property {AbortSignal} [signal]
 * @property {Record<string, string>} [headers] besides those of every call
 * @property {boolean} [once] whether a repetition of this very call must not be done twice
 */

/**
 * Asks the server. The path is a whole one (`/app/session`) or one of the API (`/jobs`).
 * @param {string} method
 * @param {string} path
 * @param {Call} [call]
 * @returns {Promise<any>} the answer's JSON, `undefined` where it has none
 */
export async function ask(method, path, call = {}) {
  const response = await send(method, path, call);
  const text = await response.text();
  const answer = text && response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : undefined;
  if (response.ok) return answer;
  if (answer?.error?.code === "not_signed_in" && csrf) {
    csrf = "";
    over();
  }
  const { code = "unreadable", message = response.statusText, request_id } = answer?.error ?? {};
  throw new Refused(response.status, code, message, request_id ?? response.headers.get("x-request-id") ?? undefined);
}

/** A name that nobody else draws. Not a UUID of the browser's: those are for encrypted pages alone. */
const drawn = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param {string} method @param {string} path @param {Call} call */
async function send(method, path, { query, body, signal, once, headers: own }) {
  const headers = new Headers({ accept: "application/json", ...own });
  if (csrf) headers.set("x-csrf-token", csrf);
  if (once) headers.set("idempotency-key", drawn());
  const raw = body instanceof Blob || body instanceof FormData;
  if (body !== undefined && !raw) headers.set("content-type", "application/json");
  const sent = body === undefined || raw ? body : JSON.stringify(body);
  try {
    return await fetch(address(path, query), { method, headers, body: sent, signal, credentials: "same-origin" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused(0, "unreachable", "", undefined);
  }
}

/**
 * The address of a call, also for links to downloads. A space is `%20`: a plus is a plus to the API, as in addresses.
 * @param {string} path
 * @param {Record<string, unknown>} [query]
 */
export function address(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&");
  return `${path.startsWith("/app/") ? "" : "/app/v1"}${path}${search && `?${search}`}`;
}

/** @param {string} path @param {Record<string, unknown>} [query] @param {AbortSignal} [signal] */
export const get = (path, query, signal) => ask("GET", path, { query, signal });
/** @param {string} path @param {unknown} [body] @param {boolean} [once] */
export const post = (path, body, once = false) => ask("POST", path, { body, once });
/** @param {string} path @param {unknown} body */
export const patch = (path, body) => ask("PATCH", path, { body });
/** @param {string} path @param {unknown} [body] */
export const remove = (path, body) => ask("DELETE", path, { body });
