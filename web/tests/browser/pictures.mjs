/**
 * Screenshots of every screen at both widths, light and dark, in each language, for visual review: saved in target/screens. They
 * show a list of 3,000 rows with realistic columns, names and domains. Content wider than the window and clipped buttons are
 * errors.
 *
 * usage: .ci/browser browser/pictures.mjs (15 minutes; PICTURES=list,verify: only screens with these prefixes; LANGUAGES=de,fr)
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { reader, server } from "./owner.mjs";
import { SCHEMES, WIDTHS, picture, settled } from "./reader.mjs";
import { ADDRESSES, EVERY, withScreens } from "./screens.mjs";

const ROWS = 3_000;
const LANGUAGES = (process.env.LANGUAGES ?? "de,fr,es,en").split(",");
const WANTED = (process.env.PICTURES ?? "").split(",");

const FIRST = ["anna", "ben", "clara", "david", "elodie", "felix", "greta", "hugo", "ines", "jonas", "kim", "lena", "marta", "otto", "paula", "rosa", "sven", "yara"];
const LAST = ["schmidt", "rossi", "lopez", "dubois", "novak", "garcia", "bernard", "martin", "lindqvist", "patel", "oneil"];
const DOMAINS = ["gmail.com", "outlook.com", "web.de", "gmx.de", "yahoo.com", "hotmail.com", "icloud.com", "proton.me", "acme-widgets.com", "gmial.com", "xn--bcher-laden-9db.de", "mailinator.com"];
const CITIES = ["Cologne", "Lyon", "Sevilla", "Leeds", "Wien"];

withScreens(async () => {
  const names = Array.from({ length: ROWS }, (_, n) => `${FIRST[n % FIRST.length]}.${LAST[(n * 7) % LAST.length]}${n > 900 ? n % 89 : ""}`);
  const emails = [...ADDRESSES, ...names.map((name, n) => `${n % 61 === 0 ? "info" : name}@${DOMAINS[(n * n + n) % 31 % DOMAINS.length]}`), ""];
  const text = ["Name;E-mail;City;Customer number", ...emails.map((email, n) => `${email.split("@")[0].replace(".", " ")};${email};${CITIES[n % CITIES.length]};${10_000 + n}`)].join("\r\n");
  const { page, go } = reader;
  await go("lists/new");
  await page.locator("#list-file").setInputFiles({ name: "spring-newsletter-2026.csv", mimeType: "text/csv", buffer: Buffer.from(text) });
  await page.getByRole("button", { name: /^Start/ }).click();
  await page.waitForURL(/lists\/job_/);
  const id = /job_\w+/.exec(page.url())?.[0];
  await server.finished(String(id));
  return id;
});

for (const width of WIDTHS) {
  for (const screen of EVERY.filter(({ name }) => WANTED.some((wanted) => name.startsWith(wanted)))) {
    test(`${screen.name} at ${width} px`, (context) => take(screen, width, context));
  }
}

/** Steps run in English; then the page switches to the other languages. @param {EVERY[number]} screen @param {number} width */
async function take({ name, place, act, who }, width, context) {
  const { page, go, nothingWrong } = who();
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await go(await place());
  if (act) await act(page, width);
  await settled(page);
  const wrong = [];
  for (const language of LANGUAGES) {
    await page.evaluate(speak, language);
    await settled(page);
    for (const scheme of SCHEMES) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.evaluate(() => window.scrollTo(0, 0));
      await picture(page, `${name}-${width}-${scheme}-${language}`, { fullPage: true });
    }
    wrong.push(...(await page.evaluate(tooWide)).map((what) => `${language}: ${what}`));
  }
  await page.evaluate(speak, "en");
  context.diagnostic(`${LANGUAGES.length * SCHEMES.length} pictures`);
  assert.deepEqual(wrong, []);
  nothingWrong();
}

/** Runs in the page: switches the language as the menu does. @param {string} language */
async function speak(language) {
  const main = [...document.scripts].find(({ src }) => src.endsWith("/app/main.js"));
  const { choose } = await import(String(main?.src.replace("main.js", "text.js")));
  await choose(language);
}

/** Runs in the page: overflowing elements. Intentionally truncated buttons have a class for it. */
function tooWide() {
  const page = document.documentElement;
  const over = page.scrollWidth - page.clientWidth;
  const shown = [...document.querySelectorAll("button, a.button, h1, h2, .chip, [role=tab]")].filter((one) => one instanceof HTMLElement && one.offsetParent && !one.closest(".cut, .hidden-text"));
  const cut = shown.filter((one) => one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1);
  const two = shown.filter((one) => one.matches("button.button, a.button, .chip, .sample, .switch > button") && !one.matches("td *") && !one.closest(".who") && one.clientHeight > 0 && one.textContent && lines(one) > 1);
  return [...(over > 0 ? [`the page is ${over} px wider than the window`] : []), ...cut.map((one) => `cut: ${one.textContent}`), ...two.map((one) => `two lines: ${one.textContent}`)];

  function lines(element) {
    const range = document.createRange();
    range.selectNodeContents(element);
    const tops = [...range.getClientRects()].filter(({ width }) => width > 1).map(({ top, bottom }) => (top + bottom) / 2);
    return tops.length > 0 && Math.max(...tops) - Math.min(...tops) > parseFloat(getComputedStyle(element).fontSize) ? 2 : 1;
  }
}
