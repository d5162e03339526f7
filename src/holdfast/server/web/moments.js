// A timeline: a strip of bars to zoom into, and below it what happened or was learned, day by day.

import * as api from "./api.js";
import { onChange } from "./bus.js";
import { button, h, icon } from "./dom.js";
import { bounds, isPeriod, periodName, periodSummary, strip } from "./periods.js";
import { go, href } from "./router.js";
import { nothing, trouble } from "./empty.js";
import { ago, clock, dayHeading, dayKey, KIND_ORDER, kindMany, kindSymbol, kindWord } from "./words.js";

const PAGE = 50;
const AXES = [["happened", "Happened"], ["learned", "Learned"]];

/** Minutes by which the local time is ahead of UTC. */
export const minutesAhead = () => -new Date().getTimezoneOffset();

/** A timeline in the view `view`; `entity` is whom it is about, if it is about one. */
export class Moments {
  constructor(view, { entity, people = [] } = {}) {
    this.view = view;
    this.entity = entity;
    this.latest = 0;
    this.controls = this.#controls(people);
    this.when = h("div", { class: "when" });
    this.summary = h("p", { class: "summary", role: "status" });
    this.days = h("ol", { class: "days", role: "list", "aria-label": "Timeline" });
    this.end = h("div", { class: "list-end" });
    this.element = h("div", { class: "moments-of" }, this.controls, this.when, this.summary, this.days, this.end);
    this.watcher = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && this.#more(), { rootMargin: "600px" });
    this.watcher.observe(this.end);
    this.stop = onChange(() => this.#load());
  }

  dispose() {
    this.watcher.disconnect();
    this.stop();
  }

  update({ query, id }) {
    this.query = query;
    const wanted = JSON.stringify([query.by, query.kind, query.who, query.period]);
    if (wanted !== this.wanted) {
      this.wanted = wanted;
      this.#show();
      this.#load();
    }
    this.open = id;
    this.#mark();
  }

  focusFirst() {
    this.days.querySelector("a")?.focus();
  }

  get #period() {
    return isPeriod(this.query.period) ? this.query.period : "";
  }

  get #asked() {
    const { by, kind, who } = this.query;
    return { by: by === "learned" ? by : undefined, kind: KIND_ORDER.includes(kind) ? kind : undefined, entity: this.entity ?? who };
  }

  #go(change) {
    go({ view: this.view, query: { ...this.query, ...change } });
  }

  #controls(people) {
    const axis = h("fieldset", { class: "segments" }, h("legend", { class: "unseen" }, "By when it"), ...AXES.map(([value, label]) =>
      h("label", {}, h("input", { type: "radio", name: "by", value }), h("span", {}, label))));
    const select = (name, label, choices) => h("span", { class: "select" }, h("select", { name, "aria-label": label }, ...choices.map(([value, text]) => h("option", { value }, text))));
    const form = h("form", { class: "filters", "aria-label": "Narrow the timeline", onsubmit: (event) => event.preventDefault() }, axis,
      select("kind", "Kind", [["", "All kinds"], ...KIND_ORDER.map((kind) => [kind, capital(kindMany(kind))])]),
      people.length > 0 && select("who", "Person or place", [["", "Everybody"], ...people.map((one) => [one.id, one.name])]));
    form.addEventListener("change", (event) => {
      const { name, value } = event.target;
      this.#go({ [name]: name === "by" && value === "happened" ? "" : value });
    });
    return form;
  }

  #show() {
    const { elements } = this.controls;
    elements.by.value = this.query.by === "learned" ? "learned" : "happened";
    for (const name of ["kind", "who"]) {
      if (!elements[name]) continue;
      elements[name].value = this.query[name] ?? "";
      elements[name].classList.toggle("narrowing", elements[name].value !== "");
    }
  }

  async #load() {
    const mine = ++this.latest;
    this.days.setAttribute("aria-busy", "true");
    this.next = null;
    try {
      const [counted, page] = await Promise.all([
        api.timelineDays({ ...this.#asked, minutes_ahead: minutesAhead() }),
        api.timeline(this.#page()),
      ]);
      if (mine !== this.latest) return;
      const held = this.when.contains(document.activeElement) && document.activeElement.dataset.id;
      this.when.replaceChildren(strip(counted.days, this.#period, (period) => this.#go({ period })));
      if (held !== false) this.#refocus(held);
      this.#reveal();
      this.summary.textContent = periodSummary(counted.days, this.#period);
      this.days.replaceChildren();
      this.#add(page);
      if (page.items.length === 0) this.end.replaceChildren(this.#nothing());
    } catch (error) {
      if (mine === this.latest) this.end.replaceChildren(trouble(error, () => this.#load()));
    } finally {
      if (mine === this.latest) this.days.removeAttribute("aria-busy");
    }
  }

  /** After a zoom by keyboard the focus stays in the strip. */
  #refocus(held) {
    const same = held && this.when.querySelector(`[data-id="${CSS.escape(held)}"]:enabled`);
    (same ?? this.when.querySelector(".period[tabindex='0']"))?.focus();
  }

  /** Where the bars do not fit, the chosen or the latest one is in sight. */
  #reveal() {
    const bars = this.when.querySelector(".bars");
    const shown = bars?.querySelector("[tabindex='0']");
    if (shown) bars.scrollLeft = shown.offsetLeft - bars.offsetLeft - bars.clientWidth + 2 * shown.offsetWidth;
  }

  #page(before) {
    const period = this.#period && bounds(this.#period);
    return { ...this.#asked, ...(period || {}), before, limit: PAGE };
  }

  async #more() {
    if (!this.next || this.loading) return;
    this.loading = true;
    const mine = this.latest;
    try {
      const page = await api.timeline(this.#page(this.next));
      if (mine === this.latest) this.#add(page);
    } catch (error) {
      if (mine === this.latest) this.end.replaceChildren(trouble(error, () => this.#more()));
    } finally {
      this.loading = false;
    }
  }

  #add(page) {
    for (const item of page.items) this.#place(item);
    this.next = page.next;
    this.end.replaceChildren(...(this.next ? [button("Show earlier", () => this.#more(), { look: "quiet" })] : []));
    this.#mark();
  }

  #place({ at, memory }) {
    const key = String(dayKey(at));
    let day = this.days.lastElementChild;
    if (day?.dataset.day !== key) {
      day = h("li", { "data-day": key }, h("h2", {}, dayHeading(at)), h("ul", { class: "moments", role: "list" }));
      this.days.append(day);
    }
    day.lastElementChild.append(this.#moment(at, memory));
  }

  #moment(at, memory) {
    const learned = this.query.by !== "learned" && dayKey(memory.created_at) !== dayKey(at) && `learned ${ago(memory.created_at)}`;
    const happened = this.query.by === "learned" && dayKey(memory.valid_from ?? memory.event_time) !== dayKey(at) && `happened ${ago(memory.valid_from ?? memory.event_time)}`;
    const who = memory.kind === "turn" && (memory.author || memory.role);
    return h("li", { class: "moment", "data-id": memory.id },
      h("span", { class: `dot-icon ${memory.kind}` }, icon(kindSymbol(memory))),
      h("p", { dir: "auto" }, h("a", { href: href({ view: this.view, id: memory.id, query: this.query }) }, memory.title || memory.content)),
      h("p", { class: "quietly" }, [who ? `${who} said` : kindWord(memory), clock(at), learned || happened].filter(Boolean).join(" · ")));
  }

  #nothing() {
    const period = this.#period;
    if (period) return nothing("clock", `Nothing in ${periodName(period)}`, "Choose another time, or look at all of it.", button("All time", () => this.#go({ period: "" })));
    const narrowed = this.query.kind || this.query.who;
    if (narrowed) return nothing("clock", "Nothing here", "No memory fits what you chose.", button("Show all", () => this.#go({ kind: "", who: "" })));
    return nothing("clock", "Nothing yet", "What happened and what was learned appears here, day by day.");
  }

  #mark() {
    this.days.querySelector("[aria-current]")?.removeAttribute("aria-current");
    if (this.open) this.days.querySelector(`[data-id="${CSS.escape(this.open)}"] a`)?.setAttribute("aria-current", "true");
  }
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
