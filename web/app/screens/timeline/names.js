/** Names of what events are about. */
import { get } from "../../api.js";
import { administrates } from "../../session.js";

/** People, lists, keys and webhooks that are known by their names: as many as one call tells of. */
const NAMED = 100;

/** The names of people, webhooks, lists that have one and, for those who see them, of keys, by their ids. @param {AbortSignal} signal @returns {Promise<Record<string, string>>} */
export async function named(signal) {
  const ask = (path) => get(path, { per_page: NAMED }, signal);
  const paths = ["/users", "/webhooks", ...(administrates.value ? ["/api-keys"] : [])];
  // A list can be told of without its name, so the other names do not depend on those of lists.
  const found = await Promise.all([...paths.map(ask), ask("/app/lists").catch(() => ({ data: [] }))]);
  return Object.fromEntries(found.flatMap(({ data }) => data.map(({ id, name, email }) => [id, name ?? email])));
}
