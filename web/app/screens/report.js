/** List report for signed-in members; the same as the shared one, without a link token. */
import { html } from "../../vendor/lib.js";
import { Screen as Shared } from "./shared.js";

/** @param {{ parts: string[] }} props job ID */
export const Screen = ({ parts }) => html`<${Shared} parts=${parts} own=${true} />`;
