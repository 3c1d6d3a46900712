/** Names of resources in events. */
import { get } from "../../api.js";
import { administrates } from "../../session.js";

/** Maximum number of named resources per type, one API page. */
const NAMED = 100;

/**
 * Names by ID of team members, webhooks, named lists and, if visible to the role, keys.
 * @param {AbortSignal} signal @returns {Promise<Record<string, string>>}
 */
export async function named(signal) {
  const ask = (path) => get(path, { per_page: NAMED }, signal);
  const paths = ["/users", "/webhooks", ...(administrates.value ? ["/api-keys"] : [])];
  // List names are optional, so their failure does not affect the others.
  const found = await Promise.all([...paths.map(ask), ask("/app/lists").catch(() => ({ data: [] }))]);
  return Object.fromEntries(found.flatMap(({ data }) => data.map(({ id, name, email }) => [id, name ?? email])));
}
