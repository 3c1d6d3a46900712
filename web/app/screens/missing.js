/** Not-found page. */
import { html } from "../../vendor/lib.js";
import { t } from "../text.js";
import { Empty, Page } from "../ui.js";

export function Screen() {
  const home = html`<a class="button primary" href="#/">${t("missing.home")}</a>`;
  return html`<${Page} title=${t("missing.title")}><${Empty} title=${t("missing.text")} action=${home} /><//>`;
}
