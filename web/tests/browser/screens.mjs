/** Every screen with sample content, for screenshots and accessibility checks. */
import { CONNECTIONS, connect } from "./connections-screens.mjs";
import { asOwner, browser, reader, server } from "./owner.mjs";
import { OWNER, act, downloadAs, newReader, sample } from "./reader.mjs";

export const ADDRESSES = [
  "valid@sandbox.test", "nonexistent@sandbox.test", "inbox_full@sandbox.test", "role_based@sandbox.test", "accept_all@sandbox.test",
  "failed_exchange@sandbox.test", "not an address", "a.very.long.local.part.that.goes.on.and.on.and.on.until.it.ends@a.long.name.of.a.host.sandbox.test",
];

/** Visitor who is not signed in. @type {Awaited<ReturnType<typeof newReader>>} */
let stranger;
const made = { job: "", webhook: "", delivery: "", link: "" };

/**
 * Server with content on every screen.
 * @param {() => Promise<string | void>} [list] creates the list for the screens of a completed list; returns its ID
 * @param {() => Promise<void>} [finish] changes the content
 */
export const withScreens = (list = async () => {}, finish = async () => {}) => asOwner(async () => {
  stranger = await newReader(browser, server);
  made.job = (await server.api("POST", "/batch-verify", { emails: ADDRESSES })).id;
  made.webhook = (await server.api("POST", "/webhooks", { name: "Newsletter", url: "https://hooks.example.com/probity", events: ["job.finished", "status.undeliverable"] })).id;
  made.delivery = (await server.api("POST", `/webhooks/${made.webhook}/test`)).id;
  made.link = await invite();
  for (const email of ADDRESSES.slice(0, 4)) await server.api("GET", `/verify?email=${encodeURIComponent(email)}`);
  await server.finished(made.job);
  made.job = await list() ?? made.job;
  await connect();
  await finish();
}, { platform: ["ghost", "--contacts", "240"] });

/** Location of an invitation link. */
async function invite() {
  const grace = { email: "grace@example.com", name: "Grace Hopper", role: "contributor" };
  const { invitation_url: url } = await server.api("POST", "/users", grace);
  return new URL(url, server.origin).hash.slice(2);
}

const press = (name) => async (page) => {
  await page.getByRole("button", { name, exact: true }).first().click();
  await page.getByRole("dialog").waitFor();
};

let turn = 0;
/** Location of a list that runs for 50 seconds: the mail server of its last address delays the reply. */
async function runningList() {
  const emails = [...ADDRESSES, `person${turn += 1}+delay-50s@catchall.sandbox.test`];
  return `lists/${(await server.api("POST", "/batch-verify", { emails })).id}`;
}

/**
 * Picture name, location, steps.
 * @type {[string, () => string, ((page: import("playwright-core").Page, width: number) => Promise<unknown> | unknown)?][]}
 */
const INSIDE = [
  ["overview", () => ""],
  ["menu", () => "", async (page, width) => width < 800 && page.getByRole("button", { name: "Menu" }).click()],
  ["verify", () => "verify"],
  ["verify-verdict", () => "verify?email=role_based@sandbox.test", async (page) => {
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    await page.getByRole("heading", { name: "What was checked" }).waitFor();
  }],
  // A new address each time: cached verdicts have no dialog.
  ["verify-conversation", () => `verify?email=stranger${turn += 1}@sandbox.test`, async (page) => {
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    await page.getByRole("heading", { name: "Time until each reply" }).waitFor();
  }],
  ["verify-as-it-was", () => `verify?email=stranger${turn += 1}@sandbox.test`, async (page) => {
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    await page.getByRole("button", { name: "As it was" }).click();
    await page.getByRole("table", { name: "Step by step" }).waitFor();
  }],
  ["verify-several", () => "verify/several", async (page) => {
    await page.getByLabel("Addresses").fill(ADDRESSES.join("\n"));
    await page.getByRole("button", { name: "Verify 7 addresses" }).click();
    await page.getByText("7 of 7 answered").waitFor();
  }],
  ["lists", () => "lists"],
  ["lists-new", () => "lists/new", (page) => page.getByLabel("Addresses").fill(ADDRESSES.join("\n"))],
  ["lists-file", () => "lists/new", async (page) => {
    const text = [`${sample.column};E-Mail;City`, ...ADDRESSES.map((email, n) => `Person ${n};${email};Cologne`)].join("\r\n");
    await page.locator("#list-file").setInputFiles({ name: sample.file, mimeType: "text/csv", buffer: Buffer.from(text) });
    await page.getByRole("heading", { name: "Mail providers" }).waitFor();
  }],
  ["lists-refused", () => "lists/new", async (page) => {
    await page.locator("#list-file").setInputFiles({ name: "people.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.7") });
    await page.getByText("This is a PDF.").waitFor();
  }],
  ["list", () => `lists/${made.job}`],
  ["list-file-refused", () => `lists/${made.job}`, async (page) => {
    await page.route(/\/download\?/, (route) => route.fulfill({ status: 503, body: "" }), { times: 2 });
    await (await downloadAs(page, "CSV")).click();
    await page.getByRole("alert").waitFor();
  }],
  ["list-searched", () => `lists/${made.job}?q=sandbox&status=undeliverable`],
  ["list-nothing-found", () => `lists/${made.job}?q=nobody-has-this`, (page) => page.getByText("No row matches your search.").waitFor()],
  ["list-running", () => runningList(), (page) => page.getByText("Running", { exact: true }).waitFor()],
  ["list-cancel", () => runningList(), (page) => act(page, "Stop verification")],
  ["list-download", () => `lists/${made.job}`, (page) => downloadAs(page, "Excel")],
  ["list-row", () => `lists/${made.job}`, (page) => page.getByRole("gridcell", { name: "valid@sandbox.test" }).click()],
  ["list-rename", () => `lists/${made.job}`, (page) => page.getByRole("button", { name: "Rename this list" }).click()],
  ["list-delete", () => `lists/${made.job}`, (page) => act(page, "Delete this list")],
  ["find", () => "lists/find?q=sandbox.test", async (page) => {
    await page.getByRole("button", { name: "Find" }).click();
    await page.getByRole("heading", { level: 2 }).waitFor();
  }],
  ["list-missing", () => "lists/job_00000000000000000000000000"],
  ["timeline", () => "timeline"],
  ["usage", () => "usage"],
  ["usage-by-domain", () => "usage?by=domain", async (page) => {
    await page.getByRole("table", { name: "Domain" }).waitFor();
    await page.getByLabel("Show", { exact: true }).selectOption({ label: "Custom range" });
    await page.locator(".u-over").hover({ position: { x: 9, y: 90 } });
  }],
  ["usage-by-key", () => "usage?by=key", (page) => page.getByRole("table", { name: "API key" }).waitFor()],
  ["keys", () => "keys"],
  ["keys-new", () => "keys", async (page) => {
    await press("New key")(page);
    await page.getByRole("radio", { name: "My choice" }).check();
  }],
  ["keys-made", () => "keys", async (page) => {
    await press("New key")(page);
    await page.getByLabel("Name").fill("Sign-up form");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("button", { name: "JavaScript" }).click();
  }],
  ["keys-usage", () => "keys", async (page) => {
    await page.getByRole("button", { name: /^Usage/ }).last().click();
    await page.getByRole("dialog").locator(".u-over").waitFor();
  }],
  ["keys-rotate", () => "keys", (page) => page.getByRole("button", { name: /^Rotate/ }).first().click()],
  ["keys-revoke", () => "keys", (page) => page.getByRole("button", { name: /^Revoke/ }).first().click()],
  ["widget", () => "widget", async (page) => {
    await page.getByLabel("Address", { exact: true }).fill("ada@gmial.com");
    await page.getByRole("button", { name: "ada@gmail.com" }).waitFor();
  }],
  ["widget-new-key", () => "widget", (page) => page.getByRole("button", { name: "New public key" }).click()],
  ["privacy", () => "privacy"],
  ["team", () => "team"],
  ["team-invite", () => "team", press("Invite a team member")],
  ["requests", () => "requests", (page) => page.getByRole("table", { name: "Requests" }).waitFor()],
  ["requests-nothing", () => "requests?status=broken", (page) => page.getByText("No request matches").waitFor()],
  ["webhooks", () => "webhooks"],
  ["webhooks-new", () => "webhooks", press("New webhook")],
  ["webhooks-made", () => "webhooks", async (page) => {
    await press("New webhook")(page);
    await page.getByLabel("Name").fill("Shop");
    await page.getByLabel("URL").fill("https://shop.example.com/probity");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByLabel("Secret").waitFor();
  }],
  ["webhook", () => `webhooks/${made.webhook}`],
  ["webhook-delivery", () => `webhooks/${made.webhook}/${made.delivery}`, (page) => page.getByText("Your server couldn't be reached").waitFor()],
  ["settings", () => "settings"],
  ["settings-results", () => "settings?tab=results", (page) => page.getByRole("heading", { name: "Effect on the last list" }).waitFor()],
  ["settings-suppressions", () => "settings?tab=suppressions", async (page) => {
    await page.getByLabel("Find an address on these lists").fill(ADDRESSES[7]);
    await page.getByRole("button", { name: "Find", exact: true }).click();
    await page.getByText("is on no list").waitFor();
  }],
  ["settings-reports", () => "settings?tab=reports"],
  ["settings-sso", () => "settings?tab=sso"],
  ["account", () => "account"],
  ["second-factor", () => "account", async (page) => {
    const begin = page.locator("form").filter({ has: page.getByRole("button", { name: "Set up" }) });
    await begin.getByLabel("Current password").fill(OWNER.password);
    await begin.getByRole("button", { name: "Set up" }).click();
    await page.getByText("Scan this code").waitFor();
  }],
  ...CONNECTIONS,
  ["share", () => `lists/${made.job}`, async (page) => {
    await act(page, "Share the summary");
    await page.getByRole("button", { name: "Create link" }).waitFor();
  }],
  ["missing", () => "nowhere"],
];
/** As in `INSIDE`, for signed-out visitors. @type {typeof INSIDE} */
const OUTSIDE = [
  ["sign-in", () => ""],
  ["sign-in-refused", () => "", async (page) => {
    await page.getByLabel("Email address").fill("nobody@example.com");
    await page.getByLabel("Password").fill("not the password");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
  }],
  ["invitation", () => made.link],
  ["link-gone", () => "link/gone", (page) => page.getByText("This link was used").waitFor()],
  ["forgotten", () => "sign-in/forgotten", (page) => page.getByText("This server sends no email.").waitFor()],
];

/** All screens, each with the user that sees it. */
export const EVERY = [
  ...INSIDE.map(([name, place, act]) => ({ name, place, act, who: () => reader })),
  ...OUTSIDE.map(([name, place, act]) => ({ name, place, act, who: () => stranger })),
];
