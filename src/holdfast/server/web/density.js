// Dense rows: one line for each memory.

import { h, icon } from "./dom.js";

const SETTING = "holdfast.rows"; // colours.js reads it before the page is painted
const root = document.documentElement;

export const isDense = () => root.dataset.rows === "dense";

export function setDense(on) {
  if (on) root.dataset.rows = "dense";
  else delete root.dataset.rows;
  localStorage.setItem(SETTING, on ? "dense" : "roomy");
  for (const toggle of document.querySelectorAll(".density")) toggle.setAttribute("aria-pressed", String(on));
}

export const densityButton = () =>
  h("button", { type: "button", class: "button quiet square small density", "aria-pressed": String(isDense()), "aria-label": "Dense rows", title: "Dense rows", onclick: () => setDense(!isDense()) }, icon("rows"));
