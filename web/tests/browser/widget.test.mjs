/** Widget on pages of another origin: display, interaction, and setup by a customer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { obstacles } from "./axe.mjs";
import { HOSTILE } from "./hostile.mjs";
import { becomeOwner, becomes, focused, newReader, notByBiDi, put, settled } from "./reader.mjs";
import { BAD, DELAY_MS, GOOD, MEANT, MISSPELT, asVisitors, browser, says, server, site, visit } from "./visitor.mjs";

asVisitors();

test("a visitor who types hears what is known, once they pause", async () => {
  const { page, field, note, asked, type, end } = await visit("/");
  await page.evaluate(() => addEventListener("probity:result", (event) => (globalThis.heard ??= []).push([event.target.id, event.detail])));
  await type(GOOD);
  await says(note, "Looks good.");
  assert.deepEqual(asked, [GOOD], "one question, for the whole address");
  assert.equal(await field.getAttribute("aria-invalid"), null);
  await type(BAD);
  await says(note, "This address accepts no mail.");
  await becomes(() => field.getAttribute("aria-invalid"), "true");
  // The field's own description stays; the note's is added.
  const described = await field.getAttribute("aria-describedby");
  assert.match(described, /^hint probity-note-\d+$/);
  assert.equal(await page.getByRole("status").textContent(), "This address accepts no mail.");
  // Further typing removes the previous result.
  await field.press("x");
  await becomes(() => note.textContent(), "");
  await becomes(() => field.getAttribute("aria-invalid"), null);
  // It takes no space but stays in the accessibility tree.
  assert.equal(await page.getByRole("status").count(), 1);
  await becomes(() => page.locator("probity-note").evaluate((host) => host.getBoundingClientRect().height), 0);
  // A known address is not requested again.
  await type(GOOD);
  await says(note, "Looks good.");
  assert.equal(asked.filter((email) => email === GOOD).length, 1);
  const heard = await page.evaluate(() => globalThis.heard);
  const told = (email, result) => ["email", { email, result, suggestion: undefined }];
  assert.deepEqual(heard.slice(0, 2), [told(GOOD, "ok"), told(BAD, "reject")]);
  await end();
});

test("a suggestion is accepted with the mouse and with the keyboard", async () => {
  for (const accept of [(button) => button.click(), (button) => button.press("Enter")]) {
    const { page, field, note, asked, type, end } = await visit("/");
    await page.evaluate(() => {
      for (const name of ["input", "change"]) addEventListener(name, () => (globalThis.heard ??= []).push(name));
    });
    await type(MISSPELT);
    await says(note, `Did you mean ${MEANT}?`);
    await page.evaluate(() => (globalThis.heard = []));
    await accept(page.getByRole("button", { name: MEANT }));
    await becomes(() => field.inputValue(), MEANT);
    await focused(field);
    // After a mouse click, `change` fires first, from leaving the field.
    await becomes(async () => (await page.evaluate(() => globalThis.heard)).slice(-2), ["input", "change"]);
    await page.waitForFunction(() => !document.querySelector("probity-note").shadowRoot.textContent.includes("Did you mean"));
    await becomes(() => asked, [MISSPELT, MEANT], "what was accepted is checked as well");
    assert.match(page.url(), /\/$/, "the form was not sent");
    await end();
  }
});

// The next request proves that none was sent before it: requests arrive in order.

test("it waits a second and a half, asks at once when the field is left, and not about what is no address", async () => {
  for (const path of ["/slow", "/no-delay", "/some-delay"]) {
    const { page, field, note, asked, end } = await visit(path);
    for (const text of ["ada", "ada@", "ada@example", "a b@example.com", "@example.com"]) {
      await put(field, text);
      await page.clock.runFor(2_000);
      await field.blur();
    }
    for (const text of [`${GOOD}s`, MISSPELT, GOOD]) {
      await page.clock.runFor(1_499);
      await put(field, text);
    }
    await page.clock.runFor(1_500);
    await says(note, "Looks good.");
    await put(field, BAD);
    await field.blur();
    await says(note, "This address accepts no mail.");
    assert.deepEqual(asked, [GOOD, BAD], path);
    await end();
  }
});

test("what stood in the field before the visitor came is not asked about until they leave it", async () => {
  const { page, field, note, asked, end } = await visit("/prefilled");
  await page.clock.runFor(10_000);
  await put(field, BAD);
  await page.clock.runFor(1_500);
  await says(note, "This address accepts no mail.");
  assert.deepEqual(asked, [BAD]);
  // In Firefox, a reload would keep form values.
  await page.goto("about:blank");
  await page.goto(`${site.origin}/prefilled`);
  await page.waitForFunction(() => globalThis.probity?.attach);
  await field.focus();
  await field.blur();
  await says(note, "Looks good.");
  assert.deepEqual(asked, [BAD, GOOD]);
  await end();
});

test("letters that are still being put together are not asked about", { skip: notByBiDi("letters that are being put together") }, async () => {
  const { page, context, field, note, asked, end } = await visit("/around");
  await field.focus();
  const devtools = await context.newCDPSession(page);
  for (const text of ["v", MISSPELT]) await devtools.send("Input.imeSetComposition", { text, selectionStart: text.length, selectionEnd: text.length });
  await page.clock.runFor(5_000);
  await devtools.send("Input.insertText", { text: GOOD });
  await page.clock.runFor(100);
  await says(note, "Fine.");
  assert.deepEqual(asked, [GOOD]);
  await end();
});

test("it speaks the page's language, or what the page says", async () => {
  for (const [path, bad, meant] of [
    ["/de", "Diese Adresse nimmt keine E-Mails an.", `Meinten Sie ${MEANT}?`],
    ["/fr", "Cette adresse n’accepte pas d’e-mails.", `Vouliez-vous dire ${MEANT}\u00a0?`],
    ["/es", "Esta dirección no acepta correo.", `¿Quería decir ${MEANT}?`],
    ["/rtl", "This address accepts no mail.", `Did you mean ${MEANT}?`],
    ["/element", "Esta dirección no acepta correo.", `¿Quería decir ${MEANT}?`],
    ["/texts", "This address accepts no mail.", `Perhaps ${MEANT} <b>`],
  ]) {
    const { note, type, end } = await visit(path);
    await type(BAD);
    await says(note, bad);
    await type(MISSPELT);
    await says(note, meant);
    await end();
  }
});

test("fields that come later, several fields, fields of its own and fields left out", async () => {
  const two = await visit("/two");
  await two.page.getByLabel("Other").fill(BAD);
  await two.page.clock.runFor(DELAY_MS);
  await says(two.page.locator("#other + probity-note div"), "This address accepts no mail.");
  assert.equal(await two.note.textContent(), "", "the other field has nothing to say");
  await two.page.evaluate(() => {
    const input = Object.assign(document.createElement("input"), { type: "email", id: "late" });
    document.querySelector("form").append(input);
  });
  await two.page.locator("#late + probity-note").waitFor({ state: "attached" });
  await two.page.locator("#late").fill(GOOD);
  await two.page.clock.runFor(DELAY_MS);
  await says(two.page.locator("#late + probity-note div"), "Looks good.");
  await two.end();
  const element = await visit("/element");
  await element.type(BAD);
  await element.page.getByRole("button", { name: "Order" }).click();
  await element.page.waitForURL(`**/sent?email=${encodeURIComponent(BAD)}`);
  await element.end();
  const off = await visit("/off");
  await off.field.fill(BAD);
  await off.field.blur();
  await off.page.clock.runFor(5_000);
  await off.page.getByLabel("Other").fill(GOOD);
  await off.page.clock.runFor(DELAY_MS);
  await says(off.page.locator("#other + probity-note div"), "Looks good.");
  assert.deepEqual([off.asked, await off.page.locator("probity-note").count()], [[GOOD], 1]);
  await off.end();
});

test("a field that leaves the page is let go, one that is moved is not", async () => {
  const { page, field, note, asked, type, end } = await visit("/two");
  await type(BAD);
  await says(note, "This address accepts no mail.");
  // Moved as frameworks do: removed and reinserted at once, inside its container.
  await page.evaluate(() => {
    const main = document.querySelector("main");
    document.body.append(main.parentNode.removeChild(main));
  });
  await type(GOOD);
  await says(note, "Looks good.");
  await page.evaluate(() => {
    globalThis.kept = document.querySelector("#email");
    globalThis.kept.remove();
  });
  await becomes(() => page.evaluate(() => [document.querySelectorAll("probity-note").length, globalThis.kept.getAttribute("aria-describedby")]), [1, "hint"]);
  // Detached, it has no listeners; back in the page, it is found again.
  await page.evaluate(() => {
    globalThis.kept.value = "changed@sandbox.test";
    for (const name of ["input", "change", "blur"]) globalThis.kept.dispatchEvent(new Event(name));
    document.querySelector("form").prepend(globalThis.kept);
  });
  await page.locator("#email + probity-note").waitFor({ state: "attached" });
  await put(field, MISSPELT);
  await page.clock.runFor(DELAY_MS);
  await says(page.locator("#email + probity-note div"), "Did you mean");
  assert.deepEqual(asked, [BAD, GOOD, MISSPELT]);
  await end();
});

test("what the page itself says of a field is given back", async () => {
  const { field, note, type, end } = await visit("/invalid");
  await field.evaluate((input) => input.setCustomValidity("Too long."));
  const said = () => field.evaluate((input) => [input.getAttribute("aria-invalid"), input.validationMessage]);
  await type(BAD);
  await says(note, "This address accepts no mail.");
  await becomes(said, ["true", "This address accepts no mail."]);
  await type(GOOD);
  await says(note, "Looks good.");
  await becomes(said, ["grammar", "Too long."]);
  await end();
});

test("the page's styles and its policy leave it as it is, and it leaves nothing in the browser", async () => {
  const { page, context, note, type, end } = await visit("/ruined");
  await type(BAD);
  await says(note, "This address accepts no mail.");
  const { color, backgroundColor, display } = await note.evaluate((div) => {
    const { color, backgroundColor, display } = getComputedStyle(div);
    return { color, backgroundColor, display };
  });
  assert.deepEqual([color, backgroundColor, display], ["rgb(127, 29, 29)", "rgb(253, 238, 238)", "inline-block"]);
  assert.deepEqual(await context.cookies(), []);
  assert.deepEqual(await page.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie]), [0, 0, ""]);
  // The policy is in force: it blocks what the page itself would add.
  const refused = await page.evaluate(() => {
    try {
      document.body.innerHTML += "<b>x</b>";
      return false;
    } catch {
      return true;
    }
  });
  assert.ok(refused);
  // Chromium logs the violation provoked here.
  await context.close();
  void end;
});

test("a suggestion is text, whatever it holds", async () => {
  let suggestion = "";
  const prepare = (page) => page.route("**/v1/widget/verify?*", (route) => route.fulfill({
    json: { result: "fix", suggestion, nonce: "x" },
    headers: { "access-control-allow-origin": site.origin },
  }));
  const { page, field, note, end } = await visit("/", { prepare });
  for (const [index, text] of HOSTILE.entries()) {
    suggestion = text;
    await put(field, `n${index}@example.com`);
    await page.clock.runFor(DELAY_MS);
    await page.waitForFunction((wanted) => document.querySelector("probity-note").shadowRoot.querySelector("button")?.textContent === wanted, text);
    assert.equal(await note.evaluate((div) => div.querySelectorAll("*").length), 1, text);
  }
  await end();
});

test("there is no obstacle that axe-core knows, in any state", async () => {
  for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
    const { page, field, note, end } = await visit("/", { options: { colorScheme } });
    // axe-core uses timers.
    await page.clock.resume();
    for (const [text, said] of [[GOOD, "Looks good."], [BAD, "accepts no mail"], [MISSPELT, "Did you mean"]]) {
      await put(field, text);
      await says(note, said);
      await page.waitForFunction(() => document.querySelector("probity-note").shadowRoot.getAnimations().length === 0);
      assert.deepEqual(await obstacles(page, {}), []);
    }
    await page.getByRole("button", { name: MEANT }).focus();
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Tab");
    const outline = await page.getByRole("button", { name: MEANT }).evaluate((button) => getComputedStyle(button).outlineStyle);
    assert.equal(outline, "solid", "the focus can be seen");
    await end();
  }
});

test("the dashboard shows the snippet and a preview that asks the sandbox", async () => {
  const reader = await newReader(browser, server);
  await becomeOwner(reader, server);
  const { page, go } = reader;
  const spent = async () => (await server.api("GET", "/reports/usage?period=lifetime")).total;
  const before = await spent();
  await go("widget");
  await page.getByRole("button", { name: "New public key" }).click();
  await page.getByLabel("Name").fill("Blog");
  await page.getByLabel("Websites").fill(site.origin);
  await page.getByLabel("Daily limit").fill("50");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByText(`${site.origin}, 50 addresses per day`).waitFor();
  await page.getByLabel("Text for good addresses").fill(`"Fine" & <b>`);
  await page.getByLabel("Language").selectOption("de");
  const snippet = () => page.getByLabel("For your page", { exact: true }).innerText();
  const key = await page.getByLabel("Public key").inputValue();
  assert.match(key, /^probity_pub_\w+$/);
  await becomes(snippet, `<script src="${server.origin}/widget.js" data-key="${key}" data-lang="de" \
data-text-valid="&quot;Fine&quot; &amp; &lt;b>" async></script>`);
  const preview = page.getByLabel("Address", { exact: true });
  for (const [text, said] of [[GOOD, `"Fine" & <b>`], [BAD, "Diese Adresse nimmt keine E-Mails an."], [MISSPELT, `Meinten Sie ${MEANT}?`]]) {
    await put(preview, text);
    await says(page.locator("probity-note div"), said);
  }
  // An empty text shows nothing.
  await page.getByLabel("Show nothing for good addresses").check();
  await becomes(snippet, / data-text-valid="" /);
  // A key with further permissions is never put into a page.
  await page.getByLabel("Public key").fill(key.replace("_pub_", "_live_"));
  await page.getByText("This isn't a public key.").waitFor();
  await becomes(snippet, / data-key="probity_pub_…" /);
  await settled(page);
  assert.equal(await spent(), before);
  reader.nothingWrong();
  await reader.context.close();
});

test("checks count with the source of the widget, and nothing else was verified", async () => {
  const { total } = await server.api("GET", "/reports/usage?period=lifetime");
  assert.ok(total > 5, `${total}`);
});
