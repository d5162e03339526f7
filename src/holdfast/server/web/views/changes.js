// Recent changes with their authors, each with an undo button.

import * as api from "../api.js";
import { onChange } from "../bus.js";
import { button, h, icon } from "../dom.js";
import { href } from "../router.js";
import { time } from "../row.js";
import { takeBack } from "../toast.js";
import { actorWord, short, verbWord } from "../words.js";
import { nothing, trouble } from "../empty.js";
import { ghostRows } from "../skeleton.js";

const PAGE = 50;
const SYMBOLS = { forget: "bin", archive: "box", correct: "pencil", confirm: "shield", restore: "undo", undo: "undo", remember: "plus", propose: "inbox", approve: "check", reject: "close", merge: "people", split: "people", rename: "pencil" };

const GONE = new Set(["archived", "superseded", "faded", "evicted"]);

export function mountChanges(main) {
  const list = h("ul", { class: "changes", role: "list", "aria-label": "Changes" }, ...ghostRows());
  const rest = h("div", { class: "list-end" });
  main.replaceChildren(
    h("div", { class: "heading" }, h("h1", {}, "Recent changes"), h("p", {}, "Everything that was stored, corrected or forgotten. Every change made on this page can be undone.")),
    list, rest);
  const load = async () => {
    try {
      const changes = await api.changes({ limit: PAGE });
      list.replaceChildren(...changes.map(entry));
      rest.replaceChildren(...(changes.length > 0 ? [] : [nothing("undo", "No changes yet", "Corrections and other changes appear here.")]));
    } catch (error) {
      list.querySelectorAll(".ghost").forEach((ghost) => ghost.remove());
      rest.replaceChildren(trouble(error, load));
    }
  };
  load();
  const stop = onChange(load);
  return { update() {}, dispose: stop, focusFirst: () => list.querySelector("a, button")?.focus() };
}

function entry(change) {
  const { memories, run } = change;
  const ids = memories.map((memory) => memory.id);
  const more = change.count - memories.length;
  return h("li", { class: "change" },
    h("span", { class: "row-icon" }, icon(SYMBOLS[change.verb] ?? "clock")),
    h("div", { class: "row-body" },
      h("p", {}, h("strong", {}, verbWord(change.verb)), " ", h("span", { class: "quietly" }, actorWord(change.actor), " · ", time(change.at))),
      ...memories.map((memory) => h("p", { class: `row-text ${GONE.has(memory.status) ? "gone" : ""}`, dir: "auto", "data-id": memory.id }, h("a", { href: href({ view: "changes", id: memory.id }) }, short(memory.content, 140)))),
      change.names.length > 0 && h("p", { class: "row-text", dir: "auto" }, change.names.join(", ")),
      more > 0 && h("p", { class: "quietly" }, `and ${more.toLocaleString("en")} more`)),
    change.undone
      ? h("span", { class: "chip" }, "Undone")
      : button("Undo", () => takeBack([run], { ids }), { look: "small", symbol: "undo", "aria-label": `Undo: ${verbWord(change.verb)}, ${short(memories[0]?.content ?? change.names.join(", "), 60)}` }));
}
