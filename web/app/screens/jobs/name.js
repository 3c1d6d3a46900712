/** Display name of a list; its size and origin replace a missing name. */
import { platformName } from "../../platforms.js";
import { t } from "../../text.js";

/** @param {{ name?: string | null, key?: string | null, rows?: number, source: string, source_integration?: string | null }} of */
export function nameOf({ name, key, rows: n, source, source_integration: platform }) {
  if (name) return name;
  if (platform) return platformName(platform);
  if (n === undefined || source === "widget") return t(`trigger.${source}`);
  return key ? t("lists.unnamed_by", { n, key }) : t("lists.unnamed", { n, source: t(`trigger.${source}`) });
}
