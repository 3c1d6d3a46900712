/** Main flows: sign-in, address, list, key, two-factor authentication, language. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterEach, test } from "node:test";
import { asOwner, browser, reader, server } from "./owner.mjs";
import { OWNER, becomes, downloadAs, focused, heading, isFirefox, newReader, notByBiDi, settled, signOut } from "./reader.mjs";

asOwner();
afterEach(() => reader.nothingWrong());

test("the owner's link works once", async () => {
  const late = await newReader(browser, server);
  await late.page.goto(server.link);
  await late.page.getByText("This link was used, has expired, or was replaced.").waitFor();
  await late.page.getByRole("heading", { name: "Sign in" }).waitFor();
  await late.context.close();
});

test("an address gets its verdict with the evidence", async () => {
  const { page, go } = reader;
  await go("verify");
  await page.getByLabel("Address").fill("inbox_full@sandbox.test");
  await page.getByRole("button", { name: "Verify", exact: true }).click();
  await heading(page, "Undeliverable", 2);
  await page.locator(".verdict-card").getByText("inbox_full@sandbox.test").waitFor();
  await page.getByText("The mail server says that this mailbox is full.", { exact: false }).first().waitFor();
  await heading(page, "The conversation", 2);
  // In words, with the deciding reply.
  await page.getByText("Is there a mailbox for inbox_full@sandbox.test?").waitFor();
  await page.locator(".talk .decides").getByText("552 5.2.2").waitFor();
  await becomes(() => page.locator(".fall .decides").count(), 1);
  await page.getByRole("button", { name: "As it was" }).click();
  // Step by step: every reply, including the deciding one.
  const steps = page.getByRole("table", { name: "Step by step" }).getByRole("row");
  await steps.nth(1).waitFor();
  const asked = (await steps.allInnerTexts()).slice(1).map((row) => row.replaceAll(/\s+/g, " "));
  assert.match(asked[0], /Connection 220/);
  assert.match(asked[1], /Introduction \(EHLO\) 250/);
  assert.ok(asked.some((row) => /Recipient \(RCPT TO\) 552 5\.2\.2/.test(row)), asked.join("\n"));
  assert.ok(!asked.join().includes("inbox_full"), "no address is repeated");
  await becomes(() => page.url(), /email=inbox_full%40sandbox\.test/);
});

test("addresses that made trouble are put on a list and found on it", async () => {
  const { page, go } = reader;
  await go("settings?tab=suppressions");
  await heading(page, "Suppression lists", 2);
  const find = async (email) => {
    await page.getByLabel("Find an address on these lists").fill(email);
    await page.getByRole("button", { name: "Find", exact: true }).click();
  };
  const row = (of, name) => page.getByRole("table", { name: of }).getByRole("row").filter({ hasText: name });
  await find("ann@example.org");
  await page.getByText("ann@example.org is on no list").waitFor();
  await page.getByRole("button", { name: "Add addresses", exact: true }).click();
  await page.getByLabel("Addresses", { exact: true }).fill("ann@example.org\nAnn@EXAMPLE.org; nothing\n");
  await page.getByRole("dialog").getByRole("button", { name: "Add addresses" }).click();
  await page.getByText("1 added, 1 already listed, 1 invalid").waitFor();
  await becomes(() => row("Suppression lists", "Bounced before").locator(".number").innerText(), "1");
  await row("Lists with this address", "Bounced before").waitFor();
  await find("ANN@example.org");
  await row("Lists with this address", "ANN@example.org").getByRole("button", { name: "Remove addresses: Bounced before" }).click();
  await page.getByText("1 removed").waitFor();
  await page.getByText("ANN@example.org is on no list").waitFor();
});

test("a list goes from pasting to the downloaded results", async () => {
  const { page, go } = reader;
  const pasted = ["valid@sandbox.test", "nonexistent@sandbox.test", "Valid@sandbox.test", "=cmd()@sandbox.test", "info@sandbox.test"];
  await go("lists/new");
  await page.getByLabel("Addresses").fill(pasted.join("\n"));
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("heading", { name: "Forecast" }).waitFor();
  await page.getByRole("button", { name: "Start" }).click();
  await heading(page, "Pasted list");
  await page.getByText("Completed", { exact: true }).waitFor();
  await page.getByText("5 of 5 verified", { exact: true }).waitFor();
  for (const email of pasted) await page.getByRole("gridcell", { name: email, exact: true }).waitFor();
  await page.getByRole("gridcell", { name: "Role mailbox" }).first().waitFor();
  const link = await downloadAs(page, "CSV");
  const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
  const rows = readFileSync(await download.path(), "utf8").trim().split(/\r?\n/);
  assert.equal(rows.length, pasted.length + 1);
  assert.match(rows[1], /valid@sandbox\.test/);
  // No cell starts like a formula.
  assert.ok(rows.every((row) => !/(^|,)"?[=+@]/.test(row)), rows.join("\n"));
});

test("a key is made, shown once, works, and is revoked", async () => {
  const { page, go } = reader;
  await go("keys");
  await page.getByRole("button", { name: "New key" }).first().click();
  await page.getByRole("dialog").getByLabel("Name").fill("Sign-up form");
  await page.getByRole("radio", { name: "Everything" }).check();
  await page.getByRole("button", { name: "Create key" }).click();
  const key = await page.getByLabel("Your new key", { exact: true }).last().innerText();
  assert.match(key, /^probity_live_\w+$/);
  await page.getByRole("button", { name: "Close" }).click();
  const asks = () => fetch(`${server.origin}/v1/organization`, { headers: { authorization: `Bearer ${key}` } });
  assert.equal((await asks()).status, 200);
  await page.getByRole("button", { name: "Revoke Sign-up form" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByLabel("Show 1 ended key").check();
  await page.getByText(/^Revoked \d/).waitFor();
  assert.equal(await page.getByText(key).count(), 0);
  // Nodes reload keys within a second.
  let status = 200;
  for (const end = Date.now() + 60_000; status === 200 && Date.now() < end;) ({ status } = await asks());
  assert.equal(status, 401);
});

test("signing out and in, with nothing but the keyboard", async () => {
  const { page, go } = reader;
  const { keyboard } = page;
  const reached = () => page.evaluate(() => document.activeElement?.textContent?.trim());
  await go("usage");
  // From the top: the first tab stop skips the top bar.
  await page.locator("a, button, input").nth(1).focus();
  await keyboard.press("Shift+Tab");
  await becomes(reached, "Skip to content");
  await keyboard.press("Enter");
  await becomes(() => page.evaluate(() => document.activeElement?.id), "page");
  // The last tab stop of the top bar precedes the page.
  await keyboard.press("Shift+Tab");
  await becomes(() => page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "Switch to dark colors");
  const menu = page.getByRole("button", { name: OWNER.name });
  await menu.focus();
  await keyboard.press("Enter");
  await keyboard.press("Escape");
  await becomes(() => menu.evaluate((button) => document.activeElement === button && button.getAttribute("aria-expanded")), "false");
  await keyboard.press("Enter");
  for (const stop of ["Your account", "English", "Same as system", "Sign out"]) {
    await keyboard.press("Tab");
    await becomes(() => page.evaluate(() => {
      const at = document.activeElement;
      return at instanceof HTMLSelectElement ? at.selectedOptions[0].text : at?.textContent?.trim();
    }), stop);
  }
  await keyboard.press("Enter");
  await heading(page, "Sign in");
  await page.getByLabel("Email address").focus();
  await keyboard.type(OWNER.email);
  await keyboard.press("Tab");
  await keyboard.type(OWNER.password);
  await keyboard.press("Enter");
  await heading(page, "Usage");
  await settled(page);
});

test("the menu of a narrow window opens, leads on and closes by keyboard", async () => {
  const { page, go } = reader;
  await page.setViewportSize({ width: 360, height: 700 });
  await go("usage");
  const menu = page.getByRole("button", { name: "Menu" });
  await menu.focus();
  await page.keyboard.press("Enter");
  await becomes(() => menu.getAttribute("aria-expanded"), "true");
  const link = page.getByRole("link", { name: "Team" });
  await link.focus();
  await page.keyboard.press("Enter");
  await heading(page, "Team");
  await becomes(() => menu.getAttribute("aria-expanded"), "false");
  await becomes(() => link.isVisible(), false);
  await page.setViewportSize({ width: 1440, height: 900 });
});

test("a dialog keeps the focus, and gives it back on Escape", async () => {
  const { page, go } = reader;
  await go("keys");
  const open = page.getByRole("button", { name: "New key" }).first();
  await open.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await page.waitForFunction(() => document.activeElement?.closest("dialog") !== null);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await focused(open);
});

test("the colors are chosen, kept, and those of the system again", { skip: notByBiDi("other colors of the system") }, async () => {
  const { page, go } = reader;
  await page.emulateMedia({ colorScheme: "light" });
  await go("account");
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await ground();
  await page.getByRole("button", { name: "Switch to dark colors" }).click();
  await page.getByRole("button", { name: "Switch to light colors" }).waitFor();
  await becomes(async () => (await ground()) === light, false);
  const dark = await ground();
  await page.reload();
  await settled(page);
  await becomes(ground, dark);
  await page.getByLabel("Colors", { exact: true }).selectOption("");
  await becomes(ground, light);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.getByRole("button", { name: "Switch to light colors" }).waitFor();
  await becomes(ground, dark);
  await page.emulateMedia({ colorScheme: "light" });
});

test("the language is chosen, kept, and written into the page", async () => {
  const { page, go } = reader;
  await go("account");
  const titles = { de: "Ihr Konto", fr: "Votre compte", es: "Su cuenta", en: "Your account" };
  for (const [tag, title] of Object.entries(titles)) {
    await page.locator("select").first().selectOption(tag);
    await heading(page, title);
    // Emails use it too.
    await becomes(() => recorded(page), tag);
    await page.reload();
    await heading(page, title);
    await becomes(() => page.locator("html").getAttribute("lang"), tag);
  }
});

/** Language of the user as stored by the server. */
const recorded = (page) => page.evaluate(async () => (await (await fetch("/app/session")).json()).user.language);

test("of languages that are chosen quickly the last is spoken and recorded, and a browser without a choice takes it over", async () => {
  const { page, go } = reader;
  await go("account");
  const select = page.locator("select").first();
  /** @type {string[]} */
  const told = [];
  await page.route("**/app/account", async (route) => {
    if (route.request().method() === "PATCH") told.push(route.request().postDataJSON()?.language);
    await route.continue();
  });
  await select.evaluate((element) => {
    for (const tag of ["fr", "es", "de"]) {
      element.value = tag;
      element.dispatchEvent(new Event("input", { bubbles: true }));
      element.dispatchEvent(new Event("change", { bubbles: true }));
    }
  });
  await heading(page, "Ihr Konto");
  // In Firefox, WebDriver BiDi does not expose request bodies.
  if (!isFirefox) await becomes(() => told.at(-1), "de");
  await becomes(() => recorded(page), "de");
  await page.unroute("**/app/account");

  await page.evaluate(() => localStorage.removeItem("probity.language"));
  await page.reload();
  await heading(page, "Ihr Konto");
  await becomes(() => select.inputValue(), "de");

  // The email language cannot be set: the page reports it and still switches.
  await page.route("**/app/account", (route) => (route.request().method() === "PATCH" ? route.abort() : route.continue()));
  await select.selectOption("en");
  await heading(page, "Your account");
  await page.locator(".toast-bad").waitFor();
  assert.equal(await recorded(page), "de");
  await page.unroute("**/app/account");
  await page.locator(".toast-bad").getByRole("button").click();
  await select.selectOption("fr");
  await heading(page, "Votre compte");
  await select.selectOption("en");
  await heading(page, "Your account");
  await becomes(() => recorded(page), "en");
});

test("a language that no page has is not taken for another, until one is chosen", async () => {
  const { invitation_url: url } = await server.api("POST", "/users", { email: "ewa@example.com", name: "Ewa Nowak", role: "contributor" });
  const { page, context, go } = await newReader(browser, server, { locale: "pl-PL" });
  await page.goto(new URL(url, server.origin).href);
  await page.getByLabel("Password", { exact: true }).fill("nanoseconds are that long");
  await page.getByRole("button", { name: "Save and sign in" }).click();
  await page.getByRole("button", { name: "Ewa Nowak" }).waitFor();
  await go("account");
  assert.equal(await recorded(page), null);
  await page.locator("select").first().selectOption("es");
  await heading(page, "Su cuenta");
  await becomes(() => recorded(page), "es");
  await context.close();
});

test("a second factor is switched on, asked for, and switched off", async () => {
  const { page, go } = reader;
  await go("account");
  const begin = page.locator("form").filter({ has: page.getByRole("button", { name: "Set up" }) });
  await begin.getByLabel("Current password").fill(OWNER.password);
  await begin.getByRole("button", { name: "Set up" }).click();
  await at(page, "Scan this code");
  const secret = await page.getByLabel("Secret", { exact: true }).innerText();
  await page.getByLabel("Two-factor code").fill(code(secret, 0));
  await page.getByRole("button", { name: "Switch on" }).click();
  await page.getByText("Save these recovery codes", { exact: false }).first().waitFor();
  await at(page, "Save these recovery codes");
  const recovery = (await page.locator(".secret code").innerText()).split(/\s+/);
  assert.equal(recovery.length, 10);
  await signOut(page);
  await heading(page, "Sign in");
  await page.getByLabel("Email address").fill(OWNER.email);
  await page.getByLabel("Password").fill(OWNER.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  const asked = page.getByLabel("Two-factor code");
  await asked.waitFor();
  await focused(asked);
  await page.keyboard.type(recovery[0]);
  await page.keyboard.press("Enter");
  await heading(page, "Your account");
  await settled(page);
  await page.getByText("9 recovery codes left").waitFor();
  await page.getByLabel("Two-factor code").fill(recovery[1]);
  await page.getByRole("button", { name: "Switch off" }).click();
  await page.getByRole("button", { name: "Set up" }).waitFor();
  await page.waitForFunction(() => document.activeElement?.getAttribute("autocomplete") === "current-password");
});

test("a session that is ended elsewhere ends here", async () => {
  const { page, go } = reader;
  const other = await newReader(browser, server);
  await other.page.goto(server.origin);
  await other.page.getByLabel("Email address").fill(OWNER.email);
  await other.page.getByLabel("Password").fill(OWNER.password);
  await other.page.getByRole("button", { name: "Sign in" }).click();
  await heading(other.page, "Overview");
  await go("account");
  await page.getByRole("row").filter({ hasNotText: "this one" }).getByRole("button", { name: "Sign out" }).first().click();
  await page.getByText("this one").waitFor();
  await other.page.getByRole("link", { name: "Team" }).click();
  await heading(other.page, "Sign in");
  await other.context.close();
});

/** Waits until the focus moves to new content. */
const at = (page, text) => page.waitForFunction((wanted) => document.activeElement !== document.body && document.activeElement?.textContent?.startsWith(wanted), text);

test("what is copied in a dialog is told there, and a new key takes the reader to what to do with it", { skip: notByBiDi("the clipboard") }, async () => {
  const { page, go } = reader;
  await reader.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await go("keys");
  await page.getByRole("button", { name: "New key" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Copied");
  await dialog.getByRole("button", { name: "Create key" }).click();
  await at(page, "Copy the key now");
  await dialog.getByRole("button", { name: "Copy", exact: true }).click();
  await dialog.getByRole("status").getByText("Copied", { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("status").getByText("Copied", { exact: true }).waitFor();
});

test("an address that was meant is taken over, and the reader is at it", async () => {
  const { page, go } = reader;
  await go("verify?email=ada@gmial.com");
  await page.getByRole("button", { name: "Verify", exact: true }).click();
  await page.getByRole("button", { name: "ada@gmail.com" }).click();
  await page.waitForFunction(() => /** @type {HTMLInputElement} */ (document.activeElement)?.value === "ada@gmail.com");
  await focused(page.getByLabel("Address", { exact: true }));
});

/** TOTP code (RFC 6238). */
function code(base32, steps) {
  const bits = [...base32.replace(/\s|=/g, "")].map((sign) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(sign).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const hash = createHmac("sha1", key).update(counter).digest();
  const number = hash.readUInt32BE(hash[19] & 15) & 0x7fff_ffff;
  return String(number % 1_000_000).padStart(6, "0");
}
