/** Forms with the widget: rejected only if the page asks for it, and never delayed by the service. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { becomes, put } from "./reader.mjs";
import { BAD, GOOD, MISSPELT, asVisitors, says, server, site, stranger, visit } from "./visitor.mjs";

asVisitors();

test("a page may have addresses refused that take no mail, and no others", async () => {
  const { page, note, type, end } = await visit("/block");
  await type(BAD);
  await says(note, "This address accepts no mail.");
  await page.getByRole("button", { name: "Order" }).click();
  await becomes(() => page.evaluate(() => document.querySelector("input").validationMessage), "This address accepts no mail.");
  assert.match(page.url(), /\/block$/);
  await type(MISSPELT);
  await says(note, "Did you mean");
  await page.getByRole("button", { name: "Order" }).click();
  await page.waitForURL("**/sent?*");
  await end();
});

test("a refusal ends with the value that it is about, also where no key was pressed", async () => {
  const { page, field, note, type, end } = await visit("/block");
  const refused = () => field.evaluate((input) => [input.validity.customError, input.getAttribute("aria-invalid")]);
  const refuse = async () => {
    await type(BAD);
    await says(note, "This address accepts no mail.");
    await becomes(refused, [true, "true"]);
  };
  const set = (value) => field.evaluate((input, to) => (input.value = to), value);
  await refuse();
  await page.evaluate(() => document.querySelector("form").reset());
  // The check follows once the values are reset.
  await page.clock.runFor(1);
  await becomes(async () => [await refused(), await note.textContent()], [[false, null], ""]);
  // A script submits the form: the first submission is too late to block.
  await refuse();
  await set(GOOD);
  await page.evaluate(() => document.querySelector("form").requestSubmit());
  await becomes(refused, [false, null]);
  await refuse();
  await set(GOOD);
  await page.getByRole("button", { name: "Order" }).click();
  await page.waitForURL(`**/sent?email=${encodeURIComponent(GOOD)}`);
  await end();
});

/** Waits until a widget request completes or fails. */
const answered = (page, path) => {
  const fits = (of) => new URL(of.url()).pathname === `/v1/widget/${path}`;
  return Promise.race([page.waitForEvent("requestfinished", fits), page.waitForEvent("requestfailed", fits)]);
};

test("on another website the key opens nothing, and the form is sent", async () => {
  const { page, field, asked, type } = await visit("/", { at: stranger.origin });
  const refused = answered(page, "nonce");
  await type(BAD);
  await field.blur();
  await refused;
  await page.getByRole("button", { name: "Order" }).click();
  await page.waitForURL(`${stranger.origin}/sent?*`);
  assert.deepEqual(asked, []);
});

test("answers that never come, and refusals, hold no form up", async () => {
  const cross = { "access-control-allow-origin": site.origin };
  const answers = {
    silence: () => {},
    "a reset": (route) => route.abort("connectionreset"),
    "a refusal": (route) => route.fulfill({ status: 429, headers: cross, json: { error: { code: "rate_limited" } } }),
    "an error of ours": (route) => route.fulfill({ status: 500, headers: cross, body: "<html>" }),
    "something else": (route) => route.fulfill({ status: 200, headers: cross, json: { result: "surprise" } }),
  };
  for (const [name, answer] of Object.entries(answers)) {
    const prepare = (page) => page.route("**/v1/widget/verify?*", answer);
    const { page, context, field, note, asked } = await visit("/block", { prepare });
    const sent = page.waitForRequest("**/v1/widget/verify?*");
    const over = name === "silence" ? undefined : answered(page, "verify");
    await field.fill(BAD);
    await field.blur();
    await sent;
    // The timeout is four seconds; Firefox does not report aborted requests.
    if (name === "silence") await page.clock.runFor(4_000);
    await over;
    await becomes(async () => [await note.textContent(), await field.getAttribute("aria-invalid")], ["", null], name);
    if (name !== "something else") {
      // Requests pause for 30 seconds.
      await put(field, "other@sandbox.test");
      await field.blur();
      await page.clock.runFor(30_000);
      const again = page.waitForRequest("**/v1/widget/verify?*");
      await put(field, "third@sandbox.test");
      await field.blur();
      await again;
      assert.deepEqual(asked, [BAD, "third@sandbox.test"], name);
    }
    await page.getByRole("button", { name: "Order" }).click();
    await page.waitForURL("**/sent?*");
    await context.close();
  }
});

// Last test: it stops the service.
test("while the service is away the page works as it would without the widget", async () => {
  const { page, field, note, type, context } = await visit("/block");
  await type(GOOD);
  await says(note, "Looks good.");
  await server.stop();
  await type(BAD);
  await field.blur();
  await page.getByRole("button", { name: "Order" }).click();
  await page.waitForURL(`**/sent?email=${encodeURIComponent(BAD)}`);
  await context.close();
});
