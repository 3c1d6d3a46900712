/** Password reset: from the sign-in page through the mailed link to the overview; expired links; new invitations. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { after, afterEach, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { asOwner, browser, reader, server } from "./owner.mjs";
import { OWNER, becomeOwnerAgain, becomes, heading, newReader, signOut } from "./reader.mjs";

const NEW = "thirteen wiser words are enough";
/** Messages received by the relay. @type {string[]} */
const mails = [];
const relay = createServer(converse);
relay.listen(0, "127.0.0.1");
await once(relay, "listening");
const { port } = /** @type {import("node:net").AddressInfo} */ (relay.address());
const env = { PROBITY_MAIL__RELAY: `smtp://127.0.0.1:${port}`, PROBITY_MAIL__FROM: "Probity <no-reply@example.com>", PROBITY_SERVER__PUBLIC_URL: "https://verify.example.com" };
asOwner(undefined, { env });
afterEach(() => reader.nothingWrong());
after(() => relay.close());

/** SMTP relay that accepts everything. @param {import("node:net").Socket} socket */
async function converse(socket) {
  let [heard, within] = ["", false];
  socket.write("220 relay.example\r\n");
  socket.on("error", () => {});
  for await (const chunk of socket) {
    heard += chunk;
    for (let end = heard.indexOf(within ? "\r\n.\r\n" : "\r\n"); end >= 0; end = heard.indexOf(within ? "\r\n.\r\n" : "\r\n")) {
      const line = heard.slice(0, end);
      heard = heard.slice(end + (within ? 5 : 2));
      if (within) mails.push(line.replaceAll("=\r\n", "").replaceAll("=3D", "="));
      within = !within && line.startsWith("DATA");
      socket.write(within ? "354 go on\r\n" : line.startsWith("QUIT") ? "221 bye\r\n" : "250 ok\r\n");
    }
  }
}

/** Location of the link in the next message to a recipient. @param {string} to @param {RegExp} said */
async function mailed(to, said) {
  for (;;) {
    const at = mails.findIndex((mail) => mail.includes(`To: ${to}`));
    if (at >= 0) {
      const [mail] = mails.splice(at, 1);
      assert.match(mail, said);
      return `link/${/#\/link\/(\S+)/.exec(mail)?.[1]}`;
    }
    await pause(100);
  }
}

test("a forgotten password is replaced by the mailed link, once, and all other sessions end", async () => {
  const { page, go, nothingWrong } = await newReader(browser, server);
  const press = (name) => page.getByRole("button", { name, exact: true }).click();
  await go("");
  await page.getByLabel("Email address").fill(OWNER.email);
  await page.getByRole("link", { name: "Forgot your password?" }).click();
  await heading(page, "Choose a new password");
  await becomes(() => page.getByLabel("Email address").inputValue(), OWNER.email);
  await press("Email me a link");
  const said = page.getByText("If an account has this address, a link is on its way.");
  await said.waitFor();
  const words = await said.innerText();
  const place = await mailed(OWNER.email, /Somebody asked for a new password/);

  await go("sign-in/forgotten");
  await page.getByLabel("Email address").fill("nobody@example.com");
  await press("Email me a link");
  await said.waitFor();
  await becomes(() => said.innerText(), words);

  await go(place);
  await heading(page, "Choose a new password");
  await page.getByLabel("Password", { exact: true }).fill(NEW);
  await press("Save and sign in");
  await heading(page, "Overview");
  await reader.go("usage");
  await heading(reader.page, "Sign in");

  await signOut(page);
  await heading(page, "Sign in");
  await go(place);
  await page.getByText("This link was used, has expired, or was replaced.").waitFor();
  await page.getByLabel("Email address").fill(OWNER.email);
  await page.getByLabel("Password").fill(NEW);
  await press("Sign in");
  await heading(page, "Overview");
  await go("timeline");
  await page.locator(".happened li").filter({ hasText: OWNER.name }).filter({ hasText: "password" }).first().waitFor();
  await go(place);
  await page.getByText("This link was used, has expired, or was replaced.").waitFor();
  await heading(page, "Overview");
  nothingWrong();
  await becomeOwnerAgain(reader, server);
});

test("an invited person gets a new link, and the one before ends", async () => {
  const { page, go } = reader;
  const { invitation_url: first } = await server.api("POST", "/users", { email: "grace@example.com", name: "Grace Hopper", role: "contributor" });
  await go("team");
  await page.getByRole("button", { name: "New link Grace Hopper" }).click();
  await page.getByText("Earlier links no longer work.").waitFor();
  const second = await page.getByRole("dialog").locator("code").innerText();
  const grace = await newReader(browser, server);
  await grace.go(new URL(first, server.origin).hash.slice(2));
  await grace.page.getByText("This link was used, has expired, or was replaced.").waitFor();
  await grace.go(new URL(second).hash.slice(2));
  await heading(grace.page, "You are invited");
  await grace.page.getByLabel("Password", { exact: true }).fill("nanoseconds are that long");
  await grace.page.getByRole("button", { name: "Save and sign in" }).click();
  await heading(grace.page, "Overview");
  grace.nothingWrong();
});

test("a link that cannot be looked up says nothing of what it is for", async () => {
  const { page, context } = await newReader(browser, server);
  await page.route("**/app/link", (route) => route.abort());
  await page.goto(`${server.origin}/#/link/anything`);
  await heading(page, "Your link");
  assert.equal(await page.getByRole("heading", { name: "Choose a new password" }).count(), 0);
  await context.close();
});
