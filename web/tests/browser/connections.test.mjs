/** Connections: connect a platform, dry run, cleaning, review; contributors lack actions. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ran } from "./connections-screens.mjs";
import { asOwner, browser, platform, reader, server } from "./owner.mjs";
import { becomes, focused, heading, newReader, notByBiDi, put, settled } from "./reader.mjs";

asOwner(undefined, { platform: ["ghost", "--contacts", "120"] });

/** Creates a connection that acts on all bad contacts, through the API; returns its ID and location. */
async function connected(name) {
  const { id } = await server.api("POST", "/integrations/ghost/connections", { credentials: platform.credentials, name });
  await server.api("PATCH", `/integrations/ghost/connections/${id}`, { action: "update_tags", aggressiveness: "aggressive" });
  return { id, place: `connections/ghost/${id}` };
}

/** Number in a heading such as "Would unsubscribe 12 of 118 contacts". */
async function numberIn(page, pattern) {
  const text = await page.getByRole("heading", { name: pattern, level: 2 }).textContent();
  return Number(/\d+/.exec(text ?? "")?.[0]);
}

/** Asserts that another dry run skips contacts unsubscribed since, but reads those suspended after a bounce. */
async function foundAtPlatform() {
  const { connections: [{ id }] } = await server.api("GET", "/integrations/ghost");
  const path = `/integrations/ghost/connections/${id}/runs`;
  const { data: [before] } = await server.api("GET", path);
  const now = await ran(id);
  assert.ok(now.rows < before.rows, `${now.rows} of ${before.rows}`);
  assert.equal(now.contacts, before.contacts);
}

test("a platform is connected, looked at, and cleaned when its number is confirmed", async () => {
  const { page, go, nothingWrong } = reader;
  await go("connections");
  await page.getByLabel("Find a platform").fill("ghost");
  await page.getByRole("button", { name: "Connect Ghost" }).click();
  await page.getByLabel("API URL").fill(platform.credentials.url);
  await page.getByLabel("Admin API key").fill("12ab:34");
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  const wrong = page.locator("[aria-invalid=true]");
  await wrong.waitFor();
  assert.equal(await wrong.getAttribute("name"), "admin_api_key");
  await focused(wrong);
  await wrong.fill(platform.credentials.admin_api_key);
  await page.getByLabel("Name (optional)").fill("Morning Letter");
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await heading(page, "Morning Letter");

  await page.getByRole("radio", { name: "Unsubscribe" }).check();
  await page.getByRole("button", { name: "Verify now" }).click();
  const planned = await numberIn(page, /^Would unsubscribe/);
  assert.ok(planned > 2, `${planned} planned`);
  await page.getByText("Unsubscribing in Ghost cannot be undone from here.").waitFor();

  const kept = page.getByRole("button", { name: /^Keep / }).first();
  const email = (await kept.getAttribute("aria-label"))?.replace("Keep ", "") ?? "";
  await kept.click();
  await page.getByRole("button", { name: `Unsubscribe ${planned - 1}`, exact: true }).click();
  await becomes(() => numberIn(page, /^Unsubscribed/), planned - 1);
  await page.getByRole("row").filter({ hasText: email }).getByText("Kept").waitFor();
  await foundAtPlatform();
  await go("connections");
  await page.getByText("Waiting for you", { exact: true }).waitFor();
  nothingWrong();
});

test("planned actions are decided by keyboard, and a wrong one becomes a rule", async () => {
  const { page, go, nothingWrong } = reader;
  const { id, place } = await connected("Members");
  const { actions: { planned } } = await ran(id);
  await go(`${place}?tab=review`);
  await heading(page, `${planned} contacts to review`, 2);
  const rows = page.locator(".queue li");
  await rows.nth(2).waitFor();
  await page.getByText("Dry run. Nothing was changed.").waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download CSV" }).click()]);
  const [head, ...lines] = readFileSync(await download.path(), "utf8").trim().split("\r\n");
  assert.match(head, /^email,action,/);
  assert.equal(lines.length, planned);
  const [first, second, third] = await rows.locator("strong").allTextContents();
  await rows.first().getByRole("button").first().focus();
  for (const [key, email] of [["k", first], ["w", second], ["a", third]]) {
    await page.waitForFunction(() => document.activeElement?.closest(".queue li"));
    await page.keyboard.press(key);
    await rows.filter({ hasText: email }).waitFor({ state: "detached" });
  }
  await page.getByText("Kept, with a rule").waitFor();
  await page.getByRole("link", { name: /^Runs/ }).click();
  await page.getByRole("heading", { name: `Would tag ${planned - 3} of`, level: 2 }).waitFor();
  await page.getByRole("link", { name: "Keyword rules" }).click();
  await page.getByRole("table", { name: "Always keep" }).getByText(second ?? "").waitFor();
  nothingWrong();
});

test("contacts are selected by reason or all, and what was kept comes back until the reader leaves", async () => {
  const { page, go, nothingWrong } = reader;
  const { id, place } = await connected("Selected");
  const { id: run, actions: { planned } } = await ran(id);
  const left = async () => (await server.api("GET", `/integrations/ghost/connections/${id}/runs/${run}`)).actions.planned;
  await go(`${place}?tab=review`);
  await heading(page, `${planned} contacts to review`, 2);
  const one = page.getByRole("group", { name: "Select contacts" }).getByRole("button").first();
  const n = Number(/\d+$/.exec((await one.innerText()).trim())?.[0]);
  assert.ok(n > 0 && n < planned, `${n} of ${planned}`);
  const keep = async () => {
    await one.click();
    await page.getByText(`${n} selected`).waitFor();
    await page.getByRole("button", { name: `Keep ${n}`, exact: true }).click();
    await heading(page, `${planned - n} contacts to review`, 2);
  };
  await keep();
  await page.getByRole("button", { name: "Undo" }).click();
  await heading(page, `${planned} contacts to review`, 2);
  assert.equal(await left(), planned);
  await keep();
  await page.getByRole("link", { name: /^Runs/ }).click();
  await becomes(left, planned - n, "sent when the reader leaves");
  await go(`${place}?tab=review`);
  await page.getByRole("checkbox", { name: `Select all ${planned - n} shown` }).check();
  await page.getByRole("button", { name: `Tag ${planned - n}`, exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: `Tag ${planned - n}` }).click();
  await page.getByText("Nothing to decide").waitFor();
  await becomes(left, 0);
  nothingWrong();
});

test("the lists of the first run are chosen before it", { skip: notByBiDi("the bodies of requests") }, async () => {
  const { page, go, nothingWrong } = reader;
  const { id, place } = await connected("Some lists");
  const path = `/integrations/ghost/connections/${id}`;
  // Ghost has no lists.
  await page.route(/\/integrations\/ghost$/, async (route) => {
    const { platform: of, ...answer } = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, platform: { ...of, lists: true } } });
  });
  const data = [{ id: "1", name: "Customers", count: 1200 }, { id: "2", name: "Newsletter", count: 340 }];
  await page.route(new RegExp(`${path}/lists$`), (route) => route.fulfill({ json: { data, pagination: { has_more: false, next_cursor: null } } }));
  const sent = /** @type {unknown[]} */ ([]);
  await page.route(new RegExp(`${path}$`), async (route) => {
    if (route.request().method() !== "PATCH") return route.fallback();
    sent.push(route.request().postDataJSON());
    await route.fulfill({ json: await server.api("GET", path) });
  });
  await go(place);
  await page.getByLabel("Only contacts of some lists").check();
  await page.getByRole("checkbox", { name: /^Newsletter/ }).check();
  await page.getByRole("button", { name: "Verify now" }).click();
  await becomes(() => sent, [{ lists: ["2"] }]);
  await page.getByRole("heading", { name: /^Would tag/, level: 2 }).waitFor();
  await page.unroute(/\/integrations\/ghost$/);
  nothingWrong();
});

test("popular platforms come first and say what they let us do; those that cannot be connected come last and say so", async () => {
  const { page, go, nothingWrong } = reader;
  const { data } = await server.api("GET", "/integrations");
  const closed = data.filter(({ platform }) => !platform.contacts).map(({ platform }) => platform.name);
  await go("connections");
  const cards = page.locator(".cards > li");
  const names = (await cards.locator("h3").allInnerTexts()).map((name) => name.replace(/ Beta$/, ""));
  assert.deepEqual(names.slice(0, 3), ["Mailchimp", "Klaviyo", "HubSpot"]);
  assert.ok(closed.length > 0 && closed.every((name) => names.slice(-closed.length).includes(name)), `${closed} of ${names}`);
  await becomes(() => cards.filter({ hasText: "Can't be connected" }).count(), closed.length);
  await becomes(() => cards.filter({ hasText: "Can't be connected" }).getByRole("button").count(), 0);
  await becomes(() => cards.filter({ hasText: "Mailchimp" }).locator(".capabilities li").allInnerTexts(), /Unsubscribe/);
  nothingWrong();
});

test("settings are saved, and show their effect on the last run before", async () => {
  const { page, go, nothingWrong } = reader;
  const { id, place } = await connected("Digest");
  await ran(id);
  await go(`${place}?tab=settings`);
  await page.getByRole("region", { name: "On the last run" }).waitFor();
  // Firefox crashes when WebDriver BiDi finds everything in a region by role.
  const effect = page.locator("[aria-labelledby=effect] .value");
  const before = await effect.first().textContent();
  await page.getByRole("checkbox", { name: /^Disposable address/ }).uncheck();
  await becomes(() => page.getByRole("radio", { name: "My choice" }).isChecked(), true);
  await becomes(async () => (await effect.allTextContents()).map((value) => value === before), [true, false]);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved", { exact: true }).waitFor();
  await page.getByRole("radio", { name: "Tag" }).check();
  await page.getByLabel("Tag", { exact: true }).last().fill("{nothing}");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("alert").getByText(/^Tag: /).waitFor();
  const { settings } = await server.api("GET", `/integrations/ghost/connections/${id}`);
  assert.equal(settings.aggressiveness, "custom");
  assert.equal(settings.checks.disposable, false);
  assert.equal(settings.checks.nonexistent, true);
  nothingWrong();
});

test("a connection that runs by itself says when", async () => {
  const { page, go, nothingWrong } = reader;
  const { id, place } = await connected("Nightly");
  await go(`${place}?tab=settings`);
  await page.getByText("Night is in the time zone UTC.").waitFor();
  await page.getByRole("checkbox", { name: /^New contacts, every night/ }).check();
  await page.getByRole("checkbox", { name: /^All contacts again/ }).check();
  await put(page.getByLabel("Days until all are verified again"), "60");
  await page.getByRole("button", { name: "Save times" }).click();
  await page.getByText(/^Every night: /).waitFor();
  await page.getByText(/^All contacts again: /).waitFor();
  const { settings } = await server.api("GET", `/integrations/ghost/connections/${id}`);
  assert.deepEqual([settings.autofloss, settings.instafloss, settings.decay_protection, settings.decay_days], [true, false, true, 60]);
  await page.getByRole("checkbox", { name: /^New contacts, within minutes/ }).check();
  await page.getByRole("button", { name: "Save times" }).click();
  await page.getByText("this installation has no public URL for events").waitFor();
  nothingWrong();
});

test("several rules are added at once, and the word that is wrong is named", async () => {
  const { page, go, nothingWrong } = reader;
  const { place } = await connected("Rules");
  await go(`${place}?tab=rules`);
  await page.getByRole("button", { name: "Add rules: Always act" }).click();
  const dialog = page.getByRole("dialog");
  const words = dialog.getByLabel("Words, domains or addresses");
  await words.fill(`noreply\n${"x".repeat(300)}`);
  await dialog.getByRole("button", { name: "Add rules" }).click();
  await dialog.locator(".wrong", { hasText: "xxx" }).waitFor();
  await words.fill("noreply\ntest\n");
  await dialog.getByRole("button", { name: "Add rules" }).click();
  await page.getByText("2 rules added").waitFor();
  await page.getByLabel("Address").fill("NoReply@example.com");
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.getByText("because of noreply").waitFor();
  await page.getByRole("button", { name: "Delete the rule test" }).click();
  await page.getByText("The rule test is deleted").waitFor();
  await page.getByRole("button", { name: "Delete the rule test" }).waitFor({ state: "detached" });
  await becomes(() => page.getByRole("table", { name: "Always act" }).getByRole("row").count(), 2);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Undone").waitFor();
  await page.getByRole("button", { name: "Delete the rule test" }).waitFor();
  nothingWrong();
});

test("a connection is ended and connected again", async () => {
  const { page, go, nothingWrong } = reader;
  const { id, place } = await connected("Old letters");
  await go(`${place}?tab=settings`);
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await page.getByText("Ghost accepts the credentials.").waitFor();
  await page.getByRole("button", { name: "Disconnect" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
  await heading(page, "Connections");
  await go(`${place}?tab=settings`);
  await page.getByText("This connection is disconnected").waitFor();
  await page.getByRole("button", { name: "New credentials" }).click();
  await page.getByLabel("API URL").fill(platform.credentials.url);
  await page.getByLabel("Admin API key").fill(platform.credentials.admin_api_key);
  await page.getByRole("dialog").getByRole("button", { name: "Reconnect" }).click();
  await page.getByText("Ghost is connected again").waitFor();
  assert.equal((await server.api("GET", `/integrations/ghost/connections/${id}`)).status, "active");
  nothingWrong();
});

test("who may only look sees what is there, and nothing to press", async () => {
  const { id, place } = await connected("Looked at");
  await ran(id);
  const other = await newReader(browser, server, { storageState: await reader.context.storageState() });
  await other.page.route(/\/app\/session$/, async (route) => {
    const session = await (await route.fetch()).json();
    await route.fulfill({ json: { ...session, user: { ...session.user, role: "contributor" } } });
  });
  const buttons = async () => (await other.page.locator("main").getByRole("button").allTextContents()).filter((text) => !/^(Try|Show more)$/.test(text.trim()));
  for (const at of ["connections", place, `${place}?tab=review`, `${place}?tab=rules`, `${place}?tab=settings`]) {
    await other.go(at);
    await settled(other.page);
    assert.deepEqual(await buttons(), [], at);
  }
  other.nothingWrong();
  await other.context.close();
});
