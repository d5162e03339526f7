// One memory in a list.

import * as actions from "./actions.js";
import { button, h, icon, isTyping } from "./dom.js";
import { excerpt, highlighted } from "./highlight.js";
import { moveOf } from "./keys.js";
import { reasonLine } from "./reasons.js";
import { href } from "./router.js";
import { ago, dayAndTime, kindSymbol, kindWord, short, statusWord } from "./words.js";

export const time = (text) => h("time", { datetime: text, title: dayAndTime(text) }, ago(text));

/** A list item for a memory or a search hit; `view` and `query` are the target of its link, `lead` is its start. */
export function row(memory, { view, query = {}, lead = rowIcon(memory) }) {
  const words = memory.why?.words;
  const found = (text) => highlighted(excerpt(text, words), words);
  const link = h("a", { class: "row-link", href: href({ view, id: memory.id, query }) },
    h("span", { class: "unseen" }, `${kindWord(memory)}: `), ...found(memory.title || memory.content));
  const forget = button("Forget", (event) => forgetFrom(event.target, memory), {
    look: "quiet small forget", symbol: "bin", "aria-label": `Forget: ${short(memory.content, 60)}` });
  return h("li", { class: `row ${memory.status === "active" ? "" : "resting"}`, "data-id": memory.id },
    lead,
    h("p", { class: "row-text", dir: "auto" }, link),
    memory.title && h("p", { class: "row-more", dir: "auto" }, ...found(memory.content)),
    memory.why && reasonLine(memory),
    h("div", { class: "row-foot" }, h("p", { class: "row-meta" }, ...meta(memory)), memory.status === "active" && forget));
}

export const rowIcon = (memory, ...more) => h("span", { class: "row-icon" }, icon(kindSymbol(memory)), ...more);

function meta(memory) {
  const parts = [memory.kind === "turn" ? speaker(memory) : kindWord(memory)];
  if (hasCategory(memory)) parts.push(memory.category.replaceAll("_", " "));
  parts.push(time(memory.event_time ?? memory.created_at));
  if (memory.protected) parts.push(h("span", { class: "sure" }, icon("shield"), "confirmed"));
  if (memory.metadata?.branch) parts.push(h("span", { class: "chip" }, "abandoned branch"));
  if (memory.status !== "active") parts.push(h("span", { class: "chip" }, statusWord(memory.status)));
  return parts.map((part) => h("span", {}, part));
}

/** Whether the category adds information to the kind. */
export const hasCategory = ({ kind, category }) => ["fact", "rule"].includes(kind) && category && category !== "general";

function speaker({ author, role }) {
  const roles = { user: "You", assistant: "The assistant" };
  return `${author || roles[role] || role || "Someone"} said`;
}

async function forgetFrom(place, memory) {
  const list = place.closest("ul, ol");
  const next = neighbour(place.closest(".row"));
  if (await actions.forget(memory)) focusLater(next, list);
}

/** The row that gets the focus when this one is removed. */
export function neighbour(item) {
  return item?.nextElementSibling ?? item?.previousElementSibling;
}

export function focusLater(item, list) {
  requestAnimationFrame(() => {
    const target = item?.isConnected ? item : list?.querySelector(".row");
    (target?.querySelector(".row-link") ?? document.getElementById("main")).focus();
  });
}

/** Keys of `list`: arrows, `j` and `k` move between rows, Home and End jump, Delete forgets. */
export function keysFor(list, memoryOf) {
  list.addEventListener("keydown", async (event) => {
    const item = event.target.closest(".row");
    const key = moveOf(event);
    const moves = { ArrowDown: item?.nextElementSibling, ArrowUp: item?.previousElementSibling, Home: list.firstElementChild, End: list.lastElementChild };
    if (key in moves && !isTyping()) {
      event.preventDefault();
      const search = key === "ArrowUp" && !moves.ArrowUp && document.getElementById("search");
      (moves[key]?.querySelector(".row-link") ?? (search || null))?.focus();
    }
    const memory = event.key === "Delete" && item && memoryOf(item.dataset.id);
    if (memory && memory.status === "active") {
      const next = neighbour(item);
      if (await actions.forget(memory)) focusLater(next, list);
    }
  });
}
