/** Connection screens with sample content. */
import { setTimeout as pause } from "node:timers/promises";
import { platform, server } from "./owner.mjs";
import { sample, settled } from "./reader.mjs";

const LOOK_MS = 200;
const made = { waiting: "", fresh: "", done: "", gone: "" };

/** Starts a dry run and waits until it reaches a state. @param {string} id connection ID */
export async function ran(id, state = "needs_confirmation") {
  const path = `/integrations/ghost/connections/${id}/runs`;
  const { id: run } = await server.api("POST", path, { dry_run: true });
  return reached(`${path}/${run}`, state);
}

async function reached(path, state) {
  for (;;) {
    const run = await server.api("GET", path);
    if (run.state === state) return run;
    if (run.state === "failed") throw new Error(run.fault);
    await pause(LOOK_MS);
  }
}

/** Four connections: awaiting confirmation, never run, completed, deleted. */
export async function connect() {
  const create = (name) => server.api("POST", "/integrations/ghost/connections", { credentials: platform.credentials, name });
  for (const [name, place] of /** @type {const} */ ([["Old letters", "gone"], ["Members", "fresh"], ["Weekly digest", "done"], ["Morning Letter", "waiting"]])) {
    made[place] = (await create(name)).id;
  }
  const at = (id) => `/integrations/ghost/connections/${id}`;
  await server.api("DELETE", at(made.gone));
  for (const [id, action] of [[made.done, "update_tags"], [made.waiting, "unsubscribe"]]) await server.api("PATCH", at(id), { action, aggressiveness: "aggressive" });
  const { id: run, actions } = await ran(made.done);
  await server.api("POST", `${at(made.done)}/runs/${run}/confirm`, { actions: actions.planned });
  await reached(`${at(made.done)}/runs/${run}`, "finished");
  await ran(made.waiting);
  const rule = (keyword, match, part) => ({ keyword, match, ...(part && { applies_to: { [part]: true } }) });
  await server.api("POST", `${at(made.waiting)}/keywords/whitelist`, { rules: [rule("morning-letter.example", "exact", "domain"), rule("vip", "contains")] });
  await server.api("POST", `${at(made.waiting)}/keywords/blacklist`, { rules: [rule("noreply", "exact", "localpart")] });
}

const press = (name) => async (page) => {
  await page.getByRole("button", { name, exact: true }).first().click();
  await page.getByRole("dialog").waitFor();
};
/** Page with the newest run in a played state, such as active or failed. @param {Record<string, unknown>} run */
const shownWith = (run) => async (page) => {
  await page.route(/\/runs\?/, async (route) => {
    const { data: [first, ...rest], ...page } = await (await route.fetch()).json();
    await route.fulfill({ json: { ...page, data: [{ ...first, ...run }, ...rest] } });
  }, { times: 1 });
  await page.reload();
  await settled(page);
};
/** Page of a platform with selectable lists; Ghost has none. @param {import("playwright-core").Page} page */
async function withLists(page) {
  await page.route(/\/integrations\/ghost$/, async (route) => {
    const { platform, ...answer } = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, platform: { ...platform, lists: true } } });
  }, { times: 1 });
  const data = [{ id: "1", name: sample.list, count: 1200 }, { id: "2", name: "Newsletter", count: 340 }];
  await page.route(/\/connections\/conn_\w+\/lists$/, (route) => route.fulfill({ json: { data, pagination: { has_more: false, next_cursor: null } } }), { times: 1 });
  await page.reload();
  await settled(page);
}
const nobody = (one) => ({ ...one, connected: false, connection_count: 0, disconnected_count: 0, primary: null });

/**
 * Screens as in `screens.mjs`: picture name, location, steps.
 * @type {[string, () => string, ((page: import("playwright-core").Page) => Promise<unknown>)?][]}
 */
export const CONNECTIONS = [
  ["connections", () => "connections"],
  ["connections-none", () => "", async (page) => {
    await page.route(/\/app\/v1\/integrations$/, async (route) => {
      const answer = await (await route.fetch()).json();
      await route.fulfill({ json: { ...answer, data: answer.data.map(nobody) } });
    }, { times: 1 });
    await page.goto(`${server.origin}/#/connections`);
    await page.getByRole("heading", { name: "Mailman" }).waitFor();
  }],
  ["connections-sought", () => "connections", (page) => page.getByLabel("Find a platform").fill("self-hosted")],
  ["connect", () => "connections/mautic/new"],
  ["connect-refused", () => "connections/ghost/new", async (page) => {
    await page.getByLabel("API URL").fill(platform.credentials.url);
    await page.getByLabel("Admin API key").fill("not a key");
    await page.getByRole("button", { name: "Connect", exact: true }).click();
    await page.locator("[aria-invalid=true]").waitFor();
  }],
  ["connection-new", () => `connections/ghost/${made.fresh}`],
  ["connection-waits", () => `connections/ghost/${made.waiting}`, (page) => page.getByRole("heading", { name: /^Would unsubscribe/ }).waitFor()],
  ["connection-reads", () => `connections/ghost/${made.waiting}`, shownWith({ state: "reading", contacts: 12_400, dry_run: true })],
  ["connection-verifies", () => `connections/ghost/${made.waiting}`, shownWith({ state: "verifying" })],
  ["connection-acts", () => `connections/ghost/${made.waiting}`, shownWith({ state: "acting", actions: { planned: 0, due: 30, done: 40, failed: 4, ignored: 0 } })],
  ["connection-failed", () => `connections/ghost/${made.waiting}`, shownWith({ state: "failed", fault: "the platform refuses the credentials", actions: { planned: 0, due: 0, done: 0, failed: 0, ignored: 74 } })],
  ["connection-refused", () => "", async (page) => {
    await page.route(/\/connections\/conn_\w+$/, async (route) => {
      const answer = await (await route.fetch()).json();
      await route.fulfill({ json: { ...answer, status: "disconnected", disconnected_at: answer.created_at, disconnected_reason: "credential" } });
    }, { times: 1 });
    await page.goto(`${server.origin}/#/connections/ghost/${made.fresh}`);
    await page.getByText("Ghost refuses the credentials").waitFor();
  }],
  ["connection-done", () => `connections/ghost/${made.done}`, (page) => page.getByRole("heading", { name: /^Tagged/ }).waitFor()],
  ["connection-gone", () => `connections/ghost/${made.gone}`],
  ["connection-review", () => `connections/ghost/${made.waiting}?tab=review`],
  ["connection-nothing-to-decide", () => `connections/ghost/${made.fresh}?tab=review`],
  ["connection-rules", () => `connections/ghost/${made.waiting}?tab=rules`, async (page) => {
    await page.getByLabel("Address").fill("vip.guest@morning-letter.example");
    await page.getByRole("button", { name: "Try", exact: true }).click();
    await page.getByText("because of").waitFor();
  }],
  ["connection-rules-new", () => `connections/ghost/${made.fresh}?tab=rules`, press("Add rules: Always keep")],
  ["connection-settings", () => `connections/ghost/${made.waiting}?tab=settings`],
  ["connection-lists", () => `connections/ghost/${made.done}?tab=settings`, async (page) => {
    await withLists(page);
    await page.getByLabel("Only contacts of some lists").check();
    await page.getByRole("group", { name: "Which lists" }).waitFor();
  }],
  ["connection-reconnect", () => `connections/ghost/${made.fresh}?tab=settings`, press("New credentials")],
  ["connection-delete", () => `connections/ghost/${made.fresh}?tab=settings`, press("Disconnect")],
];
