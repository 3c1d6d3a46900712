/**
 * Calls of the API, under the session's cookie.
 *
 * The dashboard sees what any client sees: `/app/v1` are the handlers of `/v1`. What only a person in a browser needs
 * (signing in, sessions, uploads) is under `/app`. A refusal becomes a {@link Refused} with the code and the request id of the
 * answer, so that screens can show both.
 */

import { modeOf } from "./mode.js";

/** What a server that could not do something said. */
export class Refused extends Error {
  /**
   * @param {number} status 0 where no answer came at all
   * @param {string} code
   * @param {string} message
   * @param {string | undefined} requestId
   * @param {number} [wait] seconds after which to ask again, where the server says so
   */
  constructor(status, code, message, requestId, wait) {
    super(message);
    this.name = "Refused";
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.wait = wait;
  }
}

/** What goes with every request: some that read have a price. Known once somebody is signed in. */
let csrf = "";
/** Told when the session is over. */
let over = () => {};
/** Told what the session is now, where another page of this browser changed it. */
let changed = (/** @type {any} */ _session) => /** @type {unknown} */ (undefined);

/** @param {string} token @param {() => void} whenOver @param {(session: any) => unknown} whenChanged */
export function authorize(token, whenOver, whenChanged) {
  csrf = token;
  over = whenOver;
  changed = whenChanged;
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
export const ask = (method, path, call = {}) => withToken(() => askOnce(method, path, call));

/** @param {string} method @param {string} path @param {Call} call */
async function askOnce(method, path, call) {
  const response = await send(method, path, call);
  const answer = parsed(await response.text(), response.headers.get("content-type"));
  if (response.ok && answer !== null) return answer;
  const wait = Number(response.headers.get("retry-after")) || undefined;
  throw refusal(response.status, response.statusText, answer, response.headers.get("x-request-id"), wait);
}

/** @type {Promise<unknown> | undefined} */
let looking;

/**
 * Does what needs the session's token. Another page of this browser may have changed that, by another password or by signing in
 * again: where the token is refused, the server is asked once for the one that holds now. Nothing was done by then.
 * @template T
 * @param {() => Promise<T>} act
 * @returns {Promise<T>}
 */
async function withToken(act) {
  const said = csrf;
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Refused && error.code === "cross_site_request" && said)) throw error;
    if (csrf === said) {
      looking ??= askOnce("GET", "/app/session", {}).then(changed).catch(() => {}).finally(() => { looking = undefined; });
      await looking;
    }
    if (csrf === said || !csrf) throw error;
    return act();
  }
}

/**
 * What an answer says: `undefined` where it is no JSON, `null` where it should be and cannot be read.
 * @param {string} text @param {string | null} type
 */
function parsed(text, type) {
  if (!text || !type?.includes("json")) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * A refusal by what was answered. Where the session is over, everybody learns of it.
 * @param {number} status @param {string} words @param {any} answer @param {string | null} id @param {number} [wait]
 */
function refusal(status, words, answer, id, wait) {
  if (answer?.error?.code === "not_signed_in" && csrf) {
    csrf = "";
    over();
  }
  const { code = "unreadable", message = words, request_id } = answer?.error ?? {};
  return new Refused(status, code, message, request_id ?? id ?? undefined, wait);
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
 * Sends a file and tells how far that is; a call that is made by `fetch` cannot. A refusal of the file itself has a word for
 * what is wrong with it in `fault`, and where in `number`.
 * @param {string} path
 * @param {Record<string, unknown>} query
 * @param {Blob} body
 * @param {(part: number) => void} progress told the part that was sent, up to 1
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export const upload = (path, query, body, progress, signal) => withToken(() => uploadOnce(path, query, body, progress, signal));

/** @type {typeof upload} */
function uploadOnce(path, query, body, progress, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", address(path, query));
    request.setRequestHeader("accept", "application/json");
    request.setRequestHeader("x-csrf-token", csrf);
    request.upload.addEventListener("progress", ({ loaded, total }) => progress(total > 0 ? loaded / total : 0));
    request.addEventListener("load", () => {
      const answer = parsed(request.responseText, request.getResponseHeader("content-type"));
      if (request.status < 300 && answer) return resolve(answer);
      const refused = refusal(request.status, request.statusText, answer, request.getResponseHeader("x-request-id"));
      const [fault, number] = ["x-upload-fault", "x-upload-fault-number"].map((name) => request.getResponseHeader(name) ?? undefined);
      reject(Object.assign(refused, { fault, number: Number(number) }));
    });
    request.addEventListener("error", () => reject(new Refused(0, "unreachable", "", undefined)));
    request.addEventListener("abort", () => reject(signal.reason));
    signal.addEventListener("abort", () => request.abort());
    request.send(body);
  });
}

/**
 * Asks whether a file would come, for the browser is sent for it by its address and tells no page what it was answered.
 * @param {string} path
 * @param {Record<string, unknown>} query
 */
export async function offered(path, query) {
  const { ok } = await send("HEAD", path, { query });
  // Only what answers with words can say why not.
  if (!ok) await ask("GET", path, { query });
}

/**
 * The address of a call, also for links to downloads and for streams. It says the mode of the page. A space is `%20`: a plus is a plus to the API, as in addresses.
 * @param {string} path
 * @param {Record<string, unknown>} [query]
 */
export function address(path, query = {}) {
  const given = Object.entries({ ...query, mode: modeOf(path) }).filter(([, value]) => value !== undefined && value !== null && value !== "");
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
