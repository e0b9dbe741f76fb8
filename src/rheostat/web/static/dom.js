// Elements made from plain data. Text is always set as text, so that a name can never become markup.

export const byId = (id) => document.getElementById(id);

export function html(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

// Replace what is in an element, and keep the focus on the part with the same data-key.
export function show(element, ...children) {
  const focused = document.activeElement;
  const key = element.contains(focused) ? focused.dataset.key : undefined;
  element.replaceChildren(...children.filter((child) => child != null));
  if (key !== undefined) element.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}
