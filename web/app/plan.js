/** What the organization's plan means for pages. */
import { signal, useEffect } from "../vendor/lib.js";
import { get } from "./api.js";
import { whenGone } from "./kept.js";

/** The plan under which credits do not count: no page speaks of them, of the plan or of seats. */
const UNLIMITED = "unlimited";

/** As the server said last; `undefined` before. */
const plan = signal(/** @type {string | undefined} */ (undefined));
whenGone(() => {
  plan.value = undefined;
});

/** Whether credits count; not before that is known. Each page asks the server again. */
export function useMetered() {
  useEffect(() => {
    get("/organization").then((organization) => {
      plan.value = organization.plan;
    }, () => {});
  }, []);
  return plan.value !== undefined && plan.value !== UNLIMITED;
}
