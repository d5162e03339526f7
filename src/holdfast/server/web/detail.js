// Details of one memory: text, reason, source, links, decay, history.

import * as actions from "./actions.js";
import * as api from "./api.js";
import { onChange } from "./bus.js";
import { retention } from "./curve.js";
import { afterQuiet, button, byId, h, icon } from "./dom.js";
import { go, href, route } from "./router.js";
import { hasCategory, time } from "./row.js";
import { nothing, trouble } from "./empty.js";
import { ghostMemory, ifSlow } from "./skeleton.js";
import { notice } from "./toast.js";
import { actorWord, day, deciderSentence, decisionSentences, kindSymbol, kindWord, plural, sentence, short, statusWord, verbWord } from "./words.js";

const narrow = matchMedia("(max-width: 1099px)");
const MOST_DAYS = 3650;
const FOLLOW = 120; // milliseconds on a row before it is previewed
const pane = byId("detail");
let shown = null;
let previewed = null; // shown while nothing is open: the best hit of a search, or the focused row
let opener = null;
const current = () => shown ?? previewed;

/** Shows the memory `id` beside the list, or over it where there is no room. */
export async function openDetail(id) {
  if (shown === id) return;
  if (!shown) opener = document.activeElement;
  // Keyboard users continue in the pane; a click leaves the focus where it is.
  const follow = narrow.matches || Boolean(document.activeElement?.matches("main:focus-visible, main :focus-visible, aside :focus-visible"));
  shown = id;
  cover(true);
  await fill(id, { fresh: true, follow });
}

/** Shows a memory while none is open, without taking the focus; null ends that. Where there is no room, nothing. */
export function preview(id) {
  const before = previewed;
  previewed = id;
  if (shown || id === before) return;
  if (id) fill(id, { fresh: true });
  else showHint();
}

/** Previews the row of `list` that has the focus by keyboard. */
export function followFocus(list) {
  const follow = afterQuiet(FOLLOW, (id) => list.isConnected && preview(id));
  list.addEventListener("focusin", (event) => {
    if (!narrow.matches && event.target.matches(".row-link:focus-visible")) follow(event.target.closest(".row").dataset.id);
  });
}

export function closeDetail() {
  if (!shown) return previewed ? undefined : showHint();
  const [id, came] = [shown, opener];
  const held = pane.contains(document.activeElement) || document.activeElement === document.body;
  [shown, opener] = [null, null];
  cover(false);
  if (previewed) fill(previewed, { fresh: true });
  else showHint();
  const row = document.querySelector(`main [data-id="${CSS.escape(id)}"] a`);
  if (held) (row ?? (came?.isConnected ? came : byId("main"))).focus();
}

export const isDetailOpen = () => shown !== null;

/** Leaves the memory and goes back to where it was opened from. */
export function leaveDetail() {
  const { view, query } = route();
  go({ view, query });
}

function cover(open) {
  document.body.classList.toggle("detail-open", open);
  const over = open && narrow.matches;
  for (const part of document.querySelectorAll(".top, .side, main, .strip")) part.inert = over;
}

narrow.addEventListener("change", () => cover(shown !== null));

function showHint() {
  pane.replaceChildren(h("div", { class: "hint-pane" },
    nothing("fact", "Choose a memory", "See why it was stored and where it comes from. Then correct, confirm or forget it.")));
}

async function fill(id, { fresh = false, follow = false } = {}) {
  pane.setAttribute("aria-busy", "true");
  const settle = ifSlow(() => fresh && current() === id && pane.replaceChildren(closer(), ghostMemory()));
  try {
    const [memory, why, forecast] = await Promise.all([api.memory(id), api.why(id), whole(id)]);
    // Before anything is shown: what came later would push down what somebody reads.
    const [links, conversation] = await Promise.all([linkedTo(memory, why.links), saidIn(memory)]);
    settle();
    if (current() !== id) return;
    pane.replaceChildren(...content(memory, { ...why, links, conversation }, forecast));
    if (fresh) pane.scrollTop = 0;
    if (follow) pane.querySelector("h2").focus({ preventScroll: true });
  } catch (error) {
    settle();
    if (current() !== id) return;
    if (error.status === 404) {
      leaveDetail();
      if (fresh) notice("This memory is not here. It may have been erased.", { problem: true }); // an old link, say
    } else pane.replaceChildren(closer(), trouble(error, () => fill(id)));
  } finally {
    pane.removeAttribute("aria-busy");
  }
}

/** The forecast until shortly after the memory has faded. */
async function whole(id) {
  const forecast = await api.forecast(id);
  const left = (new Date(forecast.fades_at ?? 0) - Date.now()) / 86_400_000;
  return left > 0 ? api.forecast(id, Math.min(Math.ceil(left * 1.15) + 1, MOST_DAYS)) : forecast;
}

const closer = () =>
  !shown ? h("p", { class: "preview-top quietly" }, "Preview") : h("div", { class: "detail-top" }, button("Back", leaveDetail, { look: "quiet small back", symbol: "back" }),
    h("button", { type: "button", class: "button quiet square small shut", "aria-label": "Close details", onclick: leaveDetail }, icon("close")));

function content(memory, why, forecast) {
  return [
    closer(),
    h("article", { class: "memory" },
      h("p", { class: "kind-line" }, icon(kindSymbol(memory)), kindWord(memory),
        hasCategory(memory) && h("span", { class: "chip" }, memory.category.replaceAll("_", " ")),
        memory.protected && h("span", { class: "chip good" }, icon("shield"), "Confirmed"),
        memory.status !== "active" && h("span", { class: "chip warn" }, statusWord(memory.status))),
      h("h2", { tabindex: "-1", dir: "auto", class: !memory.title && memory.content.length > 220 ? "long" : "" }, memory.title || memory.content),
      memory.title && h("p", { class: "summary-text", dir: "auto" }, memory.content),
      h("div", { class: "actions" }, ...buttons(memory)),
      section("Why it was stored", reasons(memory, why.decision)),
      sources(why.sources),
      why.links.length > 0 && section("Linked memories", [h("ul", { class: "links", role: "list" }, ...why.links.map(linked))]),
      conversation(why.conversation),
      ["fact", "rule", "reflection"].includes(memory.kind) && section("Confidence over time", [retention(memory, forecast)]),
      section("History", [history(why.history)]),
      facts(memory)),
  ];
}

function buttons(memory) {
  const correct = button("Correct", () => correctHere(memory), { symbol: "pencil" });
  if (memory.status === "proposed") {
    return [h("a", { class: "button primary", href: href({ view: "review" }) }, icon("inbox"), "Review it")];
  }
  if (memory.status !== "active") return [button("Restore", () => actions.restore(memory), { look: "primary", symbol: "undo" })];
  return [
    memory.kind !== "turn" && correct,
    !memory.protected && memory.kind !== "turn" && button("Confirm", () => actions.confirm(memory), { symbol: "check", title: "Mark as correct: it will not fade" }),
    button("Copy", () => actions.copyMarkdown([memory]), { symbol: "copy", title: "Copy as Markdown" }),
    button("Archive", () => putAway(memory), { symbol: "box", title: "Keep it, but stop using it" }),
    button("Forget", () => forgetHere(memory), { look: "danger", symbol: "bin" }),
  ].filter(Boolean);
}

async function correctHere(memory) {
  const now = await actions.correct(memory);
  if (now) go({ ...route(), id: now.id }, { replace: true });
}

async function forgetHere(memory) {
  if (await actions.forget(memory)) leaveDetail();
}

async function putAway(memory) {
  if (await actions.archive(memory)) leaveDetail();
}

const section = (title, parts) => h("section", {}, h("h3", {}, title), ...parts);

function reasons(memory, decision) {
  const told = [...decisionSentences(memory, decision)];
  const because = decision?.reason && h("p", { class: "because" }, sentence(decision.reason));
  return [
    h("p", {}, told.join(" ")),
    because,
    memory.quote && h("blockquote", { class: "quote", dir: "auto" }, `“${memory.quote}”`),
    decision?.version && h("p", { class: "quietly" }, deciderSentence(decision.version)),
  ].filter(Boolean);
}

function sources(turns) {
  if (turns.length === 0) return null;
  return section("Source", [h("ol", { class: "turns", role: "list" }, ...turns.map(turn))]);
}

function turn(one) {
  return h("li", {}, h("p", { class: "who" }, who(one), " ", time(one.when)), h("p", { dir: "auto" }, one.text));
}

function who({ who: name }) {
  return h("strong", {}, name === "user" ? "You" : name === "assistant" ? "The assistant" : name);
}

const MOST_TURNS = 100;

/** What was said in the session that a memory sums up, oldest first; nothing for other memories. */
async function saidIn(memory) {
  if (memory.kind !== "episode" || !memory.session) return { turns: [], earlier: false };
  const { items, next } = await api.memories({ kind: "turn", session: memory.session, limit: MOST_TURNS });
  return { turns: [...items].reverse(), earlier: Boolean(next) };
}

function conversation({ turns, earlier }) {
  if (turns.length === 0) return null;
  return section("The conversation", [
    earlier && h("p", { class: "quietly" }, `The last ${plural(MOST_TURNS, "turn")}. There are earlier ones.`),
    h("ol", { class: "turns", role: "list" }, ...turns.map((one) => turn({ who: one.author || one.role, when: one.event_time, text: one.content })))]);
}

const RELATIONS = {
  supersedes: { out: "Replaces", in: "Replaced by" },
  conflicts_with: { out: "Contradicts", in: "Contradicts" },
  derived_from: { out: "Based on", in: "Source of" },
};

const MOST_LINKS = 12;

/** Links contain ids only; the linked texts are fetched, if they still exist. */
async function linkedTo(memory, links) {
  const ways = links.slice(0, MOST_LINKS).map((link) => [link, link.source === memory.id ? "out" : "in"]);
  const found = await Promise.all(ways.map(async ([link, way]) => {
    const other = await api.memory(way === "out" ? link.target : link.source).catch(() => null);
    return other && other.kind !== "turn" && { link, way, other }; // turns are shown under "Source"
  }));
  return found.filter(Boolean);
}

function linked({ link, way, other }) {
  return h("li", {},
    h("span", { class: "quietly" }, RELATIONS[link.relation]?.[way] ?? link.relation),
    h("a", { href: href({ ...route(), id: other.id }) }, short(other.content, 140)),
    link.reason && h("span", { class: "quietly" }, `Reason: ${link.reason}`));
}

function history(events) {
  return h("ol", { class: "history", role: "list" }, ...[...events].reverse().map((event) =>
    h("li", {}, h("span", {}, verbWord(event.verb)), " ", h("span", { class: "quietly" }, actorWord(event.actor), " · ", time(event.at)))));
}

function facts(memory) {
  const { triple } = memory;
  const pairs = [
    ["Stored", day(memory.created_at)],
    memory.valid_from && ["Valid from", day(memory.valid_from)],
    memory.valid_until && ["Valid until", day(memory.valid_until)],
    triple && ["Triple", [triple.subject, triple.predicate, triple.object].join(" · ").replaceAll("_", " ").toLowerCase()],
    memory.tags?.length && ["Tags", memory.tags.join(", ")],
    memory.session && ["Conversation", memory.session],
    ["Id", memory.id],
  ].filter(Boolean);
  return h("details", { class: "more" }, h("summary", {}, "More details"),
    h("dl", {}, ...pairs.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
}

onChange(({ ids, gone, replaced }) => {
  if (!shown) return previewed && ids.includes(previewed) ? fill(previewed) : undefined;
  if (gone.includes(shown)) go({ ...route(), id: replaced[shown] ?? "" }, { replace: true });
  else if (ids.includes(shown)) fill(shown);
});
