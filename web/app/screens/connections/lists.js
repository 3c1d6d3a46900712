/** Account lists to verify; requested from the platform when the user opens the choice. */
import { html, useState } from "../../../vendor/lib.js";
import { get } from "../../api.js";
import { number } from "../../format.js";
import { t } from "../../text.js";
import { Among, Choice, Fetched, Group, useFetched } from "../../ui.js";

/** @param {{ path: string, isActive: boolean, value: string[], set: (lists: string[]) => void }} props empty for all lists */
export function Lists({ path, isActive, value, set }) {
  const [some, setSome] = useState(value.length > 0);
  const choose = (which) => {
    setSome(which === "some");
    if (which === "all") set([]);
  };
  return html`<${Choice} label=${t("lists.title")} value=${some ? "some" : "all"} set=${choose} options=${[["all", t("connections.lists_all")], ["some", t("connections.lists_some")]]} />
    ${some && (isActive ? html`<${Chosen} path=${path} value=${value} set=${set} />` : html`<p class="quiet small">${t("connections.lists_gone")}</p>`)}`;
}

function Chosen({ path, value, set }) {
  const known = useFetched((signal) => get(`${path}/lists`, {}, signal), [path]);
  return html`<${Fetched} from=${known}>${({ data }) => html`<${Group} label=${t("connections.lists_which")} hint=${value.length === 0 ? t("connections.lists_none") : undefined}>
    ${data.map(({ id, name, count }) => html`<${Among} key=${id} of=${id} label=${name} hint=${count !== null && number(count)} list=${value} set=${set} />`)}<//>`}<//>`;
}
