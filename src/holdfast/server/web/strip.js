// Footer: owner, retention mode, recall switch, download. Also the counts beside the views.

import * as api from "./api.js";
import { onChange } from "./bus.js";
import { afterQuiet, button, byId, h, say } from "./dom.js";
import { failed, offerUndo } from "./toast.js";
import { LISTED } from "./words.js";

const MODES = {
  local: "Stored on this machine",
  synced: "Stored here and synced with another store",
  incognito: "Guest session: nothing is stored",
};

const told = new EventTarget();
let status = null;
let totals = null;
let latest = 0;

/** Shows the status now and after every change. */
export function startStrip() {
  onChange(afterQuiet(100, refresh));
  refresh();
}

async function refresh() {
  const mine = ++latest;
  try {
    const [stands, counted] = await Promise.all([api.status(), api.totals()]);
    if (mine !== latest) return; // a newer request finished first
    [status, totals] = [stands, counted];
    const listed = Object.entries(LISTED).map(([name, kinds]) => [name, activeCount(kinds)]);
    showCounts({ ...Object.fromEntries(listed), review: counted.review });
    byId("for-admins").hidden = !counted.admin;
    show(stands);
    told.dispatchEvent(new Event("counts"));
  } catch (error) {
    if (!status) byId("strip").replaceChildren(h("p", { class: "quietly" }, error.message));
  }
}

/** Calls `listener` whenever the counts are known anew, until the returned function is called. */
export function onCounts(listener) {
  told.addEventListener("counts", listener);
  return () => told.removeEventListener("counts", listener);
}

/** How many memories of these kinds are in use; null before it is known. */
export function activeCount(kinds) {
  return totals && kinds.reduce((sum, kind) => sum + (totals.active[kind] ?? 0), 0);
}

function showCounts(counts) {
  for (const place of document.querySelectorAll("[data-count]")) {
    const count = counts[place.dataset.count] ?? 0;
    place.textContent = count > 0 ? count.toLocaleString("en") : "";
  }
}

function show(stands) {
  const toggle = h("input", { type: "checkbox", role: "switch", id: "recall", checked: stands.proactive_recall_enabled, onchange: switched, "aria-describedby": "recall-hint" });
  const before = byId("recall");
  if (before) {
    before.checked = stands.proactive_recall_enabled;
    return;
  }
  byId("strip").replaceChildren(
    h("p", { class: "owner" }, h("span", { class: "quietly" }, "Memory of"), h("strong", {}, stands.owner_id), h("span", { class: "quietly" }, MODES[stands.memory_mode] ?? stands.memory_mode)),
    h("div", {}, h("label", { class: "switch", for: "recall" }, toggle, h("span", {}, "Proactive recall")),
      h("p", { class: "quietly", id: "recall-hint" }, "When off, assistants use facts and sessions only if you ask. Rules always apply.")),
    button("Download a copy", download, { look: "quiet small", symbol: "download" }));
}

async function switched(event) {
  const toggle = event.target;
  try {
    const { detail, run } = await api.setRecall(toggle.checked);
    if (run) offerUndo(detail, [run], {});
    else say(detail);
  } catch (error) {
    toggle.checked = !toggle.checked;
    failed(error);
  }
}

export async function download() {
  try {
    const link = h("a", { href: URL.createObjectURL(await api.bundle()), download: `memory-of-${status?.owner_id ?? "me"}.jsonl` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    say("The download has started.");
  } catch (error) {
    failed(error, download);
  }
}
