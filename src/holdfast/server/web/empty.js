// Empty states: nothing here yet, nothing found, or an error.

import { ApiError } from "./api.js";
import { button, h, icon, say } from "./dom.js";

/** An empty state: what would be here, and what to do. */
export function nothing(symbol, title, text, ...more) {
  return h("div", { class: "nothing" }, h("span", { class: "nothing-icon" }, icon(symbol)), h("h2", {}, title), h("p", {}, text), ...more);
}

/** An empty state for an error. */
export function trouble(error, retry) {
  if (!(error instanceof ApiError)) console.error(error);
  say(error.message);
  const title = error.status === 0 ? "No connection" : "Could not load this";
  return nothing("alert", title, error instanceof ApiError ? error.message : "Something went wrong on this page.", button("Try again", retry));
}
