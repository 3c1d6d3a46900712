/** Starts another run: a dry run, or one that acts according to the settings. */
import { html } from "../../../vendor/lib.js";
import { post } from "../../api.js";
import { administrates } from "../../session.js";
import { t } from "../../text.js";
import { Asking, Button } from "../../ui.js";
import { goes, waits } from "./live.js";

/**
 * @param {{ path: string, platform: any, of: any, runs: import("./live.js").Run[], again: () => void }} props empty while a run is active
 */
export function Start({ path, platform, of, runs, again }) {
  if (!administrates.value || of.status !== "active" || runs.some(goes)) return null;
  const start = (isDry) => async () => {
    await post(`${path}/runs`, { dry_run: isDry }, true);
    again();
  };
  const { action, manual_mode: asksAlways } = of.settings;
  const acts = action && action !== "do_nothing";
  return html`
    ${acts && html`<${Asking} label=${t(`run_and.${action}`)} work=${start(false)}>
      ${t("connections.run_text")} ${asksAlways ? t("connections.run_manual") : t("connections.run_asks")} ${t(`undo.${action}`, { platform: platform.name })}<//>`}
    <${Button} kind=${runs.some(waits) ? "" : "primary"} work=${start(true)}>${t("connections.check")}<//>`;
}
