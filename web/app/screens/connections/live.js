/** Live runs of a connection. */
import { get } from "../../api.js";
import { t } from "../../text.js";
import { useFetched } from "../../ui.js";

/** @typedef {{ planned: number, due: number, done: number, failed: number, ignored: number }} Actions */
/**
 * @typedef {object} Run
 * @property {string} id
 * @property {string} trigger
 * @property {boolean} dry_run
 * @property {string} state
 * @property {string | null} held_by
 * @property {string | null} fault
 * @property {number} contacts
 * @property {number} rows
 * @property {Actions} actions
 * @property {string} created_at
 * @property {string | null} waits_until
 * @property {string | null} finished_at
 */

/** API path of a connection. @param {string} type @param {string} id */
export const pathOf = (type, id) => `/integrations/${encodeURIComponent(type)}/connections/${encodeURIComponent(id)}`;

/** True while the server processes the run. @param {Run} run */
export const goes = (run) => ["reading", "verifying", "acting"].includes(run.state);
/** @param {Run} run */
export const waits = (run) => run.state === "needs_confirmation";

/** Why a run waits for a decision. @param {Run} run */
export const held = (run) => (run.held_by ? t(`held.${run.held_by}`) : t("held.again"));

/**
 * The newest runs, and whether older ones exist.
 * @param {string} type @param {string} id connection ID
 * @param {number} count
 * @returns {{ value?: { rows: Run[], more: boolean }, failure?: unknown, again: () => void }}
 */
export function useRuns(type, id, count) {
  return useFetched(async (signal) => {
    const { data, pagination } = await get(`${pathOf(type, id)}/runs`, { per_page: count }, signal);
    return { rows: data, more: pagination.next_cursor !== null };
  }, [type, id, count], `runs:${type}/${id}`);
}
