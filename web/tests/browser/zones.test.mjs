/** Days and hours west and east of UTC: the API's calendar stays UTC, the user's choices are local. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { asOwner, browser, reader, server } from "./owner.mjs";
import { becomes, newReader, settled } from "./reader.mjs";

const ZONES = ["America/New_York", "Pacific/Auckland"];

let storageState;

asOwner(async () => {
  storageState = await reader.context.storageState();
  await server.api("GET", "/verify?email=valid%40sandbox.test");
}, { env: { PROBITY_CREDITS__PLAN: "metered", PROBITY_CREDITS__INITIAL: "100" } });

/** UTC day in the page's format. */
const shown = (at) => new Date(at).toLocaleDateString("en-GB", { dateStyle: "medium", timeZone: "UTC" });

for (const timezoneId of ZONES) {
  const read = async (act) => {
    const there = await newReader(browser, server, { timezoneId, storageState });
    await act(there);
    there.nothingWrong();
    await there.context.close();
  };

  test(`reports have the days that the API has, in ${timezoneId}`, () => read(async ({ page, go }) => {
    const { range } = await server.api("GET", "/reports/usage?period=this_month");
    const { data } = await server.api("GET", "/reports/usage/daily?days=30");
    const days = data.map(({ date }) => date).sort().reverse().map(shown);
    await go("usage");
    await page.getByText(`${shown(range.start)} – ${shown(Date.parse(range.end) - 1)}`, { exact: true }).waitFor();
    await page.getByText("Figures as a table").click();
    await becomes(() => page.getByRole("region", { name: "By day" }).locator("td[data-title=Day]").allTextContents(), days);
    const { usage } = await server.api("GET", "/organization");
    await go("");
    await page.getByText(`until ${shown(usage.current_period_end)}`, { exact: true }).waitFor();
  }));

  test(`a key lasts until the end of the day that was chosen, in ${timezoneId}`, () => read(async ({ page, go }) => {
    await go("keys");
    await page.getByRole("button", { name: "New key" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill(timezoneId);
    const last = dialog.getByLabel("Expires on");
    const today = await page.evaluate(() => new Date().toLocaleDateString("sv-SE"));
    await becomes(() => last.getAttribute("min"), today);
    await last.fill("2099-12-31");
    await dialog.getByRole("button", { name: "Create key" }).click();
    await dialog.getByLabel("Your new key", { exact: true }).last().waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await settled(page);
    const key = (await server.api("GET", "/api-keys")).data.find(({ name }) => name === timezoneId);
    const ends = await page.evaluate((at) => new Date(at).toLocaleString("sv-SE"), key.expires_at);
    assert.equal(ends, "2099-12-31 23:59:59");
  }));
}
