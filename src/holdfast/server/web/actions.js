// Actions on memories. Each notifies the page and offers an undo.

import * as api from "./api.js";
import { changed } from "./bus.js";
import { askForMemory, askForWords, askWhichToForget } from "./dialogs.js";
import { say } from "./dom.js";
import { asMarkdown } from "./markdown.js";
import { failed, notice, offerUndo } from "./toast.js";
import { plural, short } from "./words.js";

/** Runs `work`, which resolves to the response of the server; true on success. */
async function done(work, told, memory) {
  try {
    const { run } = await work();
    changed({ ids: [memory.id] });
    offerUndo(told, [run], { ids: [memory.id] });
    return true;
  } catch (error) {
    failed(error, () => done(work, told, memory));
    return false;
  }
}

export const forget = (memory) => done(() => api.forget(memory.id), `Forgotten: “${short(memory.content, 50)}”.`, memory);
export const archive = (memory) => done(() => api.archive(memory.id), `Archived: “${short(memory.content, 50)}”.`, memory);
export const restore = (memory) => done(() => api.restore(memory.id), `Restored: “${short(memory.content, 50)}”.`, memory);
export const confirm = (memory) => done(() => api.confirm(memory.id), "Confirmed. It will not fade.", memory);
export const reject = (memory) => done(() => api.reject(memory.id), `Rejected: “${short(memory.content, 50)}”.`, memory);
export const approve = (memory) => done(() => api.approve(memory.id), `Approved: “${short(memory.content, 50)}”.`, memory);

/** Asks for a new text. Resolves to the memory that replaces the old one, or null. */
export async function correct(memory) {
  const saved = await askForWords({
    title: "Correct this memory",
    memory,
    submit: "Save correction",
    withReason: true,
    save: (content, reason) => api.correct(memory.id, content, reason),
  });
  if (!saved) return null;
  changed({ ids: [memory.id, saved.id], replaced: { [memory.id]: saved.id } });
  offerUndo("Corrected.", [saved.run], { ids: [memory.id], gone: [saved.id], replaced: { [saved.id]: memory.id } });
  return saved;
}

/** Approves a proposal with an edited text; true on success. */
export async function approveEdited(memory) {
  const saved = await askForWords({
    title: "Edit and approve",
    memory,
    submit: "Approve",
    save: (content) => api.approve(memory.id, content),
  });
  if (!saved) return false;
  changed({ ids: [memory.id, saved.id] });
  offerUndo("Approved with your changes.", [saved.run], { ids: [memory.id] });
  return true;
}

/** Asks for a new memory; resolves to it, or null. */
export async function remember() {
  const saved = await askForMemory((draft) => api.remember(draft));
  if (!saved) return null;
  changed({ ids: [saved.id] });
  offerUndo(`Remembered: “${short(saved.content, 50)}”.`, [saved.run], { gone: [saved.id] });
  return saved;
}

/** Asks which memories to forget and forgets them; resolves to their number. */
export async function forgetSeveral(memories) {
  const chosen = await askWhichToForget(memories);
  return chosen ? several(chosen, api.forget, "Forgotten") : 0;
}

export const archiveSeveral = (memories) => several(memories, api.archive, "Archived");
export const confirmSeveral = (memories) => several(memories, api.confirm, "Confirmed");
export const approveSeveral = (proposals) => several(proposals, (id) => api.approve(id), "Approved", "proposal");
export const rejectSeveral = (proposals) => several(proposals, (id) => api.reject(id), "Rejected", "proposal");

/** Changes memories one after the other, with one undo for all; one that fails does not stop the others. */
async function several(memories, work, told, one = "memory") {
  const many = one === "memory" ? "memories" : `${one}s`;
  const [runs, ids, left] = [[], [], []];
  let problem = null;
  for (const memory of memories) {
    try {
      runs.push((await work(memory.id)).run);
      ids.push(memory.id);
    } catch (error) {
      problem = error;
      left.push(memory);
    }
  }
  changed({ ids });
  if (ids.length > 0) offerUndo(`${told}: ${plural(ids.length, one, many)}.`, runs.filter(Boolean), { ids });
  if (problem) failed(problem, () => several(left, work, told, one));
  return ids.length;
}

/** Puts memories on the clipboard as Markdown. */
export async function copyMarkdown(memories) {
  try {
    await navigator.clipboard.writeText(asMarkdown(memories));
    notice(`Copied ${plural(memories.length, "memory", "memories")} as Markdown.`);
    say("Copied.");
  } catch (error) {
    notice("This browser does not let the page use the clipboard. Open it on this machine, or over https.", { problem: true });
  }
}
