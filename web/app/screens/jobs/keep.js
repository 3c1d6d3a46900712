/** Adds a rule that keeps a contact of a connection's run, with undo. */
import { html } from "../../../vendor/lib.js";
import { get, post, remove } from "../../api.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Button, toast } from "../../ui.js";
import { pathOf } from "../connections/live.js";

/** Recent runs searched for the list's run. */
const RUNS = 100;

/** @param {{ of: import("../../live.js").Progress, email: string }} props */
export function Keep({ of, email }) {
  const type = of.source_integration;
  if (!type || !administrates.value) return null;
  async function keep() {
    if (!type) return;
    const path = await connectionOf(type, of.id);
    if (!path) throw new Error(t("lists.keep_gone"));
    const rule = { keyword: email, match: "exact", applies_to: { email: true } };
    const { data: [{ id }] } = await post(`${path}/keywords/whitelist`, { rules: [rule] }, true);
    toast(t("rules.added", { n: 1 }), () => remove(`${path}/keywords/whitelist/${encodeURIComponent(id)}`));
  }
  return html`<${Button} kind="slim" work=${keep}>${t("rules.whitelist")}<//>`;
}

/** Path of the connection whose run created the list. @param {string} type @param {string} run */
async function connectionOf(type, run) {
  const { connections } = await get(`/integrations/${encodeURIComponent(type)}`);
  for (const { id } of connections) {
    const path = pathOf(type, id);
    const { data } = await get(`${path}/runs`, { per_page: RUNS });
    if (data.some((one) => one.id === run)) return path;
  }
  return undefined;
}
