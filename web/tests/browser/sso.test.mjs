/** Single sign-on with a real provider (node-oidc-provider): setup, first sign-in, enforcement, key rotation. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, afterEach, before, test } from "node:test";
import Provider from "oidc-provider";
import { obstacles } from "./axe.mjs";
import { OWNER, SCREENS, becomeOwner, heading, launch, newReader, settled, signOut } from "./reader.mjs";
import { freePort, start } from "./server.mjs";

const DOMAIN = "morning-letter.com";
const CLIENT = { client_id: "probity", client_secret: "a secret of twenty letters" };

/** @type {import("./server.mjs").Server} */
let server;
/** @type {import("playwright-core").Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof newReader>>} */
let owner;
/** @type {import("node:http").Server} */
let listening;
let issuer = "";
/** Provider's `email_verified` claim. */
let verifies = true;

/** New signing key. @param {string} kid */
const key = (kid) => ({ ...generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" }), kid, use: "sig", alg: "RS256" });

/** Provider with a key. Any name entered is an account. @param {string} redirect @param {string} kid */
function provider(redirect, kid) {
  const made = new Provider(issuer, {
    clients: [{ ...CLIENT, redirect_uris: [redirect], response_types: ["code"], grant_types: ["authorization_code"] }],
    jwks: { keys: [key(kid)] },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    conformIdTokenClaims: false,
    cookies: { keys: ["of the provider"] },
    pkce: { required: () => true },
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub, email: `${sub}@${DOMAIN}`, email_verified: verifies, name: sub }) }),
  });
  return made.callback();
}

/** Current request handler of the provider. @type {(request: any, response: any) => unknown} */
let answering = () => {};

before(async () => {
  listening = createServer((request, response) => answering(request, response)).listen(0, "127.0.0.1");
  await once(listening, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (listening.address());
  issuer = `http://127.0.0.1:${port}`;
  const own = await freePort();
  const origin = `http://127.0.0.1:${own}`;
  server = await start({ port: own, allow: `127.0.0.1:${port}`, env: { PROBITY_SERVER__PUBLIC_URL: origin } });
  answering = provider(`${origin}/app/sso/callback`, "first");
  browser = await launch();
  owner = await newReader(browser, server);
  await becomeOwner(owner, server);
});
afterEach(() => owner.nothingWrong());
after(async () => {
  await browser?.close();
  await server?.stop();
  listening?.close();
  listening?.closeAllConnections();
});

/** Visitor who may open the provider's pages. */
async function visitor() {
  const context = await browser.newContext({ locale: "en-GB" });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  return { page, context };
}

/** Signs in through the provider, whose pages ask for a name and consent. */
async function signIn(page, name) {
  await page.goto(`${server.origin}/#/sign-in`);
  await page.getByLabel("Email address").fill(`${name}@${DOMAIN}`);
  await page.getByRole("button", { name: "Sign in with single sign-on" }).click();
  await page.getByPlaceholder("Enter any login").fill(name);
  await page.getByPlaceholder("and password").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
}

test("the owner sets it up, and sees what is missing", async () => {
  const { page, go } = owner;
  await go("settings?tab=sso");
  await heading(page, "Single sign-on", 2);
  await page.getByText(`${server.origin}/app/sso/callback`).waitFor();
  await page.getByLabel("Issuer").fill(issuer);
  await page.getByLabel("Client ID").fill(CLIENT.client_id);
  await page.getByLabel("Client secret").fill(CLIENT.client_secret);
  await page.getByLabel("Domains of your email addresses").fill(DOMAIN);
  await page.getByLabel("Your password").fill(OWNER.password);
  await page.getByRole("button", { name: "Set up single sign-on" }).click();
  await page.getByText(`${DOMAIN} is not proven yet`).waitFor();
  await page.getByText(`_probity.${DOMAIN}`).waitFor();
  await page.getByRole("button", { name: "Test the provider" }).click();
  await page.getByText("The provider can be reached and used.").waitFor();
  assert.deepEqual(await obstacles(page), []);
  for (const width of [360, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}`);
    const value = await page.locator("dd", { hasText: issuer }).boundingBox();
    assert.ok(value && value.width > 100, `${width}: ${value?.width}`);
    await page.screenshot({ path: `${SCREENS}sso-settings-${width}.png`, fullPage: true });
  }
  const org = await server.admin("orgs", "list");
  await server.admin("orgs", "sso", "confirm", org.id, DOMAIN);
  await go("settings?tab=sso");
  await page.getByText("· Proven").waitFor();
  const released = await server.admin("orgs", "sso", "release", org.id, DOMAIN);
  assert.equal(released.domains[0].proven_at, null);
  await go("overview");
  await go("settings?tab=sso");
  await page.getByText(`${DOMAIN} is not proven yet`).waitFor();
  await go("timeline");
  await page.getByText("ended the proof of a domain").first().waitFor();
  await server.admin("orgs", "sso", "confirm", org.id, DOMAIN);
});

test("a record that is missing is told, with the day until which the domain counts", async () => {
  const { page, go } = owner;
  // The server checks daily; the test plays the later response.
  await page.route("**/app/sso*", async (route) => {
    const response = await route.fetch();
    const shown = await response.json();
    for (const domain of shown.domains) domain.counts_until = "2031-05-17T12:00:00.000Z";
    await route.fulfill({ response, json: shown });
  });
  await go("overview");
  await go("settings?tab=sso");
  await page.getByText(`The record of ${DOMAIN} is missing`).waitFor();
  await page.getByText("Publish it again by 17 May 2031.").waitFor();
  await page.getByText(`_probity.${DOMAIN}`).waitFor();
  assert.deepEqual(await obstacles(page), []);
  for (const width of [360, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}`);
    await page.screenshot({ path: `${SCREENS}sso-missing-${width}.png`, fullPage: true });
  }
  await page.unroute("**/app/sso*");
  await go("overview");
  await go("settings?tab=sso");
  await page.getByText("· Proven").waitFor();
});

test("a newcomer becomes a member, and signs in again", async () => {
  const { page, context } = await visitor();
  await page.goto(`${server.origin}/#/sign-in`);
  await page.getByRole("button", { name: "Sign in with single sign-on" }).click();
  await page.getByText("Enter your email address first.").waitFor();
  await page.getByLabel("Email address").fill("bob@elsewhere-letter.com");
  await page.getByRole("button", { name: "Sign in with single sign-on" }).click();
  await page.getByText("There is no single sign-on for this address.").waitFor();
  await page.screenshot({ path: `${SCREENS}sso-sign-in.png` });
  await signIn(page, "bob");
  await heading(page, "Overview");
  await settled(page);
  await signOut(page);
  await heading(page, "Sign in");
  // The provider still has a session: no name, no consent.
  await page.getByLabel("Email address").fill(`bob@${DOMAIN}`);
  await page.getByRole("button", { name: "Sign in with single sign-on" }).click();
  await heading(page, "Overview");
  const { data } = await server.api("GET", "/users");
  assert.deepEqual(data.map((user) => [user.email, user.role]), [[`bob@${DOMAIN}`, "contributor"], [OWNER.email, "administrator"]]);
  await context.close();
});

test("an address that the provider does not call verified is refused, in a sentence", async () => {
  verifies = false;
  const { page, context } = await visitor();
  await signIn(page, "eve");
  await page.getByText("The provider does not report your email address as verified.").waitFor();
  assert.equal((await server.api("GET", "/users")).data.length, 2);
  verifies = true;
  await context.close();
});

test("who declines at the provider is told so", async () => {
  const { page, context } = await visitor();
  await page.goto(`${server.origin}/#/sign-in`);
  await page.getByLabel("Email address").fill(`dan@${DOMAIN}`);
  await page.getByRole("button", { name: "Sign in with single sign-on" }).click();
  await page.getByRole("link", { name: "[ Cancel ]" }).click();
  await page.getByText("The provider declined the sign-in.").waitFor();
  await context.close();
});

test("a new key of the provider is found", async () => {
  answering = provider(`${server.origin}/app/sso/callback`, "second");
  // Keys are reloaded after a minute; "Test the provider" reloads them at once.
  await owner.go("settings?tab=sso");
  await owner.page.getByRole("button", { name: "Test the provider" }).click();
  await owner.page.getByText("The provider can be reached and used.").waitFor();
  const { page, context } = await visitor();
  await signIn(page, "carol");
  await heading(page, "Overview");
  await context.close();
});

test("required for members, not for the owner", async () => {
  const { page, go } = owner;
  const invited = await server.api("POST", "/users", { email: `dora@${DOMAIN}`, role: "contributor" });
  const link = new URL(invited.invitation_url);
  await go("settings?tab=sso");
  await page.getByLabel("Required for members at these domains").check();
  await page.getByLabel("Your password").fill(OWNER.password);
  await page.locator("section", { has: page.getByRole("heading", { name: "Single sign-on" }) }).getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved").first().waitFor();
  const dora = await newReader(browser, server);
  await dora.page.goto(`${server.origin}/${link.hash}`);
  await dora.page.getByLabel("Password", { exact: true }).fill(OWNER.password);
  await dora.page.getByRole("button", { name: "Save and sign in" }).click();
  await dora.page.getByText("Your organization requires single sign-on.").waitFor();
  dora.nothingWrong();
  await dora.context.close();
  const { page: other, context } = await visitor();
  await signIn(other, "dora");
  await heading(other, "Overview");
  await context.close();
  const again = await newReader(browser, server);
  await again.go("sign-in");
  await again.page.getByLabel("Email address").fill(OWNER.email);
  await again.page.getByLabel("Password").fill(OWNER.password);
  await again.page.getByRole("button", { name: "Sign in", exact: true }).click();
  await heading(again.page, "Overview");
  await again.context.close();
});

test("the owner deletes it with the password", async () => {
  const { page, go } = owner;
  await go("settings?tab=sso");
  await page.getByRole("button", { name: "Delete single sign-on" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete single sign-on?" });
  const password = dialog.getByLabel("Your password");
  await password.fill("not the password");
  const submit = dialog.getByRole("button", { name: "Delete single sign-on" });
  await submit.click();
  await dialog.getByRole("alert").waitFor();
  assert.deepEqual(await obstacles(page), []);
  for (const width of [360, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    await page.screenshot({ path: `${SCREENS}sso-delete-${width}.png` });
  }
  await password.fill(OWNER.password);
  await submit.click();
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Set up single sign-on" }).waitFor();
  assert.equal(await page.getByText("· Proven").count(), 0);
});
