/**
 * Slow machines: `PROBITY_SLOWED=6` slows the pages six times (Chromium only), and lets each answer come up to 400 ms late. What a
 * test asserts too early, or a page takes for granted, shows then.
 */
import { setTimeout as pause } from "node:timers/promises";

const RATE = Number(process.env.PROBITY_SLOWED ?? 1);
const LATE_MS = 400;

/** What measures time says nothing then. */
export const isSlowed = RATE > 1;

/** The same in each run, as far as pages ask in the same order (Park and Miller). */
let state = Number(process.env.PROBITY_SEED ?? 1);
function random() {
  state = (state * 48_271) % 2_147_483_647;
  return state / 2_147_483_647;
}

/** Slows all pages of a browser's window. @param {import("playwright-core").BrowserContext} context */
export async function slow(context) {
  if (!isSlowed) return;
  if (process.env.BROWSER !== "firefox") context.on("page", (page) => throttle(context, page).catch(() => {}));
  await context.route(({ pathname }) => /^\/(app|v1)\//.test(pathname), async (route) => {
    await pause(random() * LATE_MS);
    // Who asked may have gone by then.
    await route.fallback().catch(() => {});
  });
}

async function throttle(context, page) {
  const devtools = await context.newCDPSession(page);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: RATE });
}
