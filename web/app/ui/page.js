/** Page layout of a screen: title, actions, content. */
import { html, useEffect, useRef } from "../../vendor/lib.js";
import { trail } from "../frame/crumbs.js";

/**
 * @param {{ title: string, lead?: unknown, above?: unknown, heading?: unknown, actions?: unknown, children?: unknown }} props
 *   `above`: parent page; `heading` replaces title and lead
 */
export function Page({ title, lead, above, heading, actions, children }) {
  const page = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    document.title = `${title} · Probity`;
  }, [title]);
  useEffect(() => {
    trail.value = { above, title };
  });
  // A new screen starts at the top, also for screen readers.
  useEffect(() => {
    scrollTo(0, 0);
    page.current?.focus({ preventScroll: true });
  }, []);
  return html`<main class="page" id="page" tabindex="-1" ref=${page}>
    <header>${heading || html`<div><h1>${title}</h1>${lead && html`<p class="lead">${lead}</p>`}</div>`}
      ${actions && html`<div class="row">${actions}</div>`}</header>
    ${children}
  </main>`;
}

/** @param {{ title?: unknown, actions?: unknown, children?: unknown }} props */
export function Card({ title, actions, children }) {
  return html`<section class="card">
    ${(title || actions) && html`<div class="row apart"><h2>${title}</h2>${actions && html`<div class="row">${actions}</div>`}</div>`}
    ${children}
  </section>`;
}

export function Figure({ label, value, children }) {
  return html`<div class="figure"><span class="quiet small">${label}</span><span class="value">${value}</span>
    ${children && html`<span class="quiet small">${children}</span>`}</div>`;
}

/** Definition list. @param {{ of: [unknown, unknown][] }} props */
export function Facts({ of }) {
  return html`<dl class="facts">${of.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

/**
 * Tabs of a page, as links.
 * @param {{ label: string, chosen: string, of: { name: string, label: string, to: string, count?: string }[] }} props `count`: what waits there
 */
export function Tabs({ label, chosen, of }) {
  return html`<nav class="tabs" aria-label=${label}>${of.map(({ name, label: text, to, count }) => html`<a key=${name} aria-current=${name === chosen ? "page" : undefined} href=${to}>${text}
    ${count && html`<span class="badge warn">${count}</span>`}</a>`)}</nav>`;
}

export function Brand() {
  return html`<a class="brand" href="#/">
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#1f5f4a" />
      <path d="M7 11.5 16 18l9-6.5" fill="none" stroke="#fff" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round" opacity=".55" />
      <path d="m10 17 4.5 4.5L23 13" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
    Probity
  </a>`;
}
