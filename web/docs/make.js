/**
 * Creates an element. Strings become text nodes, never markup.
 * @param {string} name
 * @param {Record<string, string>} [attributes]
 * @param {...(string | Node)} children
 */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  element.append(...children);
  return element;
}
