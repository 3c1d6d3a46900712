/**
 * Decisions about planned actions, sent as they are made.
 *
 * Decided actions leave the page at once. While a run executes actions, the API accepts no decisions; new ones are queued here
 * until it does.
 */
import { useRef, useState } from "../../../vendor/lib.js";
import { get, post } from "../../api.js";
import { toast } from "../../ui.js";
import { t } from "../../text.js";

const AGAIN_MS = 1_000;

/** @typedef {{ run_id: string, index: number }} Planned */

/** @param {Planned} one */
export const keyOf = (one) => `${one.run_id}/${one.index}`;

/**
 * @param {string} path connection path
 * @param {() => void} again called after a decision
 */
export function useDecisions(path, again) {
  const [decided, setDecided] = useState(/** @type {Set<string>} */ (new Set()));
  const [failure, setFailure] = useState(/** @type {unknown} */ (undefined));
  const queue = useRef(/** @type {(Planned & { decision: string })[]} */ ([]));
  const busy = useRef(false);

  async function send() {
    if (busy.current) return;
    busy.current = true;
    setFailure(undefined);
    try {
      while (queue.current.length > 0) {
        const batch = queue.current.slice(0, 1_000);
        const { decided: count } = await post(`${path}/review/decisions`, { decisions: batch }, true);
        if (count < batch.length && (await acts(path, batch))) {
          await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
          continue;
        }
        queue.current = queue.current.slice(batch.length);
        if (batch.some(({ decision }) => decision === "whitelist")) toast(t("review.ruled"));
        again();
      }
    } catch (why) {
      setFailure(why);
    } finally {
      busy.current = false;
    }
  }

  /** @param {Planned} one @param {string} decision */
  function decide({ run_id, index }, decision) {
    queue.current = [...queue.current, { run_id, index, decision }];
    setDecided((before) => new Set(before).add(keyOf({ run_id, index })));
    send();
  }
  return { decided, decide, failure, retry: send };
}

/** True if a run of this batch is executing and accepts no decisions. @param {string} path @param {Planned[]} batch */
async function acts(path, batch) {
  const runs = await Promise.all([...new Set(batch.map(({ run_id }) => run_id))].map((run) => get(`${path}/runs/${run}`)));
  return runs.some(({ state }) => state === "acting");
}
