/** What axe-core finds on a page. Firefox obeys the policy of pages in tests, too, and has nothing put into them. */
import { createRequire } from "node:module";
import { isFirefox } from "./reader.mjs";

const { source: AXE } = createRequire(import.meta.url)("axe-core");
/** WCAG 2.2 AA, and more. */
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** The obstacles, a line each. @param {import("playwright-core").Page} page @param {object} [options] of the run */
export async function obstacles(page, options = { runOnly: RULES }) {
  if (isFirefox) return [];
  await page.evaluate(AXE);
  const { violations } = await page.evaluate((given) => globalThis.axe.run(given), options);
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`));
}
