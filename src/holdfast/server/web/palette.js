// The command palette: views, actions, people and memories, one list for all.

import * as api from "./api.js";
import { afterQuiet, byId, h, icon } from "./dom.js";
import { fold } from "./completing.js";
import { go } from "./router.js";
import { kindSymbol, kindWord, short, typeWords } from "./words.js";

const PAUSE = 150; // milliseconds without a key press before memories are searched
const MOST_FOUND = 6;
const MOST_PEOPLE = 4;

/** Opens the palette; `commands` are `{label, symbol, run, keys}`. */
export function openPalette(commands) {
  if (document.querySelector("dialog[open]")) return;
  const palette = new Palette(commands);
  document.body.append(palette.dialog);
  palette.dialog.showModal();
  palette.input.focus();
}

/** Goes there with the focus: whoever chose by keyboard goes on in the view, not where they came from. */
export function visit(target) {
  byId("main").focus();
  go(target);
}

class Palette {
  constructor(commands) {
    this.commands = commands;
    this.found = [];
    this.list = h("ul", { id: "palette-list", role: "listbox", "aria-label": "Commands and memories" });
    this.input = h("input", { type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-autocomplete": "list", "aria-label": "Type a command, a name or a word",
      placeholder: "Type a command, a name or a word…", autocomplete: "off", spellcheck: "false" });
    this.empty = h("p", { class: "quietly", role: "status" });
    this.dialog = h("dialog", { class: "palette", "aria-label": "Command palette" }, this.input, this.list, this.empty);
    this.dialog.addEventListener("close", () => this.dialog.remove());
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.input.addEventListener("input", () => {
      this.searching = this.input.value.trim() !== "";
      this.found = [];
      this.#show();
      this.search();
    });
    this.input.addEventListener("keydown", (event) => this.#keyed(event));
    this.search = afterQuiet(PAUSE, () => this.#search());
    this.#show();
  }

  #keyed(event) {
    const moves = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in moves) {
      event.preventDefault();
      const count = this.list.children.length;
      if (count > 0) this.#choose((this.chosen + moves[event.key] + count) % count);
    } else if (event.key === "Enter") {
      event.preventDefault();
      this.#run(this.items[this.chosen]);
    }
  }

  #run(item) {
    if (!item) return;
    this.dialog.close();
    item.run();
  }

  #show() {
    const words = fold(this.input.value).split(/\s+/).filter(Boolean);
    const fitting = this.commands.filter(({ label }) => words.every((word) => fold(label).includes(word)));
    this.items = [...fitting, ...(words.length > 0 ? this.found : [])];
    this.list.replaceChildren(...this.items.map((item, place) => this.#option(item, place)));
    this.empty.textContent = this.items.length > 0 ? "" : this.searching ? "Searching…" : "Nothing fits.";
    this.#choose(0);
  }

  #option({ label, symbol, hint, keys = [] }, place) {
    const option = h("li", { role: "option", id: `palette-${place}` }, icon(symbol), h("span", { class: "option-label", dir: "auto" }, label),
      hint && h("span", { class: "quietly" }, hint), keys.length > 0 && h("span", { class: "option-keys" }, ...keys.map((key) => h("kbd", {}, key))));
    option.addEventListener("click", () => this.#run(this.items[place]));
    option.addEventListener("pointermove", () => this.#choose(place, { scroll: false }));
    return option;
  }

  #choose(place, { scroll = true } = {}) {
    this.chosen = place;
    [...this.list.children].forEach((option, at) => option.setAttribute("aria-selected", String(at === place)));
    const option = this.list.children[place];
    if (!option) return this.input.removeAttribute("aria-activedescendant");
    this.input.setAttribute("aria-activedescendant", option.id);
    if (scroll) option.scrollIntoView({ block: "nearest" });
  }

  async #search() {
    const asked = this.input.value.trim();
    const [people, page] = asked
      ? await Promise.all([api.entities({ limit: 200 }), api.memories({ q: asked, limit: MOST_FOUND })]).catch(() => [[], null])
      : [[], null];
    if (asked !== this.input.value.trim()) return; // typed on meanwhile
    this.searching = false;
    const named = people.filter(({ name }) => fold(name).includes(fold(asked))).slice(0, MOST_PEOPLE);
    this.found = [...named.map(person), ...(page?.relevant ? page.items.map(memory) : [])];
    this.#show();
  }
}

const person = ({ id, name, type }) => ({ label: name, symbol: typeWords(type).symbol, hint: typeWords(type).one, run: () => visit({ view: "people", query: { name: id } }) });

const memory = (hit) => ({ label: short(hit.title || hit.content, 90), symbol: kindSymbol(hit), hint: kindWord(hit), run: () => visit({ view: "everything", id: hit.id }) });
