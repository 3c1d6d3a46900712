/** axe-core checks of a page. Firefox enforces the content security policy in tests too and gets nothing injected. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { isFirefox } from "./reader.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** WCAG 2.2 AA and best practices. */
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Violations, one per line. @param {import("playwright-core").Page} page @param {object} [options] axe run options */
export async function obstacles(page, options = { runOnly: RULES }) {
  if (isFirefox) return [];
  if (!await page.evaluate(() => "axe" in globalThis)) await page.evaluate(AXE);
  const found = async (given) => (await globalThis.axe.run({ ...given, resultTypes: ["violations"] })).violations;
  const violations = await page.evaluate(found, options);
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`));
}
