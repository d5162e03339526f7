// Entities that memories mention, and a page for each.

import * as api from "../api.js";
import { onChange } from "../bus.js";
import { h, icon } from "../dom.js";
import { go, href } from "../router.js";
import { keysFor, row } from "../row.js";
import { plural, typeWords } from "../words.js";
import { nothing, trouble } from "../empty.js";

const MOST = 200;

export function mountPeople(main) {
  let asked = null;
  let stop = () => {};
  const show = (query) => (query.name ? profile(main, query) : everybody(main, query));
  return {
    update({ query, id }) {
      const wanted = JSON.stringify([query.name, query.type]);
      if (wanted !== asked) {
        asked = wanted;
        show(query);
        stop();
        stop = onChange(() => show(query));
      }
      mark(main, id);
    },
    dispose: () => stop(),
    focusFirst: () => main.querySelector(".row-link, .tile")?.focus(),
  };
}

function mark(main, id) {
  main.querySelector("[aria-current=true]")?.removeAttribute("aria-current");
  if (id) main.querySelector(`.row[data-id="${CSS.escape(id)}"] .row-link`)?.setAttribute("aria-current", "true");
}

async function everybody(main, { type }) {
  const head = h("div", { class: "heading" }, h("h1", {}, "People and places"), h("p", {}, "People, projects and places in your memories, most mentioned first."));
  try {
    const all = await api.entities({ limit: MOST });
    const known = all.filter((one) => one.mentions > 0);
    const types = [...new Set(known.map((one) => typeWords(one.type).many))];
    const wanted = known.filter((one) => !type || typeWords(one.type).many === type);
    main.replaceChildren(head,
      types.length > 1 ? chooser(types, type) : "",
      known.length === 0 ? nothing("people", "Nobody yet", "People, projects and places that a memory mentions appear here.") : tiles(wanted));
  } catch (error) {
    main.replaceChildren(head, trouble(error, () => everybody(main, { type })));
  }
}

function chooser(types, chosen = "") {
  const choice = (label, value) =>
    h("button", { type: "button", class: "pill", "aria-pressed": String(chosen === value), onclick: () => go({ view: "people", query: { type: value } }) }, label);
  return h("div", { class: "pills", role: "group", "aria-label": "Show" }, choice("All", ""), ...types.map((type) => choice(type, type)));
}

function tiles(entities) {
  return h("ul", { class: "tiles", role: "list" }, ...entities.map((one) => {
    const words = typeWords(one.type);
    return h("li", {}, h("a", { class: "tile", href: href({ view: "people", query: { name: one.id } }) },
      h("span", { class: "avatar" }, icon(words.symbol)),
      h("span", {}, h("strong", {}, one.name), h("span", { class: "quietly" }, `${words.one} · ${plural(one.mentions, "mention")}`))));
  }));
}

async function profile(main, query) {
  try {
    const about = await api.entity(query.name);
    const words = typeWords(about.type);
    const rows = h("ul", { class: "rows", role: "list", "aria-label": `Memories that mention ${about.name}` },
      ...about.memories.map((memory) => row(memory, { view: "people", query })));
    keysFor(rows, (id) => about.memories.find((memory) => memory.id === id));
    const held = main.querySelector(".rows")?.contains(document.activeElement);
    main.replaceChildren(
      h("p", {}, h("a", { class: "crumb", href: href({ view: "people" }) }, icon("back"), "People and places")),
      h("div", { class: "heading person" }, h("span", { class: "avatar large" }, icon(words.symbol)),
        h("div", {}, h("h1", {}, about.name), h("p", {}, sentence(about, words)))),
      about.summary ? h("p", { class: "profile" }, about.summary) : "",
      about.memories.length > 0 ? rows : nothing("stack", "No memories", `No active memory mentions ${about.name}.`));
    if (held) (main.querySelector(".row-link") ?? main).focus();
  } catch (error) {
    main.replaceChildren(trouble(error, () => profile(main, query)));
  }
}

function sentence(about, words) {
  const others = about.aliases.filter((name) => name !== about.name);
  return [`${words.one} · ${plural(about.mentions, "mention")}`, others.length > 0 && `also ${others.join(", ")}`].filter(Boolean).join(" · ");
}
