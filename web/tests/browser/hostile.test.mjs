/** 60 hostile texts in every field, name, list and address: displayed as typed, and never executed. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { HOSTILE } from "./hostile.mjs";
import { asOwner, browser, platform, reader, server } from "./owner.mjs";
import { newReader, settled } from "./reader.mjs";

let stranger;
const made = {};

asOwner(async () => {
  assert.equal(new Set(HOSTILE).size, 60);
  stranger = await newReader(browser, server);
  const { invitation_url: url } = await server.api("POST", "/users", { email: "grace@example.com", role: "contributor" });
  made.link = new URL(url, server.origin).hash.slice(2);
  made.job = (await server.api("POST", "/batch-verify", { emails: ["valid@sandbox.test"] })).id;
  made.webhook = (await server.api("POST", "/webhooks", { name: "News", url: "https://hooks.example.com/", events: ["job.finished"] })).id;
  made.connection = (await server.api("POST", "/integrations/ghost/connections", { credentials: platform.credentials, name: "Letters" })).id;
  await server.finished(made.job);
}, { platform: ["ghost", "--contacts", "10"] });
afterEach(async () => {
  for (const { page, nothingWrong } of [reader, stranger]) {
    nothingWrong();
    assert.equal(await page.evaluate(foreign), 0, "something was made of a text");
  }
});

/** Number of elements that no screen renders. */
function foreign() {
  const ours = (element) => element.closest(".brand, .meter, .length, svg.icon, svg.glyph, svg.strip, svg.donut, svg.curve, svg.done-ring, svg.spark, svg.bars") || (element.localName === "script" && element.src);
  const found = document.querySelectorAll("script, iframe, object, embed, img, svg, math, base, template, body style, [onerror], [onload], [onfocus]");
  return [...found].filter((element) => !ours(element)).length;
}

const press = (name) => (page) => page.getByRole("button", { name, exact: true }).first().click();

const FORMS = [
  ["sign-in", () => "", undefined, () => stranger],
  ["invitation", () => made.link, undefined, () => stranger],
  ["verify", () => "verify"],
  ["a new list", () => "lists/new"],
  ["a search in a list", () => `lists/${made.job}`],
  ["a search in all lists", () => "lists/find"],
  ["a search for a platform", () => "connections"],
  ["a new connection", () => "connections/ghost/new"],
  ["new rules of a connection", () => `connections/ghost/${made.connection}?tab=rules`, press("Add rules: Always keep")],
  ["settings of a connection", () => `connections/ghost/${made.connection}?tab=settings`, async (page) => {
    await page.getByRole("radio", { name: "Tag" }).check();
    await press("Rename")(page);
  }],
  ["a new key", () => "keys", async (page) => {
    await press("New key")(page);
    await page.getByRole("radio", { name: "Widget on websites" }).check();
  }],
  ["the widget", () => "widget", press("New public key")],
  ["an invitation to others", () => "team", press("Invite a team member")],
  ["a new webhook", () => "webhooks", press("New webhook")],
  ["a change of a webhook", () => `webhooks/${made.webhook}`, press("Change")],
  ["a change of a person", () => "team", (page) => page.getByRole("button", { name: /^Change/ }).first().click()],
  ["an erasure", () => "privacy"],
  ...["general", "results", "suppressions"].map((tab) => /** @type {any} */ ([`settings: ${tab}`, () => `settings?tab=${tab}`])),
  ["account", () => "account"],
];

for (const [name, place, act, who = () => reader] of FORMS) {
  test(`every field of ${name} keeps what is typed`, async () => {
    const { page, go } = who();
    await go(place());
    await act?.(page);
    const fields = page.locator("input:not([type=checkbox], [type=radio], [type=file], [type=date], [type=number], [readonly]), textarea");
    await fields.first().waitFor();
    for (const field of await fields.all()) {
      const kept = await field.evaluate(typeEach, HOSTILE);
      assert.deepEqual(kept, HOSTILE);
    }
  });
}

/** Enters each text into a field; returns the field's values after rendering. */
async function typeEach(field, texts) {
  const kept = [];
  const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value");
  for (const text of texts) {
    set.call(field, text);
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
    kept.push(field.value);
  }
  set.call(field, "");
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  return kept;
}

test("an address is shown as it was typed, whatever it is", async () => {
  const { page, go } = reader;
  await go("verify");
  for (const text of HOSTILE) {
    await page.getByLabel("Address").fill(text);
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    await page.waitForFunction((wanted) => document.querySelector("main .verdict-card .mail")?.textContent === wanted, text);
  }
});

test("a list shows its rows as they were pasted, but for blanks and invisible characters at their edges", async () => {
  const { page, go } = reader;
  const pasted = HOSTILE.filter((text) => !/[,;\t\n]/.test(text));
  // Comments and placeholders for null values are not rows.
  const rows = pasted.filter((text) => !text.startsWith("#") && !["null", "undefined", "NaN"].includes(text));
  await go("lists/new");
  await page.getByLabel("Addresses").fill(pasted.join("\n"));
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByText("Completed", { exact: true }).waitFor();
  await settled(page);
  await page.getByText(`${pasted.length - rows.length} without an address`).waitFor();
  // Only visible rows are in the DOM, so the table is scrolled and its rows collected.
  const shown = await page.getByRole("grid", { name: "Results" }).evaluate(readThrough, rows.length);
  assert.deepEqual(shown, rows.map((row) => row.replace(/^[\p{Z}\p{Cf}]+|[\p{Z}\p{Cf}]+$/gu, "")));
});

/** Collects the addresses of a virtual table. */
async function readThrough(grid, count) {
  /** @type {string[]} */
  const found = [];
  const read = () => grid.querySelectorAll(".virtual-body [role=row]").forEach((row) => {
    const text = row.querySelector(".email").textContent;
    // A row that is not loaded shows an ellipsis.
    if (text !== "…") found[row.ariaRowIndex - 2] = text;
  });
  for (let tries = 0; tries < 1_000 && (found.length < count || found.includes(undefined)); tries += 1) {
    grid.scrollTop = (tries % 20) * (grid.clientHeight / 2);
    await new Promise((drawn) => setTimeout(drawn, 50));
    read();
  }
  return found;
}

test("a connection's name and rules are shown as they were given", async () => {
  const { page, go } = reader;
  const path = `/integrations/ghost/connections/${made.connection}`;
  const given = HOSTILE.filter((text) => text === text.trim() && text.length <= 200 && !/[\p{C}\p{Z}]/u.test(text.replaceAll(" ", "")));
  assert.ok(given.length > 20, `${given.length} texts`);
  await server.api("POST", `${path}/keywords/blacklist`, { rules: given.map((keyword) => ({ keyword })) });
  await go(`connections/ghost/${made.connection}?tab=rules`);
  const rules = page.getByRole("table", { name: "Always act" }).locator("strong");
  for (const more = page.getByRole("button", { name: "Show more" }); await more.count(); ) {
    const before = await rules.count();
    await more.click();
    await page.waitForFunction((count) => document.querySelectorAll("td strong").length > count, before);
  }
  const shown = await rules.allTextContents();
  assert.deepEqual(given.filter((text) => !shown.includes(text)), []);
  for (const name of given.slice(0, 10)) {
    await server.api("PATCH", path, { name });
    await go(`connections/ghost/${made.connection}`);
    await page.waitForFunction((wanted) => document.querySelector("main h1")?.textContent === wanted, name);
  }
});

test("names are shown as they were given; those that cannot be seen are refused", async () => {
  const { page, go } = reader;
  const [kept, refused] = [[], []];
  for (const name of HOSTILE) {
    try {
      await server.api("POST", "/api-keys", { name: name.slice(0, 100), kind: "live" });
      kept.push(name.slice(0, 100));
    } catch (error) {
      assert.match(String(error), /invalid_request/);
      refused.push(name);
    }
  }
  assert.deepEqual(refused.filter((name) => !/[\u200b-\u206f\u034f]/.test(name)), []);
  await go("keys");
  for (const more = page.getByRole("button", { name: "Show more" }); await more.count(); ) {
    const before = await page.locator("tbody tr").count();
    await more.click();
    await page.waitForFunction((count) => document.querySelectorAll("tbody tr").length > count, before);
  }
  const shown = await page.locator("td[data-title=Name] > div > div").allTextContents();
  assert.deepEqual(kept.filter((name) => !shown.includes(name)), []);
  // The top bar of every screen contains the user's name.
  await go("account");
  for (const name of kept.slice(0, 10)) {
    await page.getByLabel("Your name").fill(name);
    await page.getByRole("button", { name: "Save" }).first().click();
    await page.waitForFunction((wanted) => document.querySelector(".who .name")?.textContent?.trim() === wanted, name);
  }
});

test("a place in the address may be anything", async () => {
  const { page, go } = reader;
  await go("");
  const places = ["", "lists/", "webhooks/", "verify?email=", "link/"];
  for (const [index, text] of HOSTILE.entries()) {
    for (const coded of [text, encodeURIComponent(text)]) {
      await page.evaluate((hash) => { location.hash = hash; }, `/${places[index % places.length]}${coded}`);
      await settled(page);
    }
  }
});
