/** What a list is called: one without a name by where it comes from. */
import { platformName } from "../../platforms.js";
import { t } from "../../text.js";

/** @param {{ name?: string | null, source: string, source_integration?: string | null }} of */
export const nameOf = (of) => of.name ?? (of.source_integration ? platformName(of.source_integration) : t(`trigger.${of.source}`));
