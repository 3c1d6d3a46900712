/**
 * Slow machines: `PROBITY_SLOWED=6` slows pages down six times (Chromium only) and delays each response by up to 400 ms. This
 * reveals premature assertions and race conditions.
 */
import { setTimeout as pause } from "node:timers/promises";

const RATE = Number(process.env.PROBITY_SLOWED ?? 1);
const LATE_MS = 400;

/** Time measurements are meaningless then. */
export const isSlowed = RATE > 1;

/** Reproducible if pages send requests in the same order (Park and Miller). */
let state = Number(process.env.PROBITY_SEED ?? 1);
function random() {
  state = (state * 48_271) % 2_147_483_647;
  return state / 2_147_483_647;
}

/** Slows all pages of a browser context. @param {import("playwright-core").BrowserContext} context */
export async function slow(context) {
  if (!isSlowed) return;
  if (process.env.BROWSER !== "firefox") context.on("page", (page) => throttle(context, page).catch(() => {}));
  await context.route(({ pathname }) => /^\/(app|v1)\//.test(pathname), async (route) => {
    await pause(random() * LATE_MS);
    // The page may be gone by then.
    await route.fallback().catch(() => {});
  });
}

async function throttle(context, page) {
  const devtools = await context.newCDPSession(page);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: RATE });
}
