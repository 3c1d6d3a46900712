/** Organization settings in tabs. A tab keeps its edits while another is shown. */
import { html, useEffect, useState } from "../../vendor/lib.js";
import { get } from "../api.js";
import { link } from "../route.js";
import { administrates } from "../session.js";
import { t } from "../text.js";
import { Fetched, Note, Page, Tabs, useFetched } from "../ui.js";
import { General } from "./settings/general.js";
import { Results } from "./settings/results.js";
import { SignOn } from "./settings/sign-on.js";
import { Sources } from "./settings/sources.js";
import { Suppressions } from "./settings/suppressions.js";

/** Tabs by name, in order. @type {Record<string, { label: () => string, Part: any, administrates?: boolean }>} */
const TABS = {
  general: { label: () => t("settings.general"), Part: General },
  results: { label: () => t("lists.verdicts"), Part: Results },
  suppressions: { label: () => t("suppressions.title"), Part: Suppressions },
  reports: { label: () => t("settings.reports"), Part: Sources },
  sso: { label: () => t("sso.title"), Part: SignOn, administrates: true },
};

/** @param {{ query: URLSearchParams }} props */
export function Screen({ query }) {
  const settings = useFetched((signal) => get("/organization/settings", {}, signal), []);
  const may = administrates.value;
  const names = Object.keys(TABS).filter((name) => may || !TABS[name].administrates);
  const chosen = names.find((name) => name === query.get("tab")) ?? "general";
  const [opened, setOpened] = useState(/** @type {string[]} */ ([]));
  useEffect(() => setOpened((before) => [...new Set([...before, chosen])]), [chosen]);
  const part = (name) => html`<div key=${name} class="stack wide-gap" hidden=${name !== chosen}><${TABS[name].Part} of=${settings.value} set=${settings.set} /></div>`;
  return html`<${Page} title=${t("settings.title")} lead=${t("settings.lead")}>
    ${!may && html`<${Note}>${t("team.only_administrators")}<//>`}
    <${Tabs} label=${t("settings.title")} chosen=${chosen} of=${names.map((name) => ({ name, label: TABS[name].label(), to: link(["settings"], { tab: name === "general" ? undefined : name }) }))} />
    <${Fetched} from=${settings} lines=${12}>${() => names.filter((name) => name === chosen || opened.includes(name)).map(part)}<//>
  <//>`;
}
