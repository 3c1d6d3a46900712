/** Display name of a list; the source replaces a missing name. */
import { platformName } from "../../platforms.js";
import { t } from "../../text.js";

/** @param {{ name?: string | null, source: string, source_integration?: string | null }} of */
export const nameOf = (of) => of.name ?? (of.source_integration ? platformName(of.source_integration) : t(`trigger.${of.source}`));
