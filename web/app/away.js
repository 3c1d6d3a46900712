/**
 * Connection to the server.
 *
 * After a request without a response, the page itself is requested. If that fails too, the server is away: a line at the top says
 * so, writes are refused, and the page is requested at growing intervals. After the server's return, failed parts are fetched again.
 */
import { signal } from "../vendor/lib.js";

/** Intervals between attempts. */
const WAITS_MS = [1_000, 2_000, 4_000, 8_000, 15_000];
/** Longest wait for a response. */
const ANSWER_MS = 5_000;

/**
 * State while the server can't be reached: times of the last response and of the next attempt, `undefined` during an attempt.
 * @typedef {{ since: number, next: number | undefined }} Away
 */
export const away = signal(/** @type {Away | undefined} */ (undefined));
/** Number of the server's returns. */
export const returns = signal(0);

let heardAt = Date.now();
let failures = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
/** @type {Promise<string | undefined> | undefined} */
let asking;

/** Notes a response of the server. */
export function heard() {
  if (away.value) check();
  else heardAt = Date.now();
}

/** Requests the page. Resolves to the build that the server has, `undefined` if it can't be reached. */
export function check() {
  asking ??= ask().finally(() => { asking = undefined; });
  return asking;
}

async function ask() {
  clearTimeout(timer);
  if (away.value) away.value = { ...away.value, next: undefined };
  const build = await buildThere().catch(() => undefined);
  if (build === undefined) {
    const wait = WAITS_MS[Math.min(failures, WAITS_MS.length - 1)];
    failures += 1;
    away.value = { since: away.value?.since ?? heardAt, next: Date.now() + wait };
    timer = setTimeout(check, wait);
  } else if (away.value) {
    failures = 0;
    away.value = undefined;
    heardAt = Date.now();
    returns.value += 1;
  }
  return build;
}

/** Build of the page that the server has now; a proxy's own page has none. */
async function buildThere() {
  const page = await fetch(location.pathname, { cache: "no-cache", signal: AbortSignal.timeout(ANSWER_MS) });
  return page.ok ? /data-build="(\w+)"/.exec(await page.text())?.[1] : undefined;
}

/**
 * Reason why a module of this page did not load: `unreachable` if the server is away, `newer` if it has another build, which lacks
 * the module, otherwise `part`.
 */
export async function lackOfModule() {
  const build = await check();
  return build === undefined ? "unreachable" : build === document.documentElement.dataset.build ? "part" : "newer";
}

addEventListener("offline", check);
addEventListener("online", () => away.value && check());
