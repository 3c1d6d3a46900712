/** Every screen, light and dark: nothing wider than the window, and no obstacle that axe-core knows (WCAG 2.2 AA). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { obstacles } from "./axe.mjs";
import { SCHEMES, settled } from "./reader.mjs";
import { EVERY, withScreens } from "./screens.mjs";

/** @param {number} width of the window @param {readonly ("light" | "dark")[]} schemes the first is that in which screens are loaded */
export function lookAtAll(width, schemes = SCHEMES) {
  withScreens();
  for (const screen of EVERY) test(`${screen.name} at ${width} px`, () => look(screen, width, schemes));
}

/** @param {EVERY[number]} screen @param {number} width @param {readonly ("light" | "dark")[]} schemes */
async function look({ place, act, who }, width, schemes) {
  const { page, go, nothingWrong } = who();
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ colorScheme: schemes[0], reducedMotion: "reduce" });
  await go(await place());
  if (act) await act(page, width);
  await settled(page);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `the page is ${wide} px wider than the window`);
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    await settled(page);
    // The bar stays at the top of the window; what lies below it elsewhere is no obstacle.
    await page.evaluate(() => window.scrollTo(0, 0));
    assert.deepEqual(await obstacles(page), [], colorScheme);
  }
  nothingWrong();
}
