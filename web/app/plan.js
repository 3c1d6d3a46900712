/** Effect of the organization's plan on pages. */
import { signal, useEffect } from "../vendor/lib.js";
import { get } from "./api.js";
import { whenGone } from "./kept.js";

/** Plan without credit accounting: pages hide credits, the plan and seats. */
const UNLIMITED = "unlimited";

/** Last plan from the server; `undefined` before the first response. */
const plan = signal(/** @type {string | undefined} */ (undefined));
whenGone(() => {
  plan.value = undefined;
});

/** True if credits are counted; false until the plan is known. Each page requests it again. */
export function useMetered() {
  useEffect(() => {
    get("/organization").then((organization) => {
      plan.value = organization.plan;
    }, () => {});
  }, []);
  return plan.value !== undefined && plan.value !== UNLIMITED;
}
