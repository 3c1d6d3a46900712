/**
 * The dashboard: a client of the API that runs in the browser.
 *
 * `main` finds out who is signed in, and shows either the page for signing in or the frame with the screen that the address
 * after `#` names. Screens are fetched when they are first shown. What several of them need stands beside this file (`api`,
 * `session`, `route`, `text`, `format`) and in `ui/`.
 */
import { html, render, useEffect, useErrorBoundary, useState } from "../vendor/lib.js";
import { Frame } from "./frame.js";
import { testing } from "./mode.js";
import { where } from "./route.js";
import { alone, find, inside, warm } from "./screens.js";
import { learn, session } from "./session.js";
import { language, speak, t } from "./text.js";
import { Failure, Skeleton, Toasts } from "./ui.js";

function App() {
  const place = where.value;
  const known = session.value;
  if (known === undefined) return null;
  const screen = find(place.parts, known !== null);
  return html`
    ${screen.alone ? html`<${Loaded} key=${screen.module} of=${alone[screen.module]} parts=${screen.parts} />` : html`
      <${Frame} current=${screen.module}>
        <${Loaded} key=${`${testing.value} ${screen.key}`} of=${inside[screen.module]} parts=${screen.parts} query=${place.query} />
      <//>`}
    <${Toasts} />`;
}

/** A screen, as soon as its module is there. One that breaks says so, and the frame around it goes on. */
function Loaded({ of, parts, query }) {
  const [broken] = useErrorBoundary((error) => reportError(error));
  const [loaded, setLoaded] = useState(/** @type {{ Screen?: Function, failure?: unknown }} */ ({}));
  useEffect(() => {
    let wanted = true;
    of().then(
      (module) => wanted && setLoaded({ Screen: module.Screen }),
      // The files of this build are gone: a newer one is served.
      () => wanted && setLoaded({ failure: new Error(t("failure.newer")) }),
    );
    return () => {
      wanted = false;
    };
  }, [of]);
  const failure = broken ?? loaded.failure;
  if (failure) return html`<main class="page" id="page" tabindex="-1"><${Failure} of=${failure} again=${() => location.reload()} /></main>`;
  if (!loaded.Screen) return html`<main class="page" aria-busy="true"><${Skeleton} lines=${6} /></main>`;
  return html`<${loaded.Screen} parts=${parts} query=${query} />`;
}

/** What is shown where it cannot be found out who is signed in. */
function Unknown({ why }) {
  return html`<main class="alone" id="page"><h1>Probity</h1><${Failure} of=${why} again=${() => location.reload()} /></main>`;
}

// At the same time: the texts, who is signed in, and the screen that they will most likely see.
const learnt = learn().then(() => html`<${App} />`, (why) => html`<${Unknown} why=${why} />`);
warm(where.value.parts);
await speak(language());
const page = await learnt;
// Who is signed in may have chosen another, elsewhere.
await speak(language());
const root = document.getElementById("app");
if (root) render(page, root);
