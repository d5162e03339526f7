// Elements out of plain calls, and the few things every part of the page does with them.

const SVG = "http://www.w3.org/2000/svg";

/** An element: `h("button", {class: "quiet", onclick: save, "aria-label": "Save"}, "Save")`. Text is never markup. */
export function h(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** The same for drawings. */
export function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

export function icon(name) {
  return svg("svg", { class: "icon", "aria-hidden": "true" }, svg("use", { href: `static/icons.svg#${name}` }));
}

export function button(label, onclick, { look = "", symbol, ...more } = {}) {
  return h("button", { type: "button", class: `button ${look}`, onclick, ...more }, symbol && icon(symbol), h("span", {}, label));
}

export const byId = (id) => document.getElementById(id);

/** Tells people who listen what others see. The same words twice are said twice. */
export function say(text) {
  const place = byId("announcer");
  place.textContent = "";
  setTimeout(() => (place.textContent = text), 50);
}

/** Calls `work` once things have been quiet for a moment. */
export function afterQuiet(milliseconds, work) {
  let waiting;
  return (...args) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => work(...args), milliseconds);
  };
}

/** Whether keys typed now belong to a text field. */
export function isTyping() {
  const at = document.activeElement;
  const fields = "textarea, select, input:not([type=checkbox])"; // a tick takes no letters
  return at instanceof HTMLElement && (at.isContentEditable || at.matches(fields));
}
