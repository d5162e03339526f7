// What a person can do to a memory. Each tells the page what changed and offers the way back.

import * as api from "./api.js";
import { changed } from "./bus.js";
import { askForMemory, askForWords, askWhichToForget } from "./dialogs.js";
import { failed, offerUndo } from "./toast.js";
import { plural, short } from "./words.js";

/** Does `work`, which resolves to the server's answer; true when it worked. */
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
export const archive = (memory) => done(() => api.archive(memory.id), `Put away: “${short(memory.content, 50)}”.`, memory);
export const restore = (memory) => done(() => api.restore(memory.id), `Back in use: “${short(memory.content, 50)}”.`, memory);
export const confirm = (memory) => done(() => api.confirm(memory.id), "Confirmed. It will not fade.", memory);
export const reject = (memory) => done(() => api.reject(memory.id), `Rejected: “${short(memory.content, 50)}”.`, memory);
export const approve = (memory) => done(() => api.approve(memory.id), `Approved: “${short(memory.content, 50)}”.`, memory);

/** Asks for better words. Resolves to the memory that took the old one's place, or null. */
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

/** Approves a proposal in better words; true when that was done. */
export async function approveEdited(memory) {
  const saved = await askForWords({
    title: "Edit, then approve",
    memory,
    submit: "Approve",
    save: (content) => api.approve(memory.id, content),
  });
  if (!saved) return false;
  changed({ ids: [memory.id, saved.id] });
  offerUndo("Approved with your words.", [saved.run], { ids: [memory.id] });
  return true;
}

/** Asks for something new to remember; resolves to it, or null. */
export async function remember() {
  const saved = await askForMemory((draft) => api.remember(draft));
  if (!saved) return null;
  changed({ ids: [saved.id] });
  offerUndo(`Remembered: “${short(saved.content, 50)}”.`, [saved.run], { gone: [saved.id] });
  return saved;
}

/** Forgets several after asking which; how many it were. */
export async function forgetSeveral(memories) {
  const chosen = await askWhichToForget(memories);
  if (!chosen) return 0;
  const runs = [];
  const gone = [];
  try {
    for (const memory of chosen) {
      runs.push((await api.forget(memory.id)).run);
      gone.push(memory.id);
    }
  } catch (error) {
    failed(error);
  }
  changed({ ids: gone });
  if (gone.length > 0) offerUndo(`Forgotten: ${plural(gone.length, "memory", "memories")}.`, runs, { ids: gone });
  return gone.length;
}
