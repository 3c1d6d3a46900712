/** What the organization's plan means for a page. */
import { get } from "./api.js";
import { useFetched } from "./ui/table.js";

/** The plan under which credits do not count: no page speaks of them. */
export const UNLIMITED = "unlimited";

/** Whether credits count; not before that is known. */
export function useMetered() {
  const organization = useFetched((signal) => get("/organization", {}, signal), []);
  return organization.value !== undefined && organization.value.plan !== UNLIMITED;
}
