// Several rows chosen at once, and what can be done with them.

import * as actions from "./actions.js";
import { onChange } from "./bus.js";
import { button, h, icon, isTyping, say } from "./dom.js";
import { isSingle } from "./keys.js";
import { rowIcon } from "./row.js";
import { plural, short } from "./words.js";

const DEEDS = [
  ["Confirm", actions.confirmSeveral, { look: "small", symbol: "check" }],
  ["Archive", actions.archiveSeveral, { look: "small", symbol: "box" }],
  ["Forget…", actions.forgetSeveral, { look: "small danger", symbol: "bin" }],
];

export class Selection {
  /**
   * `rows` is the list element, whose items have a `data-id`; `memories()` maps those to memories, in order. `deeds`
   * are what can be done with what is selected: a label, a function of memories, and how the button looks.
   */
  constructor(rows, memories, deeds = DEEDS) {
    this.rows = rows;
    this.memories = memories;
    this.chosen = new Set();
    this.count = h("strong", {});
    this.bar = h("div", { class: "selection", role: "toolbar", "aria-label": "Selected memories", hidden: true }, this.count,
      button("Select all", () => this.all(), { look: "quiet small" }),
      button("Copy as Markdown", () => actions.copyMarkdown(this.picked), { look: "small", symbol: "copy" }),
      ...deeds.map(([label, work, how]) => button(label, () => this.apply(work), how)),
      h("button", { type: "button", class: "button quiet square small", "aria-label": "Clear selection", onclick: () => this.clear() }, icon("close")));
    rows.addEventListener("click", (event) => this.#clicked(event));
    rows.addEventListener("keydown", (event) => this.#keyed(event));
    this.stop = onChange(() => requestAnimationFrame(() => this.refresh()));
  }

  /** Does something with all that is selected. */
  async apply(work) {
    if (await work(this.picked)) this.clear();
  }

  /** The start of a row: its icon, and a box to tick. */
  lead(memory) {
    return rowIcon(memory, this.box(memory));
  }

  box(memory) {
    return h("input", { type: "checkbox", class: "pick", checked: this.chosen.has(memory.id), "aria-label": `Select: ${short(memory.content, 60)}` });
  }

  all() {
    for (const id of this.memories().keys()) this.chosen.add(id);
    this.#show();
  }

  clear() {
    this.chosen.clear();
    this.last = null;
    this.#show();
    return true;
  }

  /** Leaves the selection; false if there was none. */
  escape() {
    return this.chosen.size > 0 && this.clear();
  }

  get size() {
    return this.chosen.size;
  }

  get picked() {
    return [...this.memories()].filter(([id]) => this.chosen.has(id)).map(([, memory]) => memory);
  }

  #clicked(event) {
    if (!event.target.matches(".pick")) return;
    this.#toggle(event.target.closest("[data-id]").dataset.id, event.target.checked, event.shiftKey);
  }

  #keyed(event) {
    const id = event.target.closest("[data-id]")?.dataset.id;
    if (!id || isTyping()) return;
    if (isSingle(event) && event.key.toLowerCase() === "x") {
      event.preventDefault();
      this.#toggle(id, !this.chosen.has(id), event.shiftKey);
    } else if ((event.ctrlKey || event.metaKey) && event.key === "a") {
      event.preventDefault();
      this.all();
    }
  }

  /** Ticks one row or, with `through`, all rows from the last one ticked. */
  #toggle(id, on, through) {
    const ids = [...this.memories().keys()];
    const [one, other] = [ids.indexOf(through ? this.last ?? id : id), ids.indexOf(id)].sort((a, b) => a - b);
    for (const each of ids.slice(Math.max(one, 0), other + 1)) this.chosen[on ? "add" : "delete"](each);
    this.last = id;
    this.#show();
  }

  /** Drops what is no longer in the list. */
  refresh() {
    const known = this.memories();
    for (const id of this.chosen) if (!known.has(id)) this.chosen.delete(id);
    this.#show();
  }

  #show() {
    for (const box of this.rows.querySelectorAll(".pick")) {
      const item = box.closest("[data-id]");
      box.checked = this.chosen.has(item.dataset.id);
      item.classList.toggle("chosen", box.checked);
    }
    const told = `${plural(this.size, "memory", "memories")} selected`;
    if (this.size > 0 && told !== this.count.textContent) say(told);
    this.count.textContent = this.size > 0 ? told : "";
    this.bar.hidden = this.size === 0;
    this.rows.classList.toggle("selecting", this.size > 0);
  }
}
