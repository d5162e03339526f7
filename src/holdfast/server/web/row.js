// One memory in a list.

import * as actions from "./actions.js";
import { button, h, icon } from "./dom.js";
import { highlighted } from "./highlight.js";
import { href } from "./router.js";
import { ago, dayAndTime, kindSymbol, kindWord, short, statusWord } from "./words.js";

const ARMS = { entities: "name" }; // the other arms keep the name that the server uses

export const time = (text) => h("time", { datetime: text, title: dayAndTime(text) }, ago(text));

/** A list item for a memory or a search hit; `view` and `query` are the target of its link. */
export function row(memory, { view, query = {} }) {
  const link = h("a", { class: "row-link", href: href({ view, id: memory.id, query }) },
    h("span", { class: "unseen" }, `${kindWord(memory)}: `), ...highlighted(memory.title || memory.content, query.q));
  const forget = button("Forget", (event) => forgetFrom(event.target, memory), {
    look: "quiet small forget", symbol: "bin", "aria-label": `Forget: ${short(memory.content, 60)}` });
  return h("li", { class: `row ${memory.status === "active" ? "" : "resting"}`, "data-id": memory.id },
    h("span", { class: "row-icon" }, icon(kindSymbol(memory))),
    h("p", { class: "row-text", dir: "auto" }, link),
    h("div", { class: "row-foot" }, h("p", { class: "row-meta" }, ...meta(memory)), memory.fit && relevance(memory),
      memory.status === "active" && forget));
}

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

/** A bar that compares a hit with the best one, and the score itself. */
function relevance({ score, fit, why }) {
  const found = Object.keys(why.arms).map((arm) => ARMS[arm] ?? arm.replace(/ \(.*/, ""));
  const bar = h("span", { class: "bar" }, h("span", {}));
  bar.firstChild.style.inlineSize = `${Math.max(4, Math.round(fit * 100))}%`;
  return h("span", { class: "score", title: `Score ${score.toFixed(3)}, found by ${[...new Set(found)].join(" and ")}` },
    h("span", { class: "unseen" }, "score "), bar, score.toFixed(2));
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

/** Keys of `list`: arrows move between rows, Home and End jump, Delete forgets. */
export function keysFor(list, memoryOf) {
  list.addEventListener("keydown", async (event) => {
    const item = event.target.closest(".row");
    const moves = { ArrowDown: item?.nextElementSibling, ArrowUp: item?.previousElementSibling, Home: list.firstElementChild, End: list.lastElementChild };
    if (event.key in moves && !event.target.matches("input, textarea, select")) {
      event.preventDefault();
      const search = event.key === "ArrowUp" && !moves.ArrowUp && document.getElementById("search");
      (moves[event.key]?.querySelector(".row-link") ?? (search || null))?.focus();
    }
    const memory = event.key === "Delete" && item && memoryOf(item.dataset.id);
    if (memory && memory.status === "active") {
      const next = neighbour(item);
      if (await actions.forget(memory)) focusLater(next, list);
    }
  });
}
