/** Every screen in light and dark: nothing wider than the window, and no axe-core violation (WCAG 2.2 AA). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { obstacles } from "./axe.mjs";
import { SCHEMES, settled } from "./reader.mjs";
import { EVERY, withScreens } from "./screens.mjs";

/** @param {number} width window width @param {readonly ("light" | "dark")[]} schemes screens load in the first one */
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
    // The bar is fixed at the top; content under it at other scroll positions is no violation.
    await page.evaluate(() => window.scrollTo(0, 0));
    assert.deepEqual(await obstacles(page), [], colorScheme);
  }
  nothingWrong();
}
