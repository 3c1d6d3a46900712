/** API examples with this server's URL, and links to the documentation. */
import { html, useState } from "../../vendor/lib.js";
import { administrates } from "../session.js";
import { t } from "../text.js";
import { Button, Card, Failure, Field, Note, Page, Select } from "../ui.js";

/** Read-only calls to try. */
const CALLS = {
  verify: "/v1/verify?email=nonexistent@sandbox.test&explain=true",
  organization: "/v1/organization",
  jobs: "/v1/jobs?per_page=2",
  usage: "/v1/reports/usage?period=this_month",
};

export function Screen() {
  const [key, setKey] = useState("");
  const [call, setCall] = useState("verify");
  const [answer, setAnswer] = useState(/** @type {{ head?: string, text?: string, failure?: unknown }} */ ({}));
  const wrong = key.trim() && !key.includes("_test_") ? t("docs.key_live") : undefined;
  const url = `${location.origin}${CALLS[call]}`;

  async function run() {
    try {
      // Same as an API client: with the key, without the session cookie.
      const response = await fetch(url, { headers: { authorization: `Bearer ${key.trim()}` }, credentials: "omit" });
      const body = JSON.stringify(await response.json(), null, 2);
      const head = `HTTP ${response.status} ${response.statusText}`;
      setAnswer({ head, text: `${head}\n\n${body}` });
    } catch (failure) {
      setAnswer({ failure });
    }
  }

  return html`<${Page} title=${t("docs.title")} lead=${t("docs.lead")}
      actions=${html`<a class="button" href="/docs">${t("docs.all")}</a><a class="button" href="/v1/openapi.json">OpenAPI</a>`}>
    <${Card} title=${t("docs.try")}>
      <div class="columns">
        <${Select} label=${t("docs.call")} value=${call} set=${(next) => { setCall(next); setAnswer({}); }}
          options=${Object.keys(CALLS).map((of) => [of, t(`docs.call_${of}`)])} />
        <${Field} label=${t("docs.key")} hint=${t("docs.key_hint")} wrong=${wrong} autocomplete="off" spellcheck=${false} placeholder="probity_test_…" value=${key} set=${setKey} />
      </div>
      <pre class="code" tabindex="0">${`curl -H "Authorization: Bearer ${key.trim() ? "$PROBITY_KEY" : "probity_test_…"}" \\\n  "${url}"`}</pre>
      <div class="row end"><${Button} kind="primary" work=${run} disabled=${key.trim() === "" || wrong !== undefined}>${t("docs.run")}<//></div>
      ${answer.failure !== undefined && html`<${Failure} of=${answer.failure} />`}
      <p class="hidden-text" role="status">${answer.head}</p>
      ${answer.text && html`<pre class="code" tabindex="0">${answer.text}</pre>`}
    <//>
    ${administrates.value && html`<${Note}>${t("docs.keys")} <a href="#/keys">${t("keys.title")}</a><//>`}
  <//>`;
}
