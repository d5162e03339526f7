// Proposals beside the most similar memory, to approve, edit or reject.

import * as actions from "../actions.js";
import * as api from "../api.js";
import { onChange } from "../bus.js";
import { wordDiff } from "../diff.js";
import { button, h, icon, say } from "../dom.js";
import { time } from "../row.js";
import { actorWord, kindSymbol, kindWord, plural, sentence } from "../words.js";
import { nothing, trouble } from "./list.js";

export function mountReview(main) {
  const cards = h("ul", { class: "cards", role: "list", "aria-label": "Proposals" });
  const summary = h("p", { class: "summary", role: "status" });
  const rest = h("div", {});
  main.replaceChildren(
    h("div", { class: "heading" }, h("h1", {}, "Review"),
      h("p", {}, "Proposals are not used until you approve them. ", h("span", { class: "key-hint" },
        "Keys for the focused proposal: ", h("kbd", {}, "A"), " to approve, ", h("kbd", {}, "E"), " to edit, ", h("kbd", {}, "R"), " to reject."))),
    summary, cards, rest);

  const tell = () => {
    const left = cards.children.length;
    summary.textContent = left > 0 ? plural(left, "proposal") : "";
    rest.replaceChildren(...(left > 0 ? [] : [nothing("check", "Nothing to review", "Memories that need your approval appear here.")]));
  };
  const load = async () => {
    try {
      const proposals = await api.review();
      const focused = cards.contains(document.activeElement);
      const place = [...cards.children].findIndex((one) => one.contains(document.activeElement));
      cards.replaceChildren(...proposals.map(card));
      tell();
      if (focused) (cards.children[Math.min(place, cards.children.length - 1)] ?? document.getElementById("main")).focus();
    } catch (error) {
      rest.replaceChildren(trouble(error, load));
    }
  };
  load();
  return { update() {}, dispose: onChange(load), focusFirst: () => cards.firstElementChild?.focus() };
}

const DEEDS = { a: actions.approve, e: actions.approveEdited, r: actions.reject };

function card(proposal) {
  const { nearest } = proposal;
  const item = h("li", { class: "card", tabindex: "0", "data-id": proposal.id, "aria-label": `Proposal: ${proposal.content}` },
    h("p", { class: "kind-line" }, icon(kindSymbol(proposal)), h("span", {}, `${kindWord(proposal)}, proposed ${actorWord(proposal.proposed_by)} · `, time(proposal.created_at))),
    h("p", { class: "proposal", dir: "auto" }, ...(nearest ? difference(nearest.content, proposal.content) : [proposal.content])),
    nearest && h("p", { class: "against" }, h("span", { class: "quietly" }, "Existing memory: "), nearest.content),
    h("p", { class: "quietly" }, [proposal.reason && sentence(proposal.reason), effect(proposal)].filter(Boolean).join(" ")),
    proposal.quote && h("blockquote", { class: "quote" }, `“${proposal.quote}”`),
    h("div", { class: "actions" },
      button("Approve", () => actions.approve(proposal), { look: "primary", symbol: "check" }),
      button("Edit and approve", () => actions.approveEdited(proposal), { symbol: "pencil" }),
      button("Reject", () => actions.reject(proposal), { look: "danger", symbol: "close" })));
  item.addEventListener("keydown", (event) => keyed(event, item, proposal));
  return item;
}

/** The effect of approving, without ids. */
function effect({ effect: told, nearest }) {
  return nearest ? told.replaceAll(nearest.id, "the existing memory") : "";
}

function keyed(event, item, proposal) {
  const moves = { ArrowDown: item.nextElementSibling, ArrowUp: item.previousElementSibling };
  if (event.key in moves) {
    event.preventDefault();
    (moves[event.key] ?? item).focus();
  }
  const deed = !event.ctrlKey && !event.metaKey && !event.altKey && DEEDS[event.key.toLowerCase()];
  if (deed) {
    event.preventDefault();
    item.focus(); // keeps the focus among the cards when this one is removed
    say("");
    deed(proposal);
  }
}

/** The proposal with a word diff, also for screen readers. */
function difference(before, after) {
  const tags = { new: ["ins", "added: "], gone: ["del", "removed: "] };
  return wordDiff(before, after).map(([kind, text]) => {
    if (kind === "same" || !text.trim()) return text;
    const [tag, spoken] = tags[kind];
    const [, space, words, rest] = text.match(/^(\s*)([^]*?)(\s*)$/);
    return [space, h(tag, {}, h("span", { class: "unseen" }, spoken), words), rest];
  }).flat();
}
