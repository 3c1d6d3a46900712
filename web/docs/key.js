/**
 * Test key for the API examples.
 *
 * The server stores only key hashes, so the browser keeps a test key that was created or pasted here or in the dashboard until
 * its user signs out. A key pasted without signing in is kept until the tab is closed or someone signs in. Live keys are
 * rejected: they spend credits, and page content gets copied.
 */
import { forgetKey, forgetKeyOfOthers, keepKey, keptKey } from "./testkey.js";
import { make } from "./make.js";

/** Lifetime of a key created with one click. */
const LASTS_MS = 30 * 86_400_000;

/** @param {(key?: string) => void} fillIn */
export async function offerKey(fillIn) {
  const place = document.getElementById("key");
  if (!place) return;
  const session = await signedIn();
  const user = session?.user.id;
  const show = () => {
    const key = keptKey(user);
    fillIn(key);
    place.replaceChildren(...(key ? filled(key, drop) : offered(session, take)));
  };
  const take = (secret) => {
    keepKey(user, secret);
    show();
    place.querySelector("p")?.focus();
  };
  const drop = () => {
    forgetKey();
    show();
  };
  const kept = keptKey(user);
  if (kept && !(await works(kept))) forgetKey();
  show();
}

async function signedIn() {
  try {
    const response = await fetch("/app/session", { headers: { accept: "application/json" } });
    const session = response.ok ? await response.json() : undefined;
    // A failed session request does not identify the user.
    if (session || response.status === 401) forgetKeyOfOthers(session?.user.id);
    return session;
  } catch {
    return undefined;
  }
}

/** True if a key works, or if this cannot be checked. @param {string} key */
async function works(key) {
  try {
    const response = await fetch("/v1/check-key", { headers: { authorization: `Bearer ${key}` }, credentials: "omit" });
    return response.status !== 401;
  } catch {
    return true;
  }
}

function filled(key, drop) {
  const remove = make("button", { type: "button" }, "Remove it");
  remove.addEventListener("click", drop);
  return [make("p", { tabindex: "-1", role: "status" }, "The examples use your test key ", make("code", {}, `…${key.slice(-4)}`), ". The sandbox answers verifications. Settings, suppression lists and the callback secret are the real ones."), remove];
}

function offered(session, take) {
  const wrong = make("p", { role: "alert", class: "wrong" });
  const field = /** @type {HTMLInputElement} */ (make("input", { id: "test-key", autocomplete: "off", spellcheck: "false", placeholder: "probity_test_…", "aria-describedby": "test-key-use" }));
  const form = make("form", {}, make("label", { for: "test-key" }, "Your test key"), make("div", { class: "row" }, field, make("button", {}, "Fill in")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const secret = field.value.trim();
    if (/^probity_test_\w+$/.test(secret)) take(secret);
    else wrong.textContent = "This isn't a test key. Paste a key that starts with “probity_test_”.";
  });
  const use = make("p", { id: "test-key-use", class: "quiet" }, session ? "It stays in this browser until you sign out, and appears in every example." : "It stays in this tab and appears in every example.");
  const parts = [form, use, wrong];
  if (session?.user.role === "administrator") {
    const create = /** @type {HTMLButtonElement} */ (make("button", { type: "button" }, "Create a test key"));
    use.append(" A key that you create here expires after 30 days.");
    create.addEventListener("click", async () => {
      create.disabled = true;
      const made = await createKey(session.csrf);
      create.disabled = false;
      if (made) take(made);
      else wrong.textContent = "No key was created. Create a test key in the dashboard, and paste it here.";
    });
    form.querySelector(".row")?.append(make("span", { class: "or" }, "or"), create);
  } else if (!session) {
    use.append(" ", make("a", { href: "/" }, "Sign in"), " to create one.");
  }
  return parts;
}

/** @param {string} csrf */
async function createKey(csrf) {
  const headers = { "content-type": "application/json", "x-csrf-token": csrf };
  const wanted = { name: "API reference", kind: "test", expires_at: new Date(Date.now() + LASTS_MS).toISOString() };
  try {
    const response = await fetch("/app/v1/api-keys", { method: "POST", headers, body: JSON.stringify(wanted) });
    return response.ok ? (await response.json()).secret : undefined;
  } catch {
    return undefined;
  }
}
