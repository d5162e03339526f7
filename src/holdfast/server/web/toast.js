// Notices at the edge of the page: what was done, with an undo button.

import * as api from "./api.js";
import { changed } from "./bus.js";
import { button, byId, h, say } from "./dom.js";

const SHOWN_FOR = 10_000;
const AT_ONCE = 3;

// What undoes the changes made on this page, oldest first.
const undos = [];

/** Shows `text`, with buttons `[label, work]`, until it is closed or has been left alone for ten seconds. */
export function notice(text, { actions = [], problem = false } = {}) {
  const region = byId("toasts");
  const buttons = actions.map(([label, work]) => button(label, () => (leave(), work()), { look: "inverse" }));
  const close = button("Close", () => leave(), { look: "inverse square", symbol: "close", "aria-label": "Close this notice" });
  close.lastChild.remove();
  const toast = h("div", { class: `toast${problem ? " problem" : ""}` }, h("p", {}, text), ...buttons, close);
  const leave = () => {
    clearTimeout(timer);
    if (toast.contains(document.activeElement)) byId("main").focus(); // the focus must not get lost
    toast.remove();
  };
  let timer;
  const wait = () => (timer = setTimeout(leave, SHOWN_FOR));
  for (const event of ["pointerenter", "focusin"]) toast.addEventListener(event, () => clearTimeout(timer));
  for (const event of ["pointerleave", "focusout"]) toast.addEventListener(event, wait);
  toast.addEventListener("keydown", (event) => event.key === "Escape" && (event.stopPropagation(), leave()));
  while (region.children.length >= AT_ONCE) region.firstChild.remove();
  region.append(toast);
  if (!problem) wait();
  return leave;
}

/**
 * Reports a change and offers to undo it. `runs` are the runs of the change, oldest first;
 * `after` is passed to `changed` after the undo.
 */
export function offerUndo(text, runs, after) {
  const undo = () => {
    if (!undos.includes(undo)) return;
    undos.splice(undos.indexOf(undo), 1);
    leave();
    return takeBack(runs, after);
  };
  const leave = notice(text, { actions: [["Undo", undo]] });
  undos.push(undo);
  say(`${text} Press Control and Z to undo.`);
}

/** Undoes the latest change made on this page; called again, the one before. */
export function undoLatest() {
  if (undos.length > 0) return undos.at(-1)();
  notice("There is nothing to undo. Recent changes has what was changed elsewhere.");
  say("There is nothing to undo.");
}

/** Undoes runs, the last one first, and notifies the page. */
export async function takeBack(runs, after) {
  const left = [...runs];
  try {
    while (left.length > 0) {
      await api.undo(left.at(-1));
      left.pop();
    }
  } catch (error) {
    failed(error, () => takeBack(left, after));
    return false;
  }
  changed(after);
  notice("Undone.");
  say("Undone.");
  return true;
}

/** Reports an error; `retry` runs when the user presses “Try again”. */
export function failed(error, retry) {
  if (error.name === "AbortError") return;
  if (!(error instanceof api.ApiError)) console.error(error);
  const text = error instanceof api.ApiError ? error.message : "Something went wrong on this page. Reload it and try again.";
  notice(text, { problem: true, actions: retry ? [["Try again", retry]] : [] });
  say(text);
}
