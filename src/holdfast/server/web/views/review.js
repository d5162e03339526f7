// Proposals beside the memories they would change, to approve, edit or reject, one by one or several at once.

import * as actions from "../actions.js";
import * as api from "../api.js";
import { onChange } from "../bus.js";
import { wordDiff } from "../diff.js";
import { button, h, icon, say } from "../dom.js";
import { nothing, trouble } from "../empty.js";
import { isSingle, moveOf } from "../keys.js";
import { time } from "../row.js";
import { Selection } from "../selection.js";
import { ghostRows } from "../skeleton.js";
import { actorWord, kindSymbol, kindWord, plural, sentence } from "../words.js";

const BATCH = [
  ["Approve", actions.approveSeveral, { look: "small primary", symbol: "check" }],
  ["Reject", actions.rejectSeveral, { look: "small danger", symbol: "close" }],
];

export function mountReview(main) {
  const cards = h("ul", { class: "cards", role: "list", "aria-label": "Proposals" }, ...ghostRows(3));
  const summary = h("p", { class: "summary", role: "status" });
  const rest = h("div", {});
  const shown = new Map(); // id → proposal
  const selection = new Selection(cards, () => shown, BATCH);
  main.replaceChildren(
    h("div", { class: "heading" }, h("h1", {}, "Review"),
      h("p", {}, "Proposals are not used until you approve them. ", h("span", { class: "key-hint" },
        h("kbd", {}, "A"), " approves the focused proposal, ", h("kbd", {}, "E"), " edits, ", h("kbd", {}, "R"), " rejects, ", h("kbd", {}, "X"), " selects several."))),
    summary, cards, rest, selection.bar);

  const tell = () => {
    const left = shown.size;
    summary.textContent = left > 0 ? plural(left, "proposal") : "";
    rest.replaceChildren(...(left > 0 ? [] : [nothing("check", "Nothing to review", "Memories that need your approval appear here.")]));
  };
  const load = async () => {
    try {
      const proposals = await api.review();
      const focused = cards.contains(document.activeElement) || selection.bar.contains(document.activeElement);
      const place = Math.max([...cards.children].findIndex((one) => one.contains(document.activeElement)), 0);
      shown.clear();
      for (const proposal of proposals) shown.set(proposal.id, proposal);
      cards.replaceChildren(...proposals.map((proposal) => card(proposal, selection)));
      selection.refresh();
      tell();
      if (focused) (cards.children[Math.min(place, cards.children.length - 1)] ?? document.getElementById("main")).focus();
    } catch (error) {
      cards.replaceChildren();
      rest.replaceChildren(trouble(error, load));
    }
  };
  load();
  const stop = onChange(load);
  return { update() {}, dispose: () => (selection.stop(), stop()), focusFirst: () => cards.firstElementChild?.focus(), escape: () => selection.escape() };
}

const DEEDS = { a: actions.approve, e: actions.approveEdited, r: actions.reject };
const FOR_ALL = { a: actions.approveSeveral, r: actions.rejectSeveral };

function card(proposal, selection) {
  const item = h("li", { class: "card", tabindex: "0", "data-id": proposal.id, "aria-label": `Proposal: ${proposal.content}` },
    h("p", { class: "kind-line" }, selection.box(proposal), icon(kindSymbol(proposal)),
      h("span", {}, `${kindWord(proposal)}, proposed ${actorWord(proposal.proposed_by)} · `, time(proposal.created_at))),
    proposal.changes ? beside(proposal.changes.content, proposal.content) : h("p", { class: "proposal", dir: "auto" }, proposal.content),
    h("p", { class: "quietly" }, [effect(proposal), proposal.reason && sentence(proposal.reason)].filter(Boolean).join(" ")),
    !proposal.changes && proposal.nearest && h("p", { class: "against" }, h("span", { class: "quietly" }, "Similar memory, which stays: "), proposal.nearest.content),
    proposal.quote && h("blockquote", { class: "quote" }, `“${proposal.quote}”`),
    h("div", { class: "actions" },
      button("Approve", () => actions.approve(proposal), { look: "primary", symbol: "check" }),
      button("Edit and approve", () => actions.approveEdited(proposal), { symbol: "pencil" }),
      button("Reject", () => actions.reject(proposal), { look: "danger", symbol: "close" })));
  item.addEventListener("keydown", (event) => keyed(event, item, proposal, selection));
  return item;
}

/** The effect of approving, without ids. */
function effect({ effect: told, changes }) {
  return changes ? told.replaceAll(changes.id, "the memory beside it") : "It would be a new memory.";
}

function keyed(event, item, proposal, selection) {
  const key = moveOf(event);
  const moves = { ArrowDown: item.nextElementSibling, ArrowUp: item.previousElementSibling };
  if (key in moves) {
    event.preventDefault();
    (moves[key] ?? item).focus();
  }
  const letter = isSingle(event) && event.key.toLowerCase();
  if (!letter || !(letter in DEEDS)) return;
  event.preventDefault();
  item.focus(); // keeps the focus among the cards when this one is removed
  say("");
  if (selection.size > 0 && letter in FOR_ALL) selection.apply(FOR_ALL[letter]);
  else DEEDS[letter](proposal);
}

/** The memory as it is and as it would be, with what differs marked, also for screen readers. */
function beside(before, after) {
  const runs = wordDiff(before, after);
  return h("div", { class: "beside" },
    h("div", {}, h("h2", {}, "Now"), h("p", { class: "proposal", dir: "auto" }, ...runs.filter(([kind]) => kind !== "new").map((run) => told(...run)))),
    h("div", {}, h("h2", {}, "Proposed"), h("p", { class: "proposal", dir: "auto" }, ...runs.filter(([kind]) => kind !== "gone").map((run) => told(...run)))));
}

const MARKS = { new: ["ins", "added: "], gone: ["del", "removed: "] };

function told(kind, text) {
  if (kind === "same" || !text.trim()) return text;
  const [tag, spoken] = MARKS[kind];
  const [, space, words, rest] = text.match(/^(\s*)([^]*?)(\s*)$/);
  return [space, h(tag, {}, h("span", { class: "unseen" }, spoken), words), rest];
}
