// Events and new facts by day.

import * as api from "../api.js";
import { onChange } from "../bus.js";
import { button, h, icon } from "../dom.js";
import { href } from "../router.js";
import { dayHeading, dayKey, kindSymbol, kindWord } from "../words.js";
import { nothing, trouble } from "../empty.js";

const PAGE = 50;
const HAPPENED = { happened: "Happened", learned: "Learned", said: "Said" };

export function mountTimeline(main) {
  const days = h("ol", { class: "days", role: "list" });
  const end = h("div", { class: "list-end" });
  main.replaceChildren(h("div", { class: "heading" }, h("h1", {}, "Timeline"), h("p", {}, "Events and new facts, newest first.")), days, end);
  let next = null;
  let loading = false;

  const load = async (fresh) => {
    if (loading || (!fresh && next === null)) return;
    loading = true;
    try {
      const page = await api.timeline({ limit: PAGE, before: fresh ? undefined : next });
      if (fresh) days.replaceChildren();
      page.items.forEach((item) => add(days, item));
      next = page.next;
      const empty = days.children.length === 0 && nothing("clock", "Nothing yet", "New memories appear here.");
      end.replaceChildren(...[next !== null && button("Show earlier", () => load(false), { look: "quiet" }), empty].filter(Boolean));
    } catch (error) {
      end.replaceChildren(trouble(error, () => load(fresh)));
    } finally {
      loading = false;
    }
  };

  const watcher = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && load(false), { rootMargin: "600px" });
  watcher.observe(end);
  const stop = onChange(() => load(true));
  load(true);
  return {
    update: ({ id }) => mark(days, id),
    dispose: () => (watcher.disconnect(), stop()),
    focusFirst: () => days.querySelector("a")?.focus(),
  };
}

function mark(days, id) {
  days.querySelector("[aria-current]")?.removeAttribute("aria-current");
  if (id) days.querySelector(`[data-id="${CSS.escape(id)}"] a`)?.setAttribute("aria-current", "true");
}

function add(days, { at, what, memory }) {
  const key = dayKey(at);
  const after = [...days.children].find((one) => Number(one.dataset.day) <= key);
  let day = after;
  if (Number(after?.dataset.day) !== key) {
    day = h("li", { "data-day": key }, h("h2", {}, dayHeading(at)), h("ul", { class: "moments", role: "list" }));
    days.insertBefore(day, after ?? null); // an event of last week may be stored today
  }
  day.lastElementChild.append(h("li", { class: "moment", "data-id": memory.id },
    h("span", { class: "dot-icon" }, icon(kindSymbol(memory))),
    h("p", { dir: "auto" }, h("a", { href: href({ view: "timeline", id: memory.id }) }, memory.content)),
    h("p", { class: "quietly" }, what === "learned" ? `${HAPPENED[what]} · ${kindWord(memory)}` : kindWord(memory))));
}
