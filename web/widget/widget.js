/**
 * Email widget: checks the addresses that visitors type into a website's fields and shows the result beside the field.
 *
 * Failures never block a form: if the service is down, slow or refuses, forms behave as without the widget. The script contacts
 * only its own server, stores nothing, and reads only the fields it was given. Output is text in a shadow root with a constructed
 * style sheet, so it works with any page styles and a strict content security policy.
 *
 * Options are `data-` attributes of the script and of `<probity-email>` (`data-text-valid`), properties passed to
 * `probity.attach`, or properties of a global `probity` object set before loading (`textValid`); the closest to the field wins.
 * docs/widget.md describes them.
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
   * @property {string} [server] origin of the service; default: the script's origin
   * @property {string} [selector] fields to check; empty: none
   * @property {string | number} [delay] milliseconds from the last keystroke to the request
   * @property {string} [lang]
   * @property {string} [block] `reject`: an undeliverable address makes the field invalid
   * @property {string} [textValid] shown for a good address; empty: shows nothing
   * @property {string} [textInvalid]
   * @property {string} [textSuggest] with `{address}`
   * @property {(email: string, signal: AbortSignal) => Promise<Answer | undefined>} [ask] replaces the request to the service
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

  /** Delay between the last keystroke and the request. */
  const DELAY_MS = 1_500;
  /** Request timeout. */
  const PATIENCE_MS = 4_000;
  /** Pause after a failed or refused request. */
  const REST_MS = 30_000;
  /** Nonce lifetime; the server accepts them for ten minutes. */
  const NONCE_MS = 540_000;
  /** Plausible address; the browser reports anything else. */
  const PLAUSIBLE = /^[^\s@]+@[^\s@]+\.[^\s@]{2,}$/;
  const LONGEST = 254;

  /** @type {Record<string, string[]>} valid, invalid, suggestion */
  const TEXTS = {
    en: ["Looks good.", "This address accepts no mail.", "Did you mean {address}?"],
    de: ["Sieht gut aus.", "Diese Adresse nimmt keine E-Mails an.", "Meinten Sie {address}?"],
    fr: ["Cette adresse semble correcte.", "Cette adresse n’accepte pas d’e-mails.", "Vouliez-vous dire {address}\u00a0?"],
    es: ["Esta dirección parece correcta.", "Esta dirección no acepta correo.", "¿Quería decir {address}?"],
  };

  // Own background, because the page's is unknown: every color pair has a contrast of at least 7:1.
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

  /** Unused nonces with their issue times, by server and key. @type {Map<string, [string, number][]>} */
  const pools = new Map();
  let restUntil = 0;
  let notes = 0;
  /** Attached fields. @type {Set<Field>} */
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
   * Requests a verdict. An expired nonce is replaced once.
   * @param {Options} options @param {string} email @param {AbortSignal} signal
   * @returns {Promise<Answer | undefined>} `undefined` if there is no result
   */
  async function ask(options, email, signal) {
    for (let again = 0; again < 2; again += 1) {
      const { status, body } = await get("verify", options, { nonce: await nonce(options, signal), email }, signal);
      if (status === 200) return body;
      if (status !== 409) break;
    }
    throw new Error("refused");
  }

  /** Delay in milliseconds; the default unless the option is a non-negative number. @param {Options} options */
  function delay(options) {
    const ms = Number.parseFloat(String(options.delay));
    return ms >= 0 ? ms : DELAY_MS;
  }

  /** Attached field. */
  class Field {
    /** @param {HTMLInputElement} input @param {Options} own */
    constructor(input, own) {
      this.input = input;
      this.own = own;
      /** Results by address. @type {Map<string, Answer>} */
      this.known = new Map();
      this.shown = "";
      this.asking = "";
      /** @type {HTMLFormElement | null} form with a `reset` listener */
      this.form = null;
      this.flagged = false;
      /** `aria-invalid` as set by the page. @type {string | null} */
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
      // Scripts change values without an event. Forms are submitted by click, Enter or script; in the last case `invalid` fires
      // too late for this submission, but in time for the next.
      for (const name of ["keydown", "invalid"]) on(name, () => this.outdated());
      fields.add(this);
    }

    /** @returns {Options} */
    get options() {
      return { ...common, .../** @type {HTMLElement | null} */ (this.input.closest("probity-email"))?.dataset, ...this.own };
    }

    /** Moves the note beside the field, even if the page has moved the field. */
    place() {
      this.watchForm();
      if (this.input.nextElementSibling !== this.host) this.input.after(this.host);
      const described = this.input.getAttribute("aria-describedby")?.split(/\s+/).filter(Boolean) ?? [];
      if (!described.includes(this.host.id)) this.input.setAttribute("aria-describedby", [...described, this.host.id].join(" "));
    }

    /** Removes a result that belongs to another value. */
    outdated() {
      if (this.shown && this.input.value.trim() !== this.shown) this.changed(false);
    }

    /** Tracks the form of the field, which may change. */
    watchForm() {
      const { form } = this.input;
      if (form === this.form) return;
      this.form = form;
      // Values are reset after the event.
      const reset = () => setTimeout(() => form === this.form && this.outdated());
      form?.addEventListener("reset", reset, { signal: this.ending.signal });
    }

    /** The field has the focus: fetch a nonce in advance. */
    ready() {
      const { options } = this;
      if (!options.ask && options.key && !pool(options).length && Date.now() >= restUntil) get("nonce", options).catch(rest);
    }

    /** @param {boolean} composing whether an input method is composing */
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

    /** @param {string} email @returns {Promise<Answer | undefined>} `undefined` if there is no result */
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
        // An abort by further typing says nothing about the service.
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
        // Simulates typing, so that libraries that watch the field notice it.
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
   * Attaches the widget to a field.
   * @param {HTMLInputElement} input @param {Options} [options]
   * @returns {() => void} detaches the widget
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

  /** Custom element with its own field, or wrapped around the page's. */
  class ProbityEmail extends HTMLElement {
    connectedCallback() {
      // During parsing, the element's children may still be missing.
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
  // A click may submit a form whose values a script has changed.
  document.addEventListener("click", () => fields.forEach((field) => field.outdated()), true);
  new MutationObserver((changes) => {
    // A moved node is back in the page by now.
    const removed = changes.flatMap(({ removedNodes }) => [...removedNodes]);
    for (const field of fields) if (!field.input.isConnected && removed.some((node) => node.contains(field.input))) field.detach();
    for (const node of changes.flatMap(({ addedNodes }) => [...addedNodes])) if (node instanceof Element) find(node);
  }).observe(document, { childList: true, subtree: true });
})();
