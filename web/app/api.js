/**
 * API client, authenticated by the session cookie.
 *
 * `/app/v1` serves the same handlers as `/v1`, so the dashboard sees what any client sees. Browser-only features (sign-in,
 * sessions, uploads) are under `/app`. An error response becomes a {@link Refused} with the code and request ID for display.
 */

import { away, check, heard } from "./away.js";
import { modeOf } from "./mode.js";

/** Error response of the server, or a failed request. */
export class Refused extends Error {
  /**
   * @param {number} status 0 if no response arrived
   * @param {string} code
   * @param {string} message
   * @param {string | undefined} requestId
   * @param {number} [wait] seconds until a retry, from `Retry-After`
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

/** Status codes of a proxy whose server is away. */
const GATEWAY = [502, 503, 504];

/** Error without a response. */
export const unreachable = () => new Refused(0, "unreachable", "", undefined);

/** True for an error that the server's return may fix. @param {unknown} failure */
export const isUnreachable = (failure) => failure instanceof Refused && failure.code === "unreachable";

/** CSRF token, sent with every request because some reads cost credits. Set after sign-in. */
let csrf = "";
/** Callback for the end of the session. */
let over = () => {};
/** Callback for a session that another page of this browser changed. */
let changed = (/** @type {any} */ _session) => /** @type {unknown} */ (undefined);

/** @param {string} token @param {() => void} whenOver @param {(session: any) => unknown} whenChanged */
export function authorize(token, whenOver, whenChanged) {
  csrf = token;
  over = whenOver;
  changed = whenChanged;
}

/**
 * @typedef {object} Call
 * @property {Record<string, unknown>} [query] parameters; undefined and empty ones are omitted
 * @property {unknown} [body] sent as JSON; a `Blob` or `FormData` is sent unchanged
 * @property {AbortSignal} [signal]
 * @property {Record<string, string>} [headers] in addition to the default headers
 * @property {boolean} [once] adds an idempotency key
 */

/**
 * Sends a request. The path is absolute (`/app/session`) or relative to the API (`/jobs`).
 * @param {string} method
 * @param {string} path
 * @param {Call} [call]
 * @returns {Promise<any>} JSON of the response; `undefined` without a body
 */
export const ask = (method, path, call = {}) => withToken(() => askOnce(method, path, call));

/** @param {string} method @param {string} path @param {Call} call */
async function askOnce(method, path, call) {
  const response = await send(method, path, call);
  const answer = parsed(await response.text(), response.headers.get("content-type"));
  if (response.ok && answer !== null) return answer;
  if (answer === undefined && GATEWAY.includes(response.status)) {
    check();
    throw unreachable();
  }
  const wait = Number(response.headers.get("retry-after")) || undefined;
  throw refusal(response.status, response.statusText, answer, response.headers.get("x-request-id"), wait);
}

/** @type {Promise<unknown> | undefined} */
let looking;

/**
 * Runs a call that needs the CSRF token. Another page of this browser may have replaced the token by a password change or a new
 * sign-in. If the token is rejected, the current one is fetched and the call retried once; the first attempt had no effect.
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
 * Parsed body: `undefined` if it is not JSON, `null` if the JSON is invalid.
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
 * Builds the error of a response. If the session is over, its callback runs.
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

/** Random 128-bit identifier. The browser's own randomUUID requires a secure context. */
const drawn = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param {string} method @param {string} path @param {Call} call */
async function send(method, path, { query, body, signal, once, headers: own }) {
  const headers = new Headers({ accept: "application/json", ...own });
  if (csrf) headers.set("x-csrf-token", csrf);
  if (once) headers.set("idempotency-key", drawn());
  const raw = body instanceof Blob || body instanceof FormData;
  if (body !== undefined && !raw) headers.set("content-type", "application/json");
  const sent = body === undefined || raw ? body : JSON.stringify(body);
  // Not repeated later: the reason for the change may be gone by then.
  if (away.value && !["GET", "HEAD"].includes(method)) throw unreachable();
  try {
    const response = await fetch(address(path, query), { method, headers, body: sent, signal, credentials: "same-origin" });
    if (!GATEWAY.includes(response.status)) heard();
    return response;
  } catch (error) {
    if (signal?.aborted) throw error;
    check();
    throw unreachable();
  }
}

/**
 * Uploads a file with progress, which `fetch` does not report. If the file itself is rejected, `fault` names the problem and
 * `number` its position.
 * @param {string} path
 * @param {Record<string, unknown>} query
 * @param {Blob} body
 * @param {(part: number) => void} progress receives the fraction sent, up to 1
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
    request.addEventListener("error", () => {
      check();
      reject(unreachable());
    });
    request.addEventListener("abort", () => reject(signal.reason));
    signal.addEventListener("abort", () => request.abort());
    request.send(body);
  });
}

/**
 * Checks that a file can be downloaded. The browser fetches it by link and reports no response to the page.
 * @param {string} path
 * @param {Record<string, unknown>} query
 */
export async function offered(path, query) {
  const { ok } = await send("HEAD", path, { query });
  // Only GET responses have a body that explains the error.
  if (!ok) await ask("GET", path, { query });
}

/**
 * URL of a call, also for downloads and streams, including the mode. Spaces are `%20`: the API takes a plus sign literally.
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
