/** Customer website on another origin, with a content security policy that allows only the widget. */
import { once } from "node:events";
import { createServer } from "node:http";

/** Page styles that would break any element they reach. */
const RUIN = "* { color: #fff !important; background: #fff !important; font-size: 3px !important; display: inline !important }";

/** @param {string} server service origin */
const policy = (server) => `default-src 'none'; script-src ${server}; connect-src ${server}; style-src 'self'; img-src 'self'; form-action 'self'; \
base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'`;

const FIELD = `<label for="email">E-mail</label> <input id="email" name="email" type="email" aria-describedby="hint"> <span id="hint">For the invoice.</span>`;

/** Form bodies by path. @type {Record<string, { lang?: string, dir?: string, body?: string, attributes?: string }>} */
const PAGES = {
  "/": {},
  "/slow": { attributes: "" },
  "/de": { lang: "de" },
  "/fr": { lang: "fr-CA" },
  "/es": { lang: "es" },
  "/rtl": { lang: "ar", dir: "rtl" },
  "/ruined": { body: `<link rel="stylesheet" href="/ruin.css">${FIELD}` },
  "/block": { attributes: `data-delay="100" data-block="reject"` },
  "/texts": { attributes: `data-delay="100" data-text-valid="" data-text-suggest="Perhaps {address} &lt;b&gt;"` },
  "/off": { body: `${FIELD.replace("<input ", `<input data-probity="off" `)} <label for="other">Other</label> <input id="other" type="email">` },
  "/prefilled": { body: FIELD.replace("<input ", `<input value="valid@sandbox.test" `) },
  "/invalid": { body: FIELD.replace("<input ", `<input aria-invalid="grammar" `), attributes: `data-delay="100" data-block="reject"` },
  "/no-delay": { attributes: `data-delay=""` },
  "/some-delay": { attributes: `data-delay="a while"` },
  "/two": { body: `${FIELD} <label for="other">Other</label> <input id="other" name="other" type="email">` },
  "/element": { body: `<probity-email name="email" aria-label="E-mail" data-lang="es"></probity-email>` },
  "/around": { body: `<label for="email">E-mail</label> <probity-email data-text-valid="Fine."><input id="email" name="email"></probity-email>` },
};

/**
 * @param {string} server service origin
 * @returns {Promise<{ origin: string, key: (key: string) => void, stop: () => Promise<void> }>}
 */
export async function startSite(server) {
  let key = "";
  const site = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://site");
    const page = PAGES[pathname];
    response.setHeader("content-security-policy", policy(server));
    if (pathname === "/ruin.css") return response.setHeader("content-type", "text/css").end(RUIN);
    // Firefox requests it and logs an error if the policy forbids it.
    if (pathname === "/favicon.ico") return response.writeHead(204).end();
    response.setHeader("content-type", "text/html; charset=utf-8");
    if (pathname === "/sent") return response.end(`<!doctype html><html lang="en"><title>Sent</title><main><h1>Sent</h1></main></html>`);
    if (!page) return response.writeHead(404).end();
    const { lang = "en", dir = "ltr", body = FIELD, attributes = `data-delay="100"` } = page;
    response.end(`<!doctype html><html lang="${lang}" dir="${dir}"><head><title>Shop</title>
      <script src="${server}/widget.js" data-key="${key}" ${attributes} async></script></head>
      <body><main><h1>Shop</h1><form action="/sent">${body} <button>Order</button></form></main></body></html>`);
  }).listen(0, "127.0.0.1");
  await once(site, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (site.address());
  return {
    origin: `http://127.0.0.1:${port}`,
    key(given) {
      key = given;
    },
    async stop() {
      site.closeAllConnections();
      site.close();
    },
  };
}
