// Health of the store: problems, pending work, totals, embedding progress.

import * as api from "../api.js";
import { h, icon } from "../dom.js";
import { href } from "../router.js";
import { KINDS, plural, STATUSES } from "../words.js";
import { trouble } from "../empty.js";

const SHOWN = ["fact", "episode", "rule", "turn", "reflection", "document", "skill"];
const LABELS = { episode: "Sessions", turn: "Turns of conversations", fact: "Facts", rule: "Rules", reflection: "Reflections", document: "Documents", skill: "Playbooks" };

export function mountHealth(main) {
  const load = async () => {
    const head = h("div", { class: "heading" }, h("h1", {}, "Health"), h("p", {}, "Status of this memory."));
    try {
      const health = await api.health();
      main.replaceChildren(head, verdict(health), waiting(health), counts(health), searching(health));
    } catch (error) {
      main.replaceChildren(head, trouble(error, load));
    }
  };
  load();
  return { update() {}, dispose() {}, focusFirst() {} };
}

function verdict({ findings, problems }) {
  const amiss = [
    findings > 0 && `The store has ${plural(findings, "problem")}. Run “holdfast doctor” in a terminal for details and “holdfast doctor --repair” to rebuild what can be rebuilt.`,
    ...Object.entries(problems).map(([model, problem]) => `The model ${model} does not work: ${problem} Search continues without it.`),
  ].filter(Boolean);
  if (amiss.length > 0) {
    return h("div", { class: "verdict warn" }, icon("alert"), h("div", {}, h("h2", {}, "Something needs attention"), ...amiss.map((text) => h("p", {}, text))));
  }
  const looked = findings === null ? "The whole store cannot be checked from here." : "The whole store was checked.";
  return h("div", { class: "verdict good" }, icon("check"), h("div", {}, h("h2", {}, "No problems found"), h("p", {}, looked)));
}

const total = (memories, status) => Object.values(memories).reduce((sum, by) => sum + (by[status] ?? 0), 0);

function waiting({ memories }) {
  const [proposed, held] = [total(memories, "proposed"), total(memories, "held")];
  return h("section", {}, h("h2", {}, "Pending"), h("div", { class: "figures" },
    figure(proposed, "for review", href({ view: "review" })),
    figure(held, "on hold until a conversation ends", href({ view: "everything", query: { status: "held" } }))));
}

function figure(count, label, link) {
  return h("a", { class: "figure", href: link }, h("strong", {}, count.toLocaleString("en")), h("span", {}, label));
}

function counts({ memories }) {
  const kinds = SHOWN.filter((kind) => memories[kind]);
  const statuses = Object.keys(STATUSES).filter((status) => total(memories, status) > 0);
  if (kinds.length === 0) return h("section", {}, h("h2", {}, "Stored memories"), h("p", {}, "Nothing yet."));
  return h("section", {}, h("h2", {}, "Stored memories"), h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Stored memories" }, h("table", {},
    h("thead", {}, h("tr", {}, h("td", {}), ...statuses.map((status) => h("th", { scope: "col" }, STATUSES[status])))),
    h("tbody", {}, ...kinds.map((kind) => h("tr", {}, h("th", { scope: "row" }, LABELS[kind] ?? KINDS[kind]?.one ?? kind),
      ...statuses.map((status) => h("td", {}, (memories[kind][status] ?? 0).toLocaleString("en")))))))));
}

function searching({ models, vectors, active }) {
  const rows = models.map((model) => {
    const done = vectors[model] ?? 0;
    return h("li", {}, h("span", {}, model), h("progress", { max: Math.max(active, 1), value: done, "aria-label": `Memories embedded by ${model}` }),
      h("span", { class: "quietly" }, `${done.toLocaleString("en")} of ${plural(active, "memory", "memories")}`));
  });
  return h("section", {}, h("h2", {}, "Search"),
    h("p", {}, models.length > 0 ? "Search works by words at once, and by meaning as soon as these models have embedded a memory. They run on this machine unless you configured others." : "Search works by words only: no embedding model is configured."),
    h("ul", { class: "models", role: "list" }, ...rows));
}
