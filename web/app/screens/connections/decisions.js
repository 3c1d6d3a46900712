/**
 * Decisions about planned actions, sent as they are made. The API has no way back from "keep": it is sent once its undo offer is
 * over, with the next decision or when the reader leaves.
 *
 * Decided actions leave the page at once. While a run executes actions, the API accepts no decisions; new ones are queued here
 * until it does.
 */
import { useEffect, useRef, useState } from "../../../vendor/lib.js";
import { get, post } from "../../api.js";
import { toast } from "../../ui.js";
import { t } from "../../text.js";

const AGAIN_MS = 1_000;
/** Longer than the undo offer, unless the pointer rests on it. */
const UNDO_MS = 16_000;

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
  const kept = useRef(/** @type {(Planned & { decision: string })[]} */ ([]));
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  useEffect(() => () => void release(), []);

  /** Sends what can no longer be undone. */
  function release() {
    clearTimeout(timer.current);
    if (kept.current.length === 0) return undefined;
    queue.current = [...queue.current, ...kept.current];
    kept.current = [];
    return send();
  }

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

  /** @param {Planned[]} list @param {string} decision */
  function decide(list, decision) {
    const made = list.map(({ run_id, index }) => ({ run_id, index, decision }));
    setDecided((before) => new Set([...before, ...made.map(keyOf)]));
    release();
    if (decision === "ignore") return hold(made);
    queue.current = [...queue.current, ...made];
    send();
  }

  /** Offers to undo. @param {(Planned & { decision: string })[]} made */
  function hold(made) {
    kept.current = made;
    timer.current = setTimeout(release, UNDO_MS);
    toast(t("review.kept", { n: made.length }), async () => {
      if (kept.current !== made) throw new Error(t("review.too_late"));
      clearTimeout(timer.current);
      kept.current = [];
      const back = new Set(made.map(keyOf));
      setDecided((before) => new Set([...before].filter((key) => !back.has(key))));
    });
  }
  return { decided, decide, failure, retry: send };
}

/** True if a run of this batch is executing and accepts no decisions. @param {string} path @param {Planned[]} batch */
async function acts(path, batch) {
  const runs = await Promise.all([...new Set(batch.map(({ run_id }) => run_id))].map((run) => get(`${path}/runs/${run}`)));
  return runs.some(({ state }) => state === "acting");
}
