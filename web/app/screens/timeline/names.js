/** Names of what events are about. */
import { get } from "../../api.js";
import { administrates } from "../../session.js";

/** People, lists, keys and webhooks that are known by their names: as many as one call tells of. */
const NAMED = 100;

/** The names of people, webhooks, lists that have one and, for those who see them, of keys, by their ids. @param {AbortSignal} signal @returns {Promise<Record<string, string>>} */
export async function named(signal) {
  const paths = ["/users", "/webhooks", "/app/lists", ...(administrates.value ? ["/api-keys"] : [])];
  const found = await Promise.all(paths.map((path) => get(path, { per_page: NAMED }, signal)));
  return Object.fromEntries(found.flatMap(({ data }) => data.map(({ id, name, email }) => [id, name ?? email])));
}
