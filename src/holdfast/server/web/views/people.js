// Entities that memories mention: who is mentioned with whom, and a page for each.

import * as api from "../api.js";
import { onChange } from "../bus.js";
import { button, h, icon } from "../dom.js";
import * as entityActions from "../entity_actions.js";
import { graphFigure } from "../graph.js";
import { Moments } from "../moments.js";
import { go, href, route } from "../router.js";
import { plural, typeWords } from "../words.js";
import { stillReading } from "./home.js";
import { nothing, trouble } from "../empty.js";

const MOST = 200;
const AROUND = 24; // names around one, and among all, that a drawing has room for
const DRAWN = 30;
const SUGGESTED = 3;

export function mountPeople(main) {
  let [asked, shown] = [null, null];
  const show = (route) => {
    shown?.dispose();
    shown = route.query.name ? new EntityPage(main, route.query.name) : new Everybody(main, route.query.type);
  };
  return {
    update(route) {
      const wanted = JSON.stringify([route.query.name, route.query.name ? "" : route.query.type]);
      if (wanted !== asked) {
        asked = wanted;
        show(route);
        scrollTo(0, 0);
      }
      shown.update(route);
    },
    dispose: () => shown?.dispose(),
    focusFirst: () => main.querySelector(".moment a, .tile")?.focus(),
  };
}

const heading = () => h("div", { class: "heading" }, h("h1", {}, "People and places"), h("p", {}, "People, projects and places in your memories, most mentioned first."));

/** Everybody: a drawing, suggestions what may be one, and tiles. */
class Everybody {
  constructor(main, type) {
    this.main = main;
    this.type = type;
    this.drawing = h("div", { class: "graph-place bone" });
    this.suggestions = h("div", {});
    this.tiles = h("div", {});
    main.replaceChildren(heading(), this.drawing, this.suggestions, this.tiles);
    this.stop = onChange(() => this.load());
    this.load();
  }

  update() {}

  dispose() {
    this.gone = true;
    this.stop();
  }

  async load() {
    try {
      const [all, graph, alike] = await Promise.all([api.entities({ limit: MOST }), api.graph({ limit: DRAWN }), api.duplicates()]);
      if (this.gone) return;
      this.#fill(all);
      this.#draw(graph);
      this.suggestions.replaceChildren(...suggestions(alike));
    } catch (error) {
      if (!this.gone) this.main.replaceChildren(heading(), trouble(error, () => (this.main.replaceChildren(heading(), this.drawing, this.suggestions, this.tiles), this.load())));
    }
  }

  #fill(all) {
    const known = all.filter((one) => one.mentions > 0);
    const types = [...new Set(known.map((one) => typeWords(one.type).many))];
    const wanted = known.filter((one) => !this.type || typeWords(one.type).many === this.type);
    this.drawing.hidden = known.length < 2;
    this.tiles.replaceChildren(types.length > 1 ? chooser(types, this.type) : "",
      known.length === 0 ? nothing("people", "Nobody yet", "People, projects and places that a memory mentions appear here.") : tiles(wanted),
      all.length === MOST ? h("p", { class: "quietly" }, `The ${MOST} most mentioned are shown. To find others, search for them.`) : "");
  }

  #draw(graph) {
    this.drawing.classList.remove("bone");
    this.drawing.hidden = graph.links.length === 0;
    this.drawing.replaceChildren(graphFigure(graph), h("p", { class: "quietly" }, "Lines join names that one memory mentions together.", partly(graph), stillReading(graph.waiting)));
  }
}

const partly = ({ complete }) => (complete ? "" : " Counts are of the latest memories, so there are at least as many.");

function suggestions(alike) {
  if (alike.length === 0) return [];
  return [h("section", { class: "suggestions" }, h("h2", {}, "The same?"), h("ul", { role: "list" }, ...alike.slice(0, SUGGESTED).map(({ keep, other, reason }) =>
    h("li", {}, h("span", {}, h("a", { href: link(other) }, other.name), " and ", h("a", { href: link(keep) }, keep.name), h("span", { class: "quietly" }, ` — ${reason}`)),
      button("Merge", () => mergeInto(keep, other), { look: "small", "aria-label": `Merge ${other.name} into ${keep.name}` })))))];
}

/** Merges two; whoever looks at the one that goes then looks at the one that stays. */
async function mergeInto(keep, other) {
  const looking = route().query.name;
  const now = await entityActions.mergeThese(keep, other);
  if (now && looking) go({ view: "people", query: { name: now.id } }, { replace: true });
}

const link = ({ id }) => href({ view: "people", query: { name: id } });

function chooser(types, chosen = "") {
  const choice = (label, value) =>
    h("button", { type: "button", class: "pill", "aria-pressed": String(chosen === value), onclick: () => go({ view: "people", query: { type: value } }) }, label);
  return h("div", { class: "pills", role: "group", "aria-label": "Show" }, choice("All", ""), ...types.map((type) => choice(type, type)));
}

function tiles(entities) {
  return h("ul", { class: "tiles", role: "list" }, ...entities.map((one) => {
    const words = typeWords(one.type);
    return h("li", {}, h("a", { class: "tile", href: link(one) },
      h("span", { class: "avatar" }, icon(words.symbol)),
      h("span", {}, h("strong", {}, one.name), h("span", { class: "quietly" }, `${words.one} · ${plural(one.mentions, "mention")}`))));
  }));
}

/** One entity: profile, who it is mentioned with, timeline. */
class EntityPage {
  constructor(main, name) {
    this.main = main;
    this.name = name;
    this.head = h("div", {}, h("div", { class: "heading person" }, h("span", { class: "avatar large bone" }), h("div", {}, h("h1", {}, "…"))));
    this.suggestions = h("div", {});
    this.ghost = h("div", { class: "panel bone tall", "aria-hidden": "true" });
    this.profile = h("div", { class: "profile-place", hidden: true });
    this.drawing = h("div", { class: "graph-place" });
    this.moments = new Moments("people", { entity: name });
    main.replaceChildren(
      h("p", {}, h("a", { class: "crumb", href: href({ view: "people" }) }, icon("back"), "People and places")),
      this.head, this.ghost, this.suggestions, this.profile,
      this.together = h("section", { hidden: true }, h("h2", {}, "Mentioned with"), this.drawing),
      // Hidden until the profile is there, which would push it down.
      this.theirs = h("section", { class: "their-timeline", hidden: true }, h("h2", {}, "Timeline"), this.moments.element));
    this.stop = onChange(() => this.load());
    this.load();
  }

  update(route) {
    this.moments.update(route);
  }

  dispose() {
    this.gone = true;
    this.stop();
    this.moments.dispose();
  }

  async load() {
    try {
      const [about, graph, alike] = await Promise.all([api.entity(this.name, { limit: 1 }), api.graph({ entity: this.name, limit: AROUND }), api.duplicates()]);
      if (this.gone) return;
      document.title = `${about.name} · Memory`;
      const held = this.head.contains(document.activeElement) && document.activeElement.textContent;
      this.head.replaceChildren(...header(about));
      if (held) ([...this.head.querySelectorAll("button")].find((one) => one.textContent === held) ?? this.main).focus();
      this.profile.replaceChildren(...profile(about));
      this.together.hidden = graph.links.length === 0;
      this.ghost.remove();
      this.profile.hidden = this.theirs.hidden = false;
      this.drawing.replaceChildren(graphFigure(graph, { centre: about.id, height: 320 }), h("p", { class: "quietly" }, partly(graph)));
      this.suggestions.replaceChildren(...suggestions(alike.filter(({ keep, other }) => [keep.id, other.id].includes(about.id))));
    } catch (error) {
      if (this.gone) return;
      // A merge or an undo has taken it away.
      if (error.status === 404) this.main.replaceChildren(nothing("people", "Not there any more", "Nobody goes by this name now.", h("a", { class: "button", href: href({ view: "people" }) }, "People and places")));
      else this.#fail(error);
    }
  }

  #fail(error) {
    this.ghost.remove();
    this.head.replaceChildren(trouble(error, () => this.load()));
  }
}

function header(about) {
  const words = typeWords(about.type);
  const others = about.aliases.filter((name) => name !== about.name);
  const told = [`${words.one} · ${plural(about.mentions, "mention")}`, others.length > 0 && `also ${others.join(", ")}`].filter(Boolean).join(" · ");
  const merged = async () => {
    const now = await entityActions.merge(about);
    if (now) go({ view: "people", query: { name: now.id } }, { replace: true });
  };
  return [
    h("div", { class: "heading person" }, h("span", { class: "avatar large" }, icon(words.symbol)), h("div", {}, h("h1", { dir: "auto" }, about.name), h("p", {}, told),
      about.waiting.count > 0 && h("p", { class: "quietly" }, stillReading(about.waiting)))),
    h("div", { class: "actions entity-actions" },
      button("Rename", () => entityActions.rename(about), { look: "small", symbol: "pencil" }),
      button("Merge…", merged, { look: "small", symbol: "people" }),
      others.length > 0 && button("Split…", () => entityActions.split(about), { look: "small", symbol: "split" })),
  ];
}

/** Current facts, lasting ones first, by what they are about. */
function profile({ name, summary, facts }) {
  const groups = new Map();
  for (const fact of facts) groups.set(fact.category, [...(groups.get(fact.category) ?? []), fact]);
  const told = summary && h("p", { class: "profile", dir: "auto" }, summary);
  if (facts.length === 0) return [told, h("p", { class: "quietly no-profile" }, `No fact has ${name} as its subject yet. What mentions ${name} is in the timeline.`)].filter(Boolean);
  return [told, h("section", { class: "panel" }, h("h2", {}, "Profile"), h("dl", { class: "profile-facts" }, ...[...groups].map(([category, some]) =>
    h("div", {}, h("dt", {}, category.replaceAll("_", " ")), ...some.map((fact) => h("dd", { dir: "auto", "data-id": fact.id },
      h("a", { href: href({ view: "people", id: fact.id, query: route().query }) }, fact.content))))))) ].filter(Boolean);
}
