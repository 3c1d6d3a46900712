/** Has a contact of a connection's run never acted upon again: a rule of the connection, which can be taken back at once. */
import { html } from "../../../vendor/lib.js";
import { get, post, remove } from "../../api.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Button, toast } from "../../ui.js";
import { pathOf } from "../connections/live.js";

/** Runs of a connection among which the list is looked for. */
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

/** Where the connection is whose run this list is. @param {string} type @param {string} run */
async function connectionOf(type, run) {
  const { connections } = await get(`/integrations/${encodeURIComponent(type)}`);
  for (const { id } of connections) {
    const path = pathOf(type, id);
    const { data } = await get(`${path}/runs`, { per_page: RUNS });
    if (data.some((one) => one.id === run)) return path;
  }
  return undefined;
}
