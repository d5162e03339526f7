// Entry point: routing, search, colours and global keys.

import * as actions from "./actions.js";
import { entities, whenKeyIsWanted } from "./api.js";
import { learnWords } from "./completing.js";
import { isDense, setDense } from "./density.js";
import { closeDetail, isDetailOpen, leaveDetail, openDetail } from "./detail.js";
import { askForKey, showHelp } from "./dialogs.js";
import { afterQuiet, byId, icon, isTyping } from "./dom.js";
import { isSingle, singleKeys } from "./keys.js";
import { openPalette, visit } from "./palette.js";
import { go, route } from "./router.js";
import { loadingView } from "./skeleton.js";
import { download, startStrip } from "./strip.js";
import { undoLatest } from "./toast.js";
import { mountAdmin } from "./views/admin.js";
import { mountChanges } from "./views/changes.js";
import { mountHealth } from "./views/health.js";
import { mountHome } from "./views/home.js";
import { LISTS, mountList } from "./views/list.js";
import { mountPeople } from "./views/people.js";
import { mountReview } from "./views/review.js";
import { mountTimeline } from "./views/timeline.js";

const TYPING_PAUSE = 180; // milliseconds without a key press before a search starts
const VIEWS = {
  home: { title: "Home", mount: mountHome, wide: true },
  ...Object.fromEntries(Object.keys(LISTS).map((name) => [name, { title: LISTS[name].title, mount: (main) => mountList(main, name) }])),
  review: { title: "Review", mount: mountReview, wide: true },
  people: { title: "People and places", mount: mountPeople },
  timeline: { title: "Timeline", mount: mountTimeline },
  changes: { title: "Recent changes", mount: mountChanges },
  health: { title: "Health", mount: mountHealth, wide: true },
  server: { title: "Server", mount: mountAdmin, wide: true },
};

const main = byId("main");
const search = byId("search");
let current = { name: null, view: null };

function show() {
  const asked = route();
  const name = asked.view in VIEWS ? asked.view : "home";
  if (name !== current.name) {
    const held = main.contains(document.activeElement);
    current.view?.dispose();
    main.replaceChildren(...loadingView(VIEWS[name].title)); // nothing of the view before under a new title
    current = { name, view: VIEWS[name].mount(main) };
    document.body.classList.toggle("wide", Boolean(VIEWS[name].wide));
    document.body.dataset.view = name;
    if (held) main.focus(); // else Tab would begin at the top of the page again
    scrollTo(0, 0);
    markCurrent(name);
  }
  document.title = `${VIEWS[name].title} · Memory`;
  if (document.activeElement !== search) search.value = asked.query.q ?? "";
  current.view.update(asked);
  if (asked.id) openDetail(asked.id);
  else closeDetail();
}

function markCurrent(name) {
  const side = document.querySelector(".side");
  side.querySelector("[aria-current]")?.removeAttribute("aria-current");
  const link = side.querySelector(`[data-view="${name}"]`);
  link.setAttribute("aria-current", "page");
  // A phone or a low window shows only some links. Not scrollIntoView, which would move the start of the Tab order here.
  const [whole, part] = [side.getBoundingClientRect(), link.getBoundingClientRect()];
  side.scrollLeft += part.left + part.width / 2 - whole.left - whole.width / 2;
  side.scrollTop += part.top + part.height / 2 - whole.top - whole.height / 2;
}

/** Loads entity names for completion, so that "tom" finds Tomasz. */
async function learnNames() {
  const known = await entities({ limit: 200 }).catch(() => []);
  for (const one of known) learnWords(one.name);
}

const searchNow = () => {
  const { view, query } = route();
  const target = view in LISTS ? view : "everything";
  const kept = target === view ? query : {};
  go({ view: target, query: { ...kept, q: search.value.trim() } }, { replace: true });
};

search.addEventListener("input", afterQuiet(TYPING_PAUSE, searchNow));
search.addEventListener("focus", learnNames, { once: true });
search.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") {
    event.preventDefault();
    current.view.focusFirst();
  }
});
byId("search-form").addEventListener("submit", (event) => {
  event.preventDefault();
  searchNow();
  current.view.focusFirst();
});

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the hash is reserved for the views
  main.focus();
});
byId("add").addEventListener("click", actions.remember);
byId("help").addEventListener("click", help);

// Colours

const darkSystem = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.colours ?? (darkSystem.matches ? "dark" : "light")) === "dark";

function showColours() {
  const toggle = byId("colours");
  toggle.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  toggle.replaceChildren(icon(isDark() ? "sun" : "moon"));
}

function switchColours() {
  const chosen = isDark() ? "light" : "dark";
  document.documentElement.dataset.colours = chosen;
  localStorage.setItem("holdfast.colours", chosen);
  showColours();
}

byId("colours").addEventListener("click", switchColours);
darkSystem.addEventListener("change", showColours);

// Keys

const KEYS = [
  [["Ctrl", "K"], "Commands, people and memories"],
  [["/"], "Search"],
  [["J", "K"], "Move in the list, as ↓ and ↑ do"],
  [["Enter"], "Open a memory"],
  [["Esc"], "Close it, or clear the selection or the search"],
  [["X"], "Select the focused memory; with Shift, all up to it"],
  [["Ctrl", "A"], "Select all of the list"],
  [["Del"], "Forget the focused memory"],
  [["Ctrl", "Z"], "Undo the latest change"],
  [["A", "E", "R"], "Approve, edit or reject the focused proposal, or the selected ones"],
  [["?"], "Show this help"],
];
function help() {
  showHelp(KEYS, singleKeys);
}

function escape() {
  if (isDetailOpen()) leaveDetail();
  else if (current.view.escape?.()) return;
  else if (search.value) {
    search.value = "";
    searchNow();
  } else if (document.activeElement === search) search.blur();
}

document.addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]")) return;
  const single = isSingle(event) && !isTyping();
  if (event.key === "Escape") {
    event.preventDefault();
    escape();
  } else if (event.key === "z" && (event.ctrlKey || event.metaKey) && !isTyping()) {
    event.preventDefault();
    undoLatest();
  } else if (event.key === "k" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    openPalette(commands());
  } else if (event.key === "j" && single && !main.contains(document.activeElement.closest(".row, .card"))) {
    current.view.focusFirst();
  } else if (event.key === "/" && single) {
    event.preventDefault();
    search.focus();
    search.select();
  } else if (event.key === "?" && single) {
    event.preventDefault();
    help();
  }
});

/** What the palette offers: every view of the side bar, and what the buttons do. */
function commands() {
  const views = [...document.querySelectorAll(".side li:not([hidden]) a[data-view]")].map((link) => ({
    label: VIEWS[link.dataset.view].title, symbol: link.querySelector("use").getAttribute("href").split("#")[1], hint: "Go to", run: () => visit({ view: link.dataset.view }) }));
  return [...views,
    { label: "Remember something", symbol: "plus", run: actions.remember },
    { label: "Undo the latest change", symbol: "undo", keys: ["Ctrl", "Z"], run: undoLatest },
    { label: isDense() ? "Roomy rows" : "Dense rows", symbol: "rows", run: () => setDense(!isDense()) },
    { label: `Switch to ${isDark() ? "light" : "dark"} colours`, symbol: isDark() ? "sun" : "moon", run: switchColours },
    { label: "Download a copy", symbol: "download", run: download },
    { label: "Help and keyboard shortcuts", symbol: "help", keys: ["?"], run: help }];
}

byId("palette").addEventListener("click", () => openPalette(commands()));
whenKeyIsWanted(askForKey);
window.addEventListener("hashchange", show);
showColours();
show();
startStrip();
