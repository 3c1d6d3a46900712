/** Every screen, with names that are hard to lay out: nothing bursts at two widths, and no axe-core violation (WCAG 2.2 AA) in light and dark. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { obstacles } from "./axe.mjs";
import { bursts, nameAll } from "./bursts.mjs";
import { SCHEMES, settled } from "./reader.mjs";
import { EVERY, withScreens } from "./screens.mjs";

/** @param {number[]} widths window widths @param {readonly ("light" | "dark")[]} schemes screens load in the first one */
export function lookAtAll(widths, schemes = SCHEMES) {
  withScreens(undefined, nameAll);
  for (const screen of EVERY) test(`${screen.name} at ${widths.join(" and ")} px`, () => look(screen, widths, schemes));
}

/** @param {EVERY[number]} screen @param {number[]} widths @param {readonly ("light" | "dark")[]} schemes */
async function look({ place, act, who }, widths, schemes) {
  const { page, go, nothingWrong } = who();
  await page.setViewportSize({ width: widths[0], height: 900 });
  await page.emulateMedia({ colorScheme: schemes[0], reducedMotion: "reduce" });
  await go(await place());
  if (act) await act(page, widths[0]);
  await settled(page);
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    await settled(page);
    // The bar is fixed at the top; content under it at other scroll positions is no violation.
    await page.evaluate(() => window.scrollTo(0, 0));
    assert.deepEqual(await obstacles(page), [], colorScheme);
  }
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    await settled(page);
    assert.deepEqual(await page.evaluate(bursts), [], `at ${width} px`);
  }
  nothingWrong();
}
