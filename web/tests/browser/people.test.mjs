/** Joining: by invitation, and to one of several organizations. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { asOwner, browser, reader, server } from "./owner.mjs";
import { OWNER, heading, newReader, settled, signOut } from "./reader.mjs";
import { start } from "./server.mjs";

const GRACE = { email: "grace@example.com", name: "Grace Hopper", password: "nanoseconds are that long" };

asOwner();

async function signIn(page, { email, password }) {
  await page.goto(server.origin);
  await page.getByLabel("Email address").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Follows a link and sets a password. */
async function join(page, url, { password }) {
  await page.goto(url);
  await heading(page, "You are invited");
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Save and sign in" }).click();
  await heading(page, "Overview");
  await settled(page);
}

test("an invitation from the team's screen is completed, once, and opens what its role opens", async () => {
  const { page, go, nothingWrong } = reader;
  await go("team");
  await page.getByRole("button", { name: "Invite a team member" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Email address").fill(GRACE.email);
  await dialog.getByLabel("Name").fill(GRACE.name);
  await dialog.getByRole("button", { name: /invite/i }).click();
  const url = await page.locator(".secret code").innerText();
  assert.match(url, /#\/link\//);

  const invited = await newReader(browser, server);
  await join(invited.page, url, GRACE);
  await invited.page.getByRole("button", { name: GRACE.name }).waitFor();
  assert.equal(await invited.page.getByRole("heading", { name: "Outbound SMTP" }).count(), 0, "it is for administrators");
  invited.nothingWrong();
  await invited.context.close();

  const late = await newReader(browser, server);
  await late.page.goto(url);
  await late.page.getByText("This link was used, has expired, or was replaced.").waitFor();
  await late.page.getByRole("heading", { name: "Sign in" }).waitFor();
  await late.context.close();
  await go("team");
  await page.getByRole("row").filter({ hasText: GRACE.email }).getByText("Active", { exact: true }).waitFor();
  nothingWrong();
});

/** Changes the password on the account screen. */
async function changePassword(page, current, next) {
  const form = page.locator("form").filter({ has: page.getByLabel("New password") });
  await form.getByLabel("Current password").fill(current);
  await form.getByLabel("New password").fill(next);
  const answer = page.waitForResponse("**/app/password");
  await form.getByRole("button", { name: "Save" }).click();
  assert.equal((await answer).status(), 200);
}

test("a page goes on when another one of the same browser changes the password", async () => {
  const [first, second] = [reader.page, await reader.context.newPage()];
  const next = `${OWNER.password}, or thirteen`;
  await reader.go("settings?tab=results");
  await second.goto(`${server.origin}/#/account`);
  await changePassword(second, OWNER.password, next);
  await first.getByRole("checkbox", { name: "Role mailbox" }).check();
  await first.getByRole("button", { name: "Save" }).first().click();
  await first.getByText("Saved").waitFor();
  // Uploads use a different request path. The token is outdated again.
  await changePassword(second, next, OWNER.password);
  await reader.page.evaluate(() => { location.hash = "#/lists/new"; });
  const text = Buffer.from("valid@sandbox.test\n");
  await first.locator("#list-file").setInputFiles({ name: "people.csv", mimeType: "text/csv", buffer: text });
  await heading(first, "Forecast", 2);
  assert.equal(await first.getByRole("alert").count(), 0);
  reader.nothingWrong();
  await second.close();
});

/** A page learns of its session's end from the stream of changes or its next request, before or after a new session starts. */
for (const learned of [true, false]) {
  test(`a page ${learned ? "that was signed out" : "of a session"} starts over when somebody else signs in on another one`, async () => {
    const both = await newReader(browser, server);
    await signIn(both.page, OWNER);
    await heading(both.page, "Overview");
    await both.go("keys");
    const second = await both.context.newPage();
    await second.goto(server.origin);
    if (!learned) await both.page.route("**/app/changes?*", (route) => route.abort());
    if (!learned) await both.go("keys");
    await signOut(second);
    await (learned ? both.page : second).getByRole("button", { name: "Sign in" }).waitFor();
    await signIn(second, GRACE);
    await second.getByRole("button", { name: GRACE.name }).waitFor();
    await both.page.getByRole("button", { name: GRACE.name }).waitFor();
    await both.page.getByText("Only administrators").waitFor();
    both.nothingWrong();
    await both.context.close();
  });
}

test("somebody in several organizations chooses one when they sign in", async () => {
  const { id } = await server.admin("orgs", "create", "Second Street Ltd");
  const { url } = await server.admin("users", "invite", OWNER.email, "--org", id, "--role", "administrator");
  const there = await newReader(browser, server);
  await join(there.page, new URL(new URL(url, server.origin).hash, server.origin).href, OWNER);
  await there.page.getByRole("button", { name: "Second Street Ltd" }).waitFor();
  await there.context.close();

  const chooses = await newReader(browser, server);
  await signIn(chooses.page, OWNER);
  await chooses.page.getByText("Your address belongs to several", { exact: false }).waitFor();
  await chooses.page.getByLabel("Organization").selectOption({ label: "Second Street Ltd" });
  await chooses.page.getByRole("button", { name: "Sign in" }).click();
  await heading(chooses.page, "Overview");
  await chooses.page.getByRole("button", { name: "Second Street Ltd" }).waitFor();
  chooses.nothingWrong();
  await chooses.context.close();
});

test("over http, the sign-in page of an https address leads there and asks for no password", async () => {
  const url = "https://verify.example.com";
  const published = await start({ env: { PROBITY_SERVER__PUBLIC_URL: url } });
  const origin = "http://verify.example.com";
  const visitor = await newReader(browser, { ...published, origin });
  try {
    await visitor.page.route(`${origin}/**`, (route) => route.continue({ url: route.request().url().replace(origin, published.origin) }));
    await visitor.page.goto(`${origin}/`);
    await visitor.page.getByText("This page was opened without encryption").waitFor();
    assert.equal(await visitor.page.getByRole("link", { name: url }).getAttribute("href"), url);
    assert.equal(await visitor.page.getByLabel("Password").count(), 0);
    const refused = await visitor.page.evaluate(() => fetch("/app/sign-in", {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ email: "a@example.com", password: "x" }),
    }).then((response) => response.json()));
    assert.match(refused.error.message, /open https:\/\/verify\.example\.com$/);
  } finally {
    await visitor.context.close();
    await published.stop();
  }
});
