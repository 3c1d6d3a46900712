/** Explanations: every reason has a correct sentence, in single verdicts and in list rows. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { asOwner, reader, server } from "./owner.mjs";
import { becomes, picture, settled } from "./reader.mjs";

asOwner();
afterEach(() => reader.nothingWrong());

const LANGUAGES = ["en", "de", "fr", "es"];
const texts = Object.fromEntries(await Promise.all(LANGUAGES.map(async (tag) => [tag, (await import(`../../messages/${tag}.js`)).default])));

/** Sandbox address, sentence name and presence of a mail server, by reason. @type {[string, string, boolean][]} */
const ADDRESSES = [
  ["valid@sandbox.test", "valid", true],
  ["no address", "invalid", false],
  ["ann@company.invalid", "invalid.special_use", false],
  ["illegitimate@sandbox.test", "illegitimate", false],
  ["ann@nxdomain.sandbox.test", "illegitimate.nxdomain", false],
  ["ann@null-mx.sandbox.test", "illegitimate.null_mx", false],
  ["ann@no-mail.sandbox.test", "illegitimate.no_mx", false],
  ["ann@private.sandbox.test", "illegitimate.mx_unroutable", false],
  ["nonexistent@sandbox.test", "nonexistent", true],
  ["deactivated@sandbox.test", "deactivated", true],
  ["inbox_full@sandbox.test", "inbox_full", true],
  ["spam@sandbox.test", "spam", false],
  ["complained@sandbox.test", "complained", false],
  ["bounced@sandbox.test", "bounced", false],
  ["blacklisted@sandbox.test", "blacklisted", false],
  ["disposable@sandbox.test", "disposable", false],
  ["ann@disposable.sandbox.test", "disposable.disposable_exchanger", true],
  ["banned_words@sandbox.test", "banned_words", false],
  ["info@sandbox.test", "role_based", true],
  ["ann@available.sandbox.test", "available", true],
  ["anybody@catchall.sandbox.test", "accept_all", true],
  ["failed_exchange@sandbox.test", "failed_exchange", true],
  ["somebody@blocked.sandbox.test", "failed_exchange.blocked", true],
  ["ann@relay-denied.sandbox.test", "failed_exchange.relay_denied", true],
  ["unverified@sandbox.test", "unverified.temporary", true],
  ["ann@servfail.sandbox.test", "unverified.dns_temporary", false],
  ["valid@greylist.sandbox.test", "unverified.greylisted", true],
  ["valid@callout.sandbox.test", "unverified.in_progress", true],
  ["ann@dead.sandbox.test", "unverified.connect_refused", true],
  ["uma.lee@acme-widgets.com", "unverified.timeout", false],
];
/** Their DNS records do not make the domain accept mail. */
const NOT_NAMED = ["ann@no-mail.sandbox.test", "ann@private.sandbox.test", "ann@relay-denied.sandbox.test"];
/** Role address at a catch-all domain. */
const CATCH_ALL = "info@catchall.sandbox.test";
/** Addresses without a server, decided by a sandbox table or hash. */
const isPlayed = (email, name) => /^(illegitimate|spam|complained|bounced|blacklisted|disposable|banned_words)$/.test(name) || email.endsWith("acme-widgets.com");

async function verify(page, email) {
  const form = page.locator("main form").first();
  await form.getByRole("textbox").fill(email);
  const answered = page.waitForResponse(/\/verify\?/);
  await form.locator("button.primary").click();
  const answer = await (await answered).json();
  await page.waitForFunction((wanted) => document.querySelector("main .verdict-card .mail")?.textContent === wanted, email);
  return answer;
}

test("each reason has the sentence that is true of its address", async () => {
  const { page, go } = reader;
  await go("verify");
  const seen = new Set();
  for (const [email, name, isProbed] of ADDRESSES) {
    const { reason, meta, evidence } = await verify(page, email);
    assert.equal(reason, name.split(".")[0], `${email}: ${meta}`);
    assert.equal(Boolean(evidence.probe), isProbed, `${email}: whether a server replied`);
    seen.add(reason);
    const said = await page.locator(".because").innerText();
    const whole = isPlayed(email, name) ? `${texts.en["because.played"]}\n${texts.en[`because.${name}`]}` : texts.en[`because.${name}`];
    assert.ok(said.startsWith(whole), `${email} (${meta}): ${said}`);
    const listed = await page.locator(".checked").innerText();
    if (NOT_NAMED.includes(email)) assert.doesNotMatch(listed, /DNS names/, email);
    if (email === "ann@dead.sandbox.test") assert.match(listed, /In order:\s+DNS names 1 mail server/);
    if (reason !== "valid") assert.match(listed, /Problem:/, email);
    if (!isProbed && !isPlayed(email, name)) assert.doesNotMatch(said, /^The mail server (accepted|says|refuse)/, email);
  }
  assert.deepEqual([...seen].sort(), Object.keys(texts.en).filter((name) => name.startsWith("reason.")).map((name) => name.slice(7)).sort(), "no reason is left out");
});

test("a risky address tells what its mail server said, and an older verdict that nobody was asked again", async () => {
  const { page, go } = reader;
  await go("verify");
  await verify(page, "postmaster@sandbox.test");
  await page.locator(".because").getByText(`${texts.en["because.role_based"]} ${texts.en["because.accepted"]}`).waitFor();
  const { evidence } = await verify(page, "postmaster@sandbox.test");
  assert.equal(evidence.source, "cache");
  await becomes(() => page.locator(".because").innerText(), /This is known from an earlier probe \(.+\); no server was probed again\.$/);
});

test("the rows of a list say the same, in each language", async () => {
  const { page, go } = reader;
  const rows = ADDRESSES.filter(([email]) => !/greylist|callout/.test(email));
  const { id } = await server.api("POST", "/batch-verify", { emails: [...rows.map(([email]) => email), CATCH_ALL] });
  await server.finished(id);
  for (const tag of LANGUAGES) {
    await page.evaluate((chosen) => localStorage.setItem("probity.language", chosen), tag);
    await go(`lists/${id}`);
    const grid = page.getByRole("grid");
    await grid.focus();
    await page.keyboard.press("Enter");
    for (const [email, name] of rows) {
      const panel = page.getByRole("complementary", { name: email, exact: true });
      await panel.locator(".because").getByText(texts[tag][`because.${name}`], { exact: false }).waitFor();
      await page.keyboard.press("ArrowDown");
    }
    const open = page.getByRole("complementary", { name: CATCH_ALL, exact: true }).locator(".because");
    await open.getByText(texts[tag]["because.role_based"], { exact: false }).waitFor();
    assert.ok(!(await open.innerText()).includes(texts[tag]["because.accepted"]), "a domain that accepts every recipient accepts this one, too");
    await page.locator(".meters .meaning").getByText(texts[tag]["because.inbox_full"]).waitFor();
    await page.locator(".meters .meaning").getByText(texts[tag]["because.failed_exchange.any"]).waitFor();
    await picture(page, `because-list-${tag}`, { fullPage: true });
    await go("verify?email=somebody%40blocked.sandbox.test");
    await verify(page, "somebody@blocked.sandbox.test");
    await picture(page, `because-${tag}`);
  }
  await page.evaluate(() => localStorage.setItem("probity.language", "en"));
  await go("");
  await settled(page);
});
