// Placeholders while something loads, in the shape of what will stand there.

import { h } from "./dom.js";

const ROWS = 8;
const PATIENCE = 150; // milliseconds: what comes sooner needs no placeholder

const bone = (width) => {
  const line = h("span", { class: "bone" });
  line.style.inlineSize = width;
  return line;
};

export const ghostRows = (count = ROWS) =>
  Array.from({ length: count }, (_, place) => h("li", { class: "ghost", "aria-hidden": "true" }, bone(`${88 - ((place * 17) % 40)}%`), bone("30%")));

/** A view that is still loading: its own title, and nothing of the view before. */
export function loadingView(title) {
  return [h("div", { class: "heading" }, h("h1", {}, title), h("p", { role: "status" }, "Loading…")), h("ul", { class: "rows", "aria-hidden": "true" }, ...ghostRows())];
}

/** Calls `show` unless the returned function is called soon. */
export function ifSlow(show) {
  const waiting = setTimeout(show, PATIENCE);
  return () => clearTimeout(waiting);
}

export const ghostMemory = () =>
  h("div", { class: "memory loading", "aria-hidden": "true" }, bone("24%"), bone("92%"), bone("70%"), bone("100%"), bone("84%"));
