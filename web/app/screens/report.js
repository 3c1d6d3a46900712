/** The report of a list for its own members, who are signed in: as behind a link, without one. */
import { html } from "../../vendor/lib.js";
import { Screen as Shared } from "./shared.js";

/** @param {{ parts: string[] }} props the list */
export const Screen = ({ parts }) => html`<${Shared} parts=${parts} own=${true} />`;
