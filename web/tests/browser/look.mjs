/** Every screen, at both widths, light and dark: as a picture, and without an obstacle that axe-core knows (WCAG 2.2 AA). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { obstacles } from "./axe.mjs";
import { SCHEMES, WIDTHS, picture, settled } from "./reader.mjs";
import { EVERY, withScreens } from "./screens.mjs";

withScreens();

for (const width of WIDTHS) {
  for (const scheme of SCHEMES) {
    for (const screen of EVERY) test(`${screen.name} at ${width} px, ${scheme}`, () => look(screen, width, scheme));
  }
}

/** @param {EVERY[number]} screen @param {number} width @param {SCHEMES[number]} scheme */
async function look({ name, place, act, who }, width, scheme) {
  const { page, go, nothingWrong } = who();
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
  await go(await place());
  if (act) await act(page, width);
  await settled(page);
  // The bar stays at the top of the window; what lies below it elsewhere is no obstacle.
  await page.evaluate(() => window.scrollTo(0, 0));
  await picture(page, `${name}-${width}-${scheme}`, { fullPage: true });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `the page is ${wide} px wider than the window`);
  assert.deepEqual(await obstacles(page), []);
  nothingWrong();
}
