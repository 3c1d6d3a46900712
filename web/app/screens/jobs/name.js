/** What a list is called: one without a name by where it comes from. */
import { t } from "../../text.js";

/** @param {{ name?: string | null, source: string }} of */
export const nameOf = (of) => of.name ?? t(`trigger.${of.source}`);
