// The start page: a memory at a glance.

import * as actions from "../actions.js";
import * as api from "../api.js";
import { onChange } from "../bus.js";
import { growthPlot } from "../chart.js";
import { afterQuiet, button, h, icon } from "../dom.js";
import { minutesAhead } from "../moments.js";
import { href } from "../router.js";
import { time } from "../row.js";
import { day, kindMany, kindSymbol, kindWord, plural, short, typeWords } from "../words.js";
import { trouble } from "../empty.js";

const SOON = 100; // milliseconds of quiet after a change before the page is read again

export function mountHome(main) {
  const health = h("p", { class: "health-line" }, h("span", { class: "dot" }), h("span", {}, "Checking…"));
  const body = h("div", { class: "home" }, ...skeleton());
  main.replaceChildren(h("div", { class: "heading" }, h("h1", {}, "Home"), health), body);
  let latest = 0;
  const load = async () => {
    const mine = ++latest;
    try {
      const overview = await api.overview({ minutes_ahead: minutesAhead() });
      if (mine !== latest) return;
      const held = document.activeElement?.closest(".home [data-id]")?.dataset.id;
      body.replaceChildren(...(isEmpty(overview) ? [beginnings()] : parts(overview)));
      if (held) (body.querySelector(`[data-id="${CSS.escape(held)}"] a`) ?? main).focus();
    } catch (error) {
      if (mine === latest) body.replaceChildren(trouble(error, load));
    }
  };
  const check = () => api.health().then((found) => health.replaceChildren(...verdict(found)), () => health.replaceChildren());
  load();
  check();
  const stop = onChange(afterQuiet(SOON, load));
  return {
    update: ({ id }) => mark(main, id),
    dispose() {
      latest++;
      stop();
    },
    focusFirst: () => body.querySelector("a, button")?.focus(),
  };
}

function mark(main, id) {
  main.querySelector(".glance [aria-current]")?.removeAttribute("aria-current");
  if (id) main.querySelector(`.glance [data-id="${CSS.escape(id)}"] a`)?.setAttribute("aria-current", "true");
}

const sum = (counts) => Object.values(counts).reduce((all, count) => all + count, 0);
const isEmpty = ({ growth, review, held, turns }) => growth.length === 0 && review === 0 && held === 0 && turns === 0;

const skeleton = () => [
  h("div", { class: "figures waiting", "aria-busy": "true" }, ...[1, 2, 3].map(() => h("div", { class: "figure bone" }))),
  h("div", { class: "panel bone plot" }, " "), h("div", { class: "columns" }, h("div", { class: "panel bone newest tall" }), h("div", { class: "panel bone tall" })),
];

function parts(overview) {
  return [
    figures(overview),
    panel("Growth", "plot", overview.growth.length > 0 ? growthPlot(overview.growth, today()) : h("p", { class: "quietly" }, "Nothing was learned yet. Conversations are read for facts when they end.")),
    h("div", { class: "columns" },
      panel("New", "newest", list(overview.newest, (memory) => [kindWord(memory), " · ", time(memory.created_at)]), more("timeline", "Everything that was learned", { by: "learned" })),
      panel("Fades next", "", fading(overview.fading)),
      panel("Mentioned lately", "", mentioned(overview))),
  ];
}

function today() {
  const now = new Date();
  return new Date(now - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}

const panel = (title, look, ...children) => h("section", { class: `panel ${look}` }, h("h2", {}, title), ...children);
const more = (view, text, query = {}) => h("a", { class: "more-link", href: href({ view, query }) }, text);

function figures({ new: fresh, review, held, turns, growth }) {
  const inUse = growth.reduce((all, { counts }) => all + sum(counts), 0);
  const kinds = Object.entries(fresh).sort((one, other) => other[1] - one[1]).map(([kind, count]) => `${count.toLocaleString("en")} ${kindMany(kind, count)}`);
  return h("div", { class: "figures" },
    figure(sum(fresh), "new this week", kinds.join(", ") || "Nothing was stored in the last seven days.", href({ view: "timeline", query: { by: "learned" } })),
    figure(review, review === 1 ? "waits for review" : "wait for review", review > 0 ? "Not used until you approve them." : "Nothing to decide.", href({ view: "review" }), review > 0),
    figure(inUse, "in use", besides(turns, held) || "Facts, sessions, rules and more.", href({ view: "everything" })));
}

/** What is stored beyond what is counted, so that the count agrees with that of all memories. */
function besides(turns, held) {
  const more = [turns > 0 && plural(turns, "turn of conversations", "turns of conversations"), held > 0 && `${held.toLocaleString("en")} on hold`].filter(Boolean);
  return more.length > 0 && `Besides, ${more.join(" and ")}.`;
}

function figure(count, label, hint, link, loud = false) {
  return h("a", { class: `figure ${loud ? "loud" : ""}`, href: link }, h("span", {}, h("strong", {}, count.toLocaleString("en")), ` ${label}`), h("span", { class: "quietly" }, hint));
}

function list(memories, meta) {
  if (memories.length === 0) return h("p", { class: "quietly" }, "Nothing yet.");
  return h("ul", { class: "glance", role: "list" }, ...memories.map((memory) => glance(memory, meta(memory))));
}

function glance(memory, meta, ...extra) {
  return h("li", { "data-id": memory.id }, h("span", { class: "row-icon" }, icon(kindSymbol(memory))),
    h("div", {}, h("p", { class: "row-text", dir: "auto" }, h("a", { href: href({ view: "home", id: memory.id }) }, memory.title || memory.content)), h("p", { class: "quietly" }, ...meta)),
    ...extra);
}

function fading(entries) {
  if (entries.length === 0) return h("p", { class: "quietly" }, "Nothing fades: all that is in use stays.");
  return h("ul", { class: "glance", role: "list" }, ...entries.map(({ at, how, memory }) =>
    glance(memory, [how === "ends" ? `ends with its date, ${day(at)}` : `fades on ${day(at)} if unused`],
      how === "fades" && button("Keep", () => actions.confirm(memory), { look: "small", symbol: "shield", "aria-label": `Keep: ${short(memory.content, 60)}`, title: "Confirm it, so that it does not fade" }))));
}

function mentioned({ mentioned: people, waiting }) {
  if (people.length === 0) return h("p", { class: "quietly" }, "Nobody yet. People, places and projects that memories mention appear here.");
  return h("div", { class: "who-lately" },
    h("ul", { class: "names", role: "list" }, ...people.map((one) => h("li", {}, h("a", { class: "name-chip", href: href({ view: "people", query: { name: one.id } }) },
      icon(typeWords(one.type).symbol), one.name, h("span", { class: "quietly" }, one.lately.toLocaleString("en")))))),
    h("p", { class: "quietly" }, "Mentions in the latest 1,000 memories.", stillReading(waiting)));
}

/** What counts of mentions do not have yet. */
export function stillReading({ count, complete }) {
  return count > 0 ? ` ${complete ? "" : "At least "}${plural(count, "memory is", "memories are")} still to be read for names, so counts may grow.` : "";
}

function verdict({ findings, problems, active, models, vectors }) {
  const amiss = (findings ?? 0) + Object.keys(problems).length;
  const embedded = models.length > 0 ? Math.min(...models.map((model) => vectors[model] ?? 0)) : null;
  const search = embedded === null ? "search by words only" : embedded >= active ? "search by meaning covers everything" : `search by meaning covers ${embedded.toLocaleString("en")} of ${plural(active, "memory", "memories")}`;
  const told = amiss > 0 ? `${plural(amiss, "problem")} found` : findings === null ? "No problems known" : "No problems found";
  return [h("span", { class: `dot ${amiss > 0 ? "warn" : "good"}` }), h("span", {}, h("a", { href: href({ view: "health" }) }, told), ` · ${search}`)];
}

function beginnings() {
  const way = (symbol, title, text, ...children) => h("li", { class: "panel way" }, h("span", { class: "avatar" }, icon(symbol)), h("h2", {}, title), h("p", {}, text), ...children);
  const command = (text) => h("code", { class: "command" }, text);
  return h("section", { class: "beginnings" }, h("div", { class: "heading" }, h("h2", {}, "Nothing is remembered yet"), h("p", {}, "Three ways to begin:")),
    h("ol", { class: "ways", role: "list" },
      way("plus", "Tell it something", "A fact about you, or a rule for assistants.", button("Remember something", actions.remember, { look: "primary", symbol: "plus" })),
      way("download", "Bring what you have", "Past sessions of coding agents on this machine, or an export of ChatGPT, Claude or another memory.", command("holdfast import --all")),
      way("link", "Connect an assistant", "It then remembers by itself, while you work.", command("holdfast mcp install claude-code"))));
}
