/** What axe-core finds on a page. Firefox obeys the policy of pages in tests, too, and has nothing put into them. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { isFirefox } from "./reader.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** WCAG 2.2 AA, and more. */
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** The obstacles, a line each. @param {import("playwright-core").Page} page @param {object} [options] of the run */
export async function obstacles(page, options = { runOnly: RULES }) {
  if (isFirefox) return [];
  if (!await page.evaluate(() => "axe" in globalThis)) await page.evaluate(AXE);
  const found = async (given) => (await globalThis.axe.run({ ...given, resultTypes: ["violations"] })).violations;
  const violations = await page.evaluate(found, options);
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`));
}
