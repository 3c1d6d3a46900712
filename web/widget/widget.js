/**
 * The widget: looks at the addresses that people type into a website's fields, and says beside the field what it found.
 *
 * It never stands in anybody's way: a service that is away, slow, or says no leaves the form as it is without the widget. It
 * asks its own server and nobody else, keeps nothing, and reads nothing but the fields that it was given. All that it shows is
 * text in a shadow root, styled by a constructed style sheet, so neither the page's styles nor a strict policy get in its way.
 *
 * Options, each a `data-` attribute of the script and of `<probity-email>` (`data-text-valid`), or a property for `probity.attach`
 * and of an object `probity` that the page sets before (`textValid`); the nearest to the field counts. What they mean is in
 * docs/widget.md.
 */
(() => {
  "use strict";

  /**
   * @typedef {object} Answer
   * @property {string} result `ok`, `fix` or `reject`
   * @property {string} [suggestion]
   * @property {string} [nonce]
   *
   * @typedef {object} Options
   * @property {string} [key] a key of kind `pub`
   * @property {string} [server] where the service is; the script's own origin unless given
   * @property {string} [selector] which fields; none where it is empty
   * @property {string | number} [delay] milliseconds from the last key to the question
   * @property {string} [lang]
   * @property {string} [block] `reject`: an address that takes no mail makes the field invalid
   * @property {string} [textValid] shown where nothing speaks against the address; an empty text shows nothing
   * @property {string} [textInvalid]
   * @property {string} [textSuggest] with `{address}`
   * @property {(email: string, signal: AbortSignal) => Promise<Answer | undefined>} [ask] asks in the place of the script
   */

  const page = /** @type {any} */ (globalThis);
  if (page.probity?.attach) return;

  const script = document.currentScript instanceof HTMLScriptElement ? document.currentScript : undefined;
  /** @type {Options} */
  const common = {
    server: script && new URL(script.src).origin,
    selector: script ? "input[type=email]" : "",
    ...script?.dataset,
    ...page.probity,
  };

  /** From the last key to the question. */
  const DELAY_MS = 1_500;
  /** How long an answer is waited for. */
  const PATIENCE_MS = 4_000;
  /** How long nothing is asked after the service was away or said no. */
  const REST_MS = 30_000;
  /** Nonces are good for ten minutes. */
  const NONCE_MS = 540_000;
  /** What may be an address; anything else is the browser's to complain about. */
  const PLAUSIBLE = /^[^\s@]+@[^\s@]+\.[^\s@]{2,}$/;
  const LONGEST = 254;

  /** @type {Record<string, string[]>} valid, invalid, suggestion */
  const TEXTS = {
    en: ["Looks good.", "This address accepts no mail.", "Did you mean {address}?"],
    de: ["Sieht gut aus.", "Diese Adresse nimmt keine E-Mails an.", "Meinten Sie {address}?"],
    fr: ["Cette adresse semble correcte.", "Cette adresse n’accepte pas d’e-mails.", "Vouliez-vous dire {address}\u00a0?"],
    es: ["Esta dirección parece correcta.", "Esta dirección no acepta correo.", "¿Quería decir {address}?"],
  };

  // Its own background, since that of the page is anything: each pair of colours has a contrast of 7:1 or more.
  const style = new CSSStyleSheet();
  style.replaceSync(`
    :host { display: block; font: inherit; text-align: start }
    div { display: inline-block; box-sizing: border-box; max-width: 100%; margin-block-start: .5em; padding: .2em .6em;
      border: 1px solid currentColor; border-radius: .4em; font-size: .875em; line-height: 1.4; overflow-wrap: anywhere }
    div:empty { display: block; margin: 0; padding: 0; border: 0 }
    .ok { color: #14532d; background: #e9f7ee }
    .reject { color: #7f1d1d; background: #fdeeee }
    .fix { color: #1e3a5f; background: #edf4fc }
    button { font: inherit; font-weight: 600; color: inherit; background: none; border: 0; padding: 0 .15em; min-height: 24px;
      text-decoration: underline; cursor: pointer; overflow-wrap: anywhere; unicode-bidi: isolate }
    button:focus-visible { outline: 2px solid currentColor; outline-offset: 2px; border-radius: .2em }
    @media (prefers-reduced-motion: no-preference) {
      div:not(:empty) { animation: appear .15s ease-out }
      @keyframes appear { from { opacity: 0 } }
    }`);

  /** By server and key: nonces that were given and not used, and when. @type {Map<string, [string, number][]>} */
  const pools = new Map();
  let restUntil = 0;
  let notes = 0;
  /** Those that are looked after. @type {Set<Field>} */
  const fields = new Set();
  /** @type {WeakMap<HTMLInputElement, Field>} */
  const attached = new WeakMap();

  /** @param {string} path @param {Options} options @param {Record<string, string>} [more] @param {AbortSignal} [signal] */
  async function get(path, options, more = {}, signal = undefined) {
    const url = new URL(`/v1/widget/${path}`, options.server);
    for (const [name, value] of Object.entries({ key: options.key ?? "", ...more })) {
      url.search += `${url.search && "&"}${name}=${encodeURIComponent(value)}`;
    }
    const response = await fetch(url, { signal, mode: "cors", credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer" });
    const body = await response.json();
    if (body.nonce) pool(options).push([body.nonce, performance.now()]);
    return { status: response.status, body };
  }

  /** @param {Options} options */
  function pool(options) {
    const name = `${options.server} ${options.key}`;
    const now = performance.now();
    const fresh = (pools.get(name) ?? []).filter(([, at]) => now - at < NONCE_MS);
    pools.set(name, fresh);
    return fresh;
  }

  /** @param {Options} options @param {AbortSignal} [signal] */
  async function nonce(options, signal) {
    if (!pool(options).length) await get("nonce", options, {}, signal);
    return pool(options).pop()?.[0] ?? "";
  }

  /**
   * Asks the service. A nonce that was too old is replaced, once.
   * @param {Options} options @param {string} email @param {AbortSignal} signal
   * @returns {Promise<Answer | undefined>} none where there is nothing to say
   */
  async function ask(options, email, signal) {
    for (let again = 0; again < 2; again += 1) {
      const { status, body } = await get("verify", options, { nonce: await nonce(options, signal), email }, signal);
      if (status === 200) return body;
      if (status !== 409) break;
    }
    throw new Error("refused");
  }

  /** Anything but a number of milliseconds is none. @param {Options} options */
  function delay(options) {
    const ms = Number.parseFloat(String(options.delay));
    return ms >= 0 ? ms : DELAY_MS;
  }

  /** A field that is looked after. */
  class Field {
    /** @param {HTMLInputElement} input @param {Options} own */
    constructor(input, own) {
      this.input = input;
      this.own = own;
      /** What was asked, and what came. @type {Map<string, Answer>} */
      this.known = new Map();
      this.shown = "";
      this.asking = "";
      /** @type {HTMLFormElement | null} whose `reset` is listened to */
      this.form = null;
      this.flagged = false;
      /** What the page itself had said there. @type {string | null} */
      this.invalid = null;
      this.blocked = false;
      this.message = "";
      this.timer = 0;
      this.controller = new AbortController();
      this.ending = new AbortController();
      this.host = document.createElement("probity-note");
      this.host.id = `probity-note-${(notes += 1)}`;
      const root = this.host.attachShadow({ mode: "open" });
      root.adoptedStyleSheets = [style];
      this.note = document.createElement("div");
      this.note.setAttribute("role", "status");
      this.note.setAttribute("part", "note");
      root.append(this.note);
      this.place();
      const { signal } = this.ending;
      const on = (/** @type {string} */ name, /** @type {(event: any) => void} */ act) => input.addEventListener(name, act, { signal });
      on("focus", () => this.ready());
      on("input", (event) => this.changed(event.isComposing));
      on("compositionend", () => this.changed(false));
      for (const name of ["change", "blur"]) on(name, () => this.check());
      // Scripts change values without a word. A form is sent with a click, with Enter, or by a script: then `invalid` comes, too late
      // for this time, and not the next.
      for (const name of ["keydown", "invalid"]) on(name, () => this.outdated());
      fields.add(this);
    }

    /** @returns {Options} */
    get options() {
      return { ...common, .../** @type {HTMLElement | null} */ (this.input.closest("probity-email"))?.dataset, ...this.own };
    }

    /** Beside the field, wherever the page has put that meanwhile. */
    place() {
      this.watchForm();
      if (this.input.nextElementSibling !== this.host) this.input.after(this.host);
      const described = this.input.getAttribute("aria-describedby")?.split(/\s+/).filter(Boolean) ?? [];
      if (!described.includes(this.host.id)) this.input.setAttribute("aria-describedby", [...described, this.host.id].join(" "));
    }

    /** What is said of another value than the field has now is taken back. */
    outdated() {
      if (this.shown && this.input.value.trim() !== this.shown) this.changed(false);
    }

    /** The form that the field belongs to may be another one than before. */
    watchForm() {
      const { form } = this.input;
      if (form === this.form) return;
      this.form = form;
      // The values are set back after the event.
      const reset = () => setTimeout(() => form === this.form && this.outdated());
      form?.addEventListener("reset", reset, { signal: this.ending.signal });
    }

    /** The reader has come to the field: a nonce will be needed. */
    ready() {
      const { options } = this;
      if (!options.ask && options.key && !pool(options).length && Date.now() >= restUntil) get("nonce", options).catch(rest);
    }

    /** @param {boolean} composing whether letters are still being put together */
    changed(composing) {
      clearTimeout(this.timer);
      this.controller.abort();
      if (this.input.value.trim() !== this.shown) this.show("");
      if (!composing) this.timer = setTimeout(() => this.check(), delay(this.options));
    }

    async check() {
      clearTimeout(this.timer);
      const email = this.input.value.trim();
      if (email === this.shown || email === this.asking || !PLAUSIBLE.test(email) || email.length > LONGEST) return;
      const answer = this.known.get(email) ?? (await this.fetch(email));
      if (!answer || this.input.value.trim() !== email) return;
      this.known.set(email, answer);
      this.show(email, answer);
      const { result, suggestion } = answer;
      this.input.dispatchEvent(new CustomEvent("probity:result", { bubbles: true, detail: { email, result, suggestion } }));
    }

    /** @param {string} email @returns {Promise<Answer | undefined>} none where there is nothing to say */
    async fetch(email) {
      const { options } = this;
      if (Date.now() < restUntil || !(options.ask || options.key)) return undefined;
      this.controller.abort();
      const controller = (this.controller = new AbortController());
      let late = false;
      const timer = setTimeout(() => {
        late = true;
        controller.abort();
      }, PATIENCE_MS);
      this.asking = email;
      try {
        return await (options.ask ? options.ask(email, controller.signal) : ask(options, email, controller.signal));
      } catch {
        // Whoever types on has broken the question off, and the service is well.
        if (late || !controller.signal.aborted) rest();
        return undefined;
      } finally {
        clearTimeout(timer);
        if (this.asking === email) this.asking = "";
      }
    }

    /** @param {string} email @param {Answer} [answer] */
    show(email, answer) {
      this.place();
      this.shown = email;
      const { options } = this;
      const lang = options.lang || this.input.closest("[lang]")?.getAttribute("lang") || navigator.language;
      const [valid, invalid, suggest] = TEXTS[lang.slice(0, 2).toLowerCase()] ?? TEXTS.en;
      const rejected = answer?.result === "reject";
      const texts = { ok: options.textValid ?? valid, reject: options.textInvalid ?? invalid, fix: options.textSuggest ?? suggest };
      const text = answer ? String(texts[answer.result] ?? "") : "";
      const [before, after] = text.split("{address}");
      const parts = answer?.result === "fix" && after !== undefined ? [before, this.button(String(answer.suggestion)), after] : [text];
      this.note.className = answer?.result ?? "";
      this.note.replaceChildren(...parts.filter(Boolean));
      if (rejected !== this.flagged) {
        this.flagged = rejected;
        if (rejected) {
          this.invalid = this.input.getAttribute("aria-invalid");
          this.input.setAttribute("aria-invalid", "true");
        } else if (this.invalid === null) this.input.removeAttribute("aria-invalid");
        else this.input.setAttribute("aria-invalid", this.invalid);
      }
      const blocked = rejected && options.block === "reject";
      if (blocked !== this.blocked) {
        this.blocked = blocked;
        if (blocked) this.message = this.input.validity.customError ? this.input.validationMessage : "";
        this.input.setCustomValidity(blocked ? text || invalid : this.message);
      }
    }

    /** @param {string} suggestion */
    button(suggestion) {
      const button = document.createElement("button");
      button.type = "button";
      button.dir = "ltr";
      button.textContent = suggestion;
      button.addEventListener("click", () => {
        // As if it had been typed: libraries that watch fields hear of it, too.
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(this.input, suggestion);
        this.input.focus();
        for (const name of ["input", "change"]) this.input.dispatchEvent(new Event(name, { bubbles: true }));
      });
      return button;
    }

    detach() {
      this.changed(true);
      this.show("");
      this.ending.abort();
      this.host.remove();
      attached.delete(this.input);
      fields.delete(this);
      const left = this.input.getAttribute("aria-describedby")?.split(/\s+/).filter((id) => id !== this.host.id).join(" ");
      if (left) this.input.setAttribute("aria-describedby", left);
      else this.input.removeAttribute("aria-describedby");
    }
  }

  const rest = () => {
    restUntil = Date.now() + REST_MS;
  };

  /**
   * Looks after a field.
   * @param {HTMLInputElement} input @param {Options} [options]
   * @returns {() => void} ends it
   */
  function attach(input, options = {}) {
    const field = attached.get(input) ?? new Field(input, options);
    attached.set(input, field);
    return () => field.detach();
  }

  /** @param {ParentNode} root */
  function find(root) {
    const { selector } = common;
    if (!selector) return;
    const found = [...root.querySelectorAll(selector)];
    if (root instanceof Element && root.matches(selector)) found.push(root);
    for (const input of found) {
      if (input instanceof HTMLInputElement && input.dataset.probity !== "off") attach(input);
    }
  }

  /** A field of its own, or one around the page's. */
  class ProbityEmail extends HTMLElement {
    connectedCallback() {
      // While the page is being read, what is in the element may be still to come.
      if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => this.fill(), { once: true });
      else this.fill();
    }

    fill() {
      let input = this.querySelector("input");
      if (!input) {
        input = document.createElement("input");
        input.type = "email";
        input.autocomplete = "email";
        for (const name of ["name", "required", "placeholder", "value", "aria-label", "aria-labelledby"]) {
          const value = this.getAttribute(name);
          if (value !== null) input.setAttribute(name, value);
        }
        this.append(input);
      }
      attach(input);
    }
  }

  page.probity = { attach };
  customElements.define("probity-email", ProbityEmail);
  find(document);
  // A click may send a form whose values a script has changed.
  document.addEventListener("click", () => fields.forEach((field) => field.outdated()), true);
  new MutationObserver((changes) => {
    // What was only moved is in the page again by now.
    const removed = changes.flatMap(({ removedNodes }) => [...removedNodes]);
    for (const field of fields) if (!field.input.isConnected && removed.some((node) => node.contains(field.input))) field.detach();
    for (const node of changes.flatMap(({ addedNodes }) => [...addedNodes])) if (node instanceof Element) find(node);
  }).observe(document, { childList: true, subtree: true });
})();
