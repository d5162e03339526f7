// Lists of facts, sessions, rules or everything: newest first, or the hits of a search.

import * as actions from "../actions.js";
import * as api from "../api.js";
import { AsOf, endOfDay } from "../asof.js";
import { onChange } from "../bus.js";
import { completed, learnWords } from "../completing.js";
import { densityButton } from "../density.js";
import { followFocus, preview } from "../detail.js";
import { button, h } from "../dom.js";
import { nothing, trouble } from "../empty.js";
import { sorted } from "../reasons.js";
import { go } from "../router.js";
import { focusLater, keysFor, neighbour, row } from "../row.js";
import { Selection } from "../selection.js";
import { ghostRows } from "../skeleton.js";
import { activeCount, onCounts } from "../strip.js";
import { day, LISTED, plural, short, STATUSES } from "../words.js";

const PAGE = 50;
const FOUND = 40; // hits per search; to see others, refine the query
const PERIODS = [["", "Any time"], ["7", "Last 7 days"], ["30", "Last 30 days"], ["365", "Last year"]];
const RESTING = ["held", "proposed", "archived", "superseded", "faded", "evicted"];
const SHELVES = {
  "": ["In use", ["active"]],
  resting: ["Not in use", RESTING],
  ...Object.fromEntries(RESTING.map((status) => [status, [`— ${STATUSES[status]}`, [status]]])),
  any: ["In use or not", ["active", ...RESTING]],
};

export const LISTS = {
  everything: {
    title: "Everything about you",
    intro: "Search for a name, a place, anything. Open a memory to see why it was stored, or to correct or forget it.",
    empty: ["No memories yet", "Memories from your conversations with an assistant appear here. You can also add one yourself."],
  },
  facts: {
    title: "Facts",
    intro: "What assistants know about you and your world.",
    empty: ["No facts yet", "Facts are extracted from conversations, or stored when you say “remember that…”."],
  },
  sessions: {
    title: "Sessions",
    intro: "Summaries of your conversations.",
    empty: ["No sessions yet", "When a longer conversation ends, its summary appears here."],
  },
  rules: {
    title: "Rules",
    intro: "Instructions that assistants always follow.",
    empty: ["No rules yet", "Say “from now on, keep answers short”, or add a rule yourself."],
  },
};

const seenCategories = new Set();

/** Mounts the list `name` in `main`; the result follows the address and can be disposed of. */
export function mountList(main, name) {
  const list = new MemoryList(main, name);
  return { update: (route) => list.update(route), dispose: () => list.dispose(), focusFirst: () => list.focusFirst(), escape: () => list.escape() };
}

class MemoryList {
  constructor(main, name) {
    this.name = name;
    this.about = LISTS[name];
    this.kinds = LISTED[name];
    this.shown = new Map(); // id → memory, of the visible rows
    this.places = new Map(); // id → position and reasons; kept for rows that were removed and may come back
    this.rows = h("ul", { class: "rows", role: "list", "aria-label": this.about.title });
    this.near = h("details", { class: "near", hidden: true });
    this.selection = new Selection(this.rows, () => this.#inOrder());
    this.asOf = new AsOf((date) => go({ view: this.name, query: { ...this.query, asof: date } }, { replace: true }));
    this.summary = h("p", { class: "summary", role: "status" });
    this.end = h("div", { class: "list-end" });
    this.filters = this.#filters();
    this.forgetAll = button("Forget these…", () => this.#forgetShown(), { look: "small", symbol: "bin", hidden: true });
    main.replaceChildren(
      h("div", { class: "heading" }, h("h1", {}, this.about.title), h("p", {}, this.about.intro)),
      h("div", { class: "bar-of-filters" }, this.filters, this.asOf.opener, h("div", { class: "found" }, this.summary, this.forgetAll, densityButton())),
      this.asOf.panel, this.rows, this.near, this.end, this.selection.bar);
    this.rows.replaceChildren(...ghostRows());
    keysFor(this.rows, (id) => this.shown.get(id));
    followFocus(this.rows);
    this.watcher = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && this.#more(), { rootMargin: "600px" });
    this.watcher.observe(this.end);
    this.stop = onChange((change) => this.#follow(change));
    this.stopCounts = onCounts(() => this.shown.size > 0 && this.#tell(this.#asked()));
  }

  dispose() {
    this.asking?.abort();
    this.watcher.disconnect();
    this.selection.stop();
    this.stop();
    this.stopCounts();
    preview(null);
  }

  update({ query, id }) {
    const wanted = JSON.stringify([query.q, query.status, query.category, query.days, query.asof]);
    this.query = query;
    if (wanted !== this.wanted) {
      this.wanted = wanted;
      this.#load();
    }
    this.open = id;
    this.#markOpen();
    this.asOf.update(query.asof);
    for (const select of this.filters.elements) {
      select.value = query[select.name] ?? "";
      select.classList.toggle("narrowing", select.value !== "");
    }
    // Recall returns only active memories, so the status filter is for lists.
    this.filters.elements.status.parentElement.hidden = Boolean(query.q);
    this.filters.elements.category.parentElement.hidden = this.name === "sessions";
  }

  focusFirst() {
    this.rows.querySelector(".row-link")?.focus();
  }

  /** Leaves what was begun here; false if there was nothing. */
  escape() {
    return this.selection.escape();
  }

  #inOrder() {
    return new Map([...this.rows.querySelectorAll(".row")].map((item) => [item.dataset.id, this.shown.get(item.dataset.id)]));
  }

  #filters() {
    const select = (name, label, choices) => h("span", { class: "select" },
      h("select", { name, "aria-label": label }, ...choices.map(([value, text]) => h("option", { value }, text))));
    const shelves = Object.entries(SHELVES).map(([value, [label]]) => [value, label]);
    const form = h("form", { class: "filters", "aria-label": "Narrow the list", onsubmit: (event) => event.preventDefault() },
      select("status", "In use or not", shelves),
      select("category", "Category", [["", "All categories"]]),
      select("days", "Time", PERIODS));
    form.addEventListener("change", (event) => {
      go({ view: this.name, query: { ...this.query, [event.target.name]: event.target.value } });
    });
    return form;
  }

  #asked() {
    const { q, status, category, days, asof } = this.query;
    // A search includes turns; a list without a query would be full of them.
    const kind = q && this.name === "everything" ? undefined : this.kinds;
    const [, statuses] = SHELVES[status ?? ""] ?? SHELVES[""];
    const since = days && sinceDays(Number(days));
    return { q: q && completed(q), kind, category, status: statuses, since, as_of: endOfDay(asof), limit: q ? FOUND : PAGE, deep: q ? true : undefined };
  }

  async #load() {
    this.asking?.abort();
    this.asking = new AbortController();
    this.rows.setAttribute("aria-busy", "true");
    const asked = this.#asked();
    const page = await this.#fetch(asked);
    if (!page) return;
    this.shown.clear();
    this.places.clear();
    this.selection.clear();
    this.rows.replaceChildren();
    const { fitting, near } = !asked.q ? { fitting: page.items, near: [] } : page.relevant ? sorted(page.items) : { fitting: [], near: page.items };
    this.#add(fitting);
    this.#showNear(near);
    this.next = asked.q ? null : page.next;
    this.rows.removeAttribute("aria-busy");
    this.#tell(asked);
    this.#fillEnd();
    this.#preview();
  }

  /** Shows the best hit of a search beside the list, where there is room. */
  #preview() {
    preview(this.query.q ? this.rows.querySelector(".row")?.dataset.id ?? null : null);
  }

  async #fetch(asked) {
    try {
      return await api.memories(asked, this.asking.signal);
    } catch (error) {
      if (error.name === "AbortError") return null;
      this.rows.removeAttribute("aria-busy");
      this.rows.querySelectorAll(".ghost").forEach((ghost) => ghost.remove());
      this.end.replaceChildren(trouble(error, () => this.#load()));
      return null;
    }
  }

  async #more() {
    if (!this.next || this.loading) return;
    this.loading = true;
    const page = await this.#fetch({ ...this.#asked(), after: this.next });
    this.loading = false;
    if (!page) return;
    this.#add(page.items);
    this.next = page.next;
    this.#fillEnd();
    this.#tell(this.#asked());
  }

  #add(memories) {
    for (const memory of memories) {
      this.places.set(memory.id, { place: this.places.size, score: memory.score, fit: memory.fit, why: memory.why });
      this.#place(memory);
      this.#know(memory.category);
      learnWords(memory.content);
    }
  }

  /** Inserts a row at its position, nearly always at the end. */
  #place(memory) {
    const { place, ...found } = this.places.get(memory.id);
    const item = row({ ...memory, ...found }, { view: this.name, query: this.query, lead: this.selection.lead(memory) });
    const before = this.#item(memory.id);
    this.shown.set(memory.id, memory);
    if (before) before.replaceWith(item);
    else this.rows.insertBefore(item, this.#after(place));
    if (memory.id === this.open) this.#markOpen();
  }

  #after(place) {
    const last = this.rows.lastElementChild;
    if (!last || this.places.get(last.dataset.id).place < place) return null;
    return [...this.rows.children].find((item) => this.places.get(item.dataset.id).place > place) ?? null;
  }

  #item(id) {
    return this.shown.has(id) ? this.rows.querySelector(`[data-id="${CSS.escape(id)}"]`) : null;
  }

  #know(category) {
    if (seenCategories.has(category) && this.knows) return;
    seenCategories.add(category);
    this.knows = true;
    const select = this.filters.elements.category;
    const kept = this.query.category ?? "";
    const options = [...seenCategories].sort().map((one) => h("option", { value: one }, one.replaceAll("_", " ")));
    select.replaceChildren(h("option", { value: "" }, "All categories"), ...options);
    select.value = kept;
  }

  #markOpen() {
    this.rows.querySelector("[aria-current]")?.removeAttribute("aria-current");
    this.#item(this.open)?.querySelector(".row-link").setAttribute("aria-current", "true");
  }

  #tell({ q }) {
    const count = this.shown.size;
    const { status, category, days, asof } = this.query;
    const narrowed = status || category || days || asof;
    const all = narrowed ? null : activeCount(this.kinds);
    const some = plural(count, "memory", "memories");
    const newest = all > count ? `The newest ${count.toLocaleString("en")} of ${all.toLocaleString("en")}` : `The newest ${count.toLocaleString("en")}`;
    this.summary.textContent = count === 0 ? "" : !q && this.next ? newest : some;
    this.forgetAll.hidden = !q || count === 0;
  }

  #fillEnd() {
    const more = this.next && button("Show more", () => this.#more(), { look: "quiet" });
    const empty = this.shown.size === 0 && this.#nothing();
    this.end.replaceChildren(...[more, empty].filter(Boolean));
    if (empty && !this.near.hidden) this.end.after(this.near);
    else this.end.before(this.near);
  }

  #nothing() {
    const { q, status, category, days, asof } = this.query;
    if (q) {
      const on = asof ? ` on ${day(asof)}` : "";
      const tip = this.near.hidden ? "Try another word, or a single name." : "Try another word, or look at what comes nearest.";
      if (this.name !== "everything" || category || days) {
        return nothing("search", "Nothing relevant here", `No memory in this list fits “${short(q, 60)}”.`,
          button("Search everything", () => go({ view: "everything", query: { q, asof } })));
      }
      return nothing("search", asof ? `Nothing relevant was known${on}` : "Nothing relevant is known", `No memory fits “${short(q, 60)}”. ${tip}`);
    }
    if (status || category || days || asof) {
      return nothing("stack", "No memories match these filters", "Try another time or category.", button("Show all", () => go({ view: this.name })));
    }
    return nothing("stack", ...this.about.empty, button("Remember something", actions.remember, { look: "primary", symbol: "plus" }));
  }

  /** Near misses: folded away, for those who want to see them. */
  #showNear(hits) {
    this.near.hidden = hits.length === 0;
    this.near.open = false;
    const rows = h("ul", { class: "rows", role: "list", "aria-label": "Near misses" }, ...hits.map((hit) => row(hit, { view: this.name, query: this.query })));
    keysFor(rows, (id) => hits.find((hit) => hit.id === id));
    followFocus(rows);
    this.near.replaceChildren(h("summary", {}, plural(hits.length, "near miss", "near misses")), rows);
  }

  async #forgetShown() {
    if (await actions.forgetSeveral([...this.shown.values()])) focusLater(null, this.rows);
  }

  /** After a change: reloads the affected memories and nothing else. */
  async #follow({ ids, gone, replaced }) {
    for (const [old, now] of Object.entries(replaced)) {
      if (this.places.has(old)) this.places.set(now, this.places.get(old));
    }
    for (const id of gone) this.#leave(id);
    await Promise.all(ids.map((id) => this.#look(id)));
    for (const id of [...ids, ...gone]) this.near.querySelector(`[data-id="${CSS.escape(id)}"]`)?.remove();
    this.near.hidden = this.near.querySelector(".row") === null;
    this.#tell(this.#asked());
    if (this.shown.size === 0) this.#fillEnd();
    else if (!this.next) this.end.replaceChildren();
    this.#preview();
  }

  async #look(id) {
    const memory = await api.memory(id).catch((error) => (error.status === 404 ? null : undefined));
    if (memory === undefined) return; // the server is unreachable; keep the row
    const asked = this.#asked();
    const fits = memory && asked.status.includes(memory.status) && (asked.kind ?? [memory.kind]).includes(memory.kind);
    if (fits) {
      if (!this.places.has(id) && asked.q) return; // a new memory has no score
      if (!this.places.has(id)) this.places.set(id, { place: -this.places.size }); // the newest comes first
      this.#place(memory);
    } else this.#leave(id);
  }

  #leave(id) {
    const item = this.#item(id);
    if (!item) return;
    const [next, held] = [neighbour(item), item.contains(document.activeElement)];
    this.shown.delete(id);
    item.remove();
    if (held) focusLater(next, this.rows);
  }
}

function sinceDays(days) {
  return new Date(Date.now() - days * 86_400_000).toISOString();
}
