/**
 * Entry point of the dashboard, a browser client of the API.
 *
 * `main` loads the session, then shows the sign-in page or the frame with the screen named after `#`. Screens are loaded on first
 * use. Shared modules are in this directory (`api`, `session`, `route`, `text`, `format`) and in `ui/`.
 */
import { html, render, useEffect, useErrorBoundary, useState } from "../vendor/lib.js";
import { lackOfModule } from "./away.js";
import { Frame } from "./frame.js";
import { Away } from "./frame/away.js";
import { Leaving } from "./frame/leaving.js";
import { testing } from "./mode.js";
import { where } from "./route.js";
import { alone, find, inside, warm } from "./screens.js";
import { learn, session } from "./session.js";
import { language, speak } from "./text.js";
import { Failure, Skeleton, Toasts, missingPart, useReturn } from "./ui.js";

function App() {
  const place = where.value;
  const known = session.value;
  if (known === undefined) return null;
  const screen = find(place.parts, known !== null);
  return html`<${Away} />
    ${screen.alone ? html`<${Loaded} key=${screen.module} of=${alone[screen.module]} parts=${screen.parts} />` : html`
      <${Frame} current=${screen.module}>
        <${Loaded} key=${`${testing.value} ${screen.key}`} of=${inside[screen.module]} parts=${screen.parts} query=${place.query} />
      <//>`}
    <${Leaving} /><${Toasts} />`;
}

const reload = () => location.reload();

/** Screen, once its module is loaded. An error in a screen is shown there; the frame keeps working. */
function Loaded({ of, parts, query }) {
  const [broken] = useErrorBoundary((error) => reportError(error));
  const [loaded, setLoaded] = useState(/** @type {{ Screen?: Function, failure?: unknown }} */ ({}));
  useEffect(() => {
    let wanted = true;
    of().then(
      (module) => wanted && setLoaded({ Screen: module.Screen }),
      async () => {
        const failure = missingPart(await lackOfModule());
        if (wanted) setLoaded({ failure });
      },
    );
    return () => {
      wanted = false;
    };
  }, [of]);
  // Not every browser requests a module again that failed.
  useReturn(loaded.failure, reload);
  const failure = broken ?? loaded.failure;
  if (failure) return html`<main class="page" id="page" tabindex="-1"><${Failure} of=${failure} again=${reload} /></main>`;
  if (!loaded.Screen) return html`<main class="page" aria-busy="true"><${Skeleton} lines=${6} /></main>`;
  return html`<${loaded.Screen} parts=${parts} query=${query} />`;
}

/** Shown if the session cannot be loaded. */
function Unknown({ why }) {
  useReturn(why, reload);
  return html`<${Away} /><main class="alone" id="page"><h1>Probity</h1><${Failure} of=${why} again=${reload} /></main>`;
}

// Loads the texts, the session and the likely screen in parallel.
const learnt = learn().then(() => html`<${App} />`, (why) => html`<${Unknown} why=${why} />`);
warm(where.value.parts);
await speak(language());
const page = await learnt;
// The user's stored language may differ from the browser's.
await speak(language());
const root = document.getElementById("app");
if (root) render(page, root);
