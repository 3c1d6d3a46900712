/** Code sample in the user's preferred language, which applies to all samples. */
import { html, useState } from "../../vendor/lib.js";
import { t } from "../text.js";
import { Copy, Switch } from "./buttons.js";
import { Icon } from "./icon.js";

const KEPT = "probity.snippet";

/** @param {{ title: string, languages: string[], write: (language: string) => string }} props */
export function Code({ title, languages, write }) {
  const [language, setLanguage] = useState(() => languages.find((one) => one === localStorage.getItem(KEPT)) ?? languages[0]);
  const text = write(language);
  function choose(next) {
    setLanguage(next);
    localStorage.setItem(KEPT, next);
  }
  return html`<section class="stack tight" aria-label=${title}>
    <div class="row apart"><h3>${title}</h3><${Copy} text=${text} icon=${html`<${Icon} name="copy" />`}>${t("keys.copy_code")}<//></div>
    <${Switch} label=${t("keys.language")} options=${languages.map((one) => [one, one])} value=${language} set=${choose} />
    <pre class="code snippet" tabindex="0" aria-label=${language}>${text}</pre>
  </section>`;
}
