// What changed between two texts, word by word.

const CELLS = 250_000; // beyond this many comparisons the texts are shown as replaced whole

const pieces = (text) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];

/** `[kind, text]` runs that turn `before` into `after`; kind is "same", "gone" or "new". */
export function wordDiff(before, after) {
  const [old, now] = [pieces(before), pieces(after)];
  if (old.length * now.length > CELLS) return [["gone", before], ["new", after]].filter(([, text]) => text);
  return joined(walk(old, now, commonLengths(old, now)));
}

/** `table[i][j]` is how many pieces `old[i:]` and `now[j:]` have in common, in order. */
function commonLengths(old, now) {
  const table = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      table[i][j] = old[i] === now[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  return table;
}

function walk(old, now, table) {
  const steps = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      steps.push(["same", old[i++]]);
      j++;
    } else if (j >= now.length || (i < old.length && table[i + 1][j] >= table[i][j + 1])) {
      steps.push(["gone", old[i++]]);
    } else {
      steps.push(["new", now[j++]]);
    }
  }
  return steps;
}

/** Neighbours of one kind as one run; a space that stands alone between changes belongs to them. */
function joined(steps) {
  const runs = [];
  let [gone, fresh] = ["", ""];
  const flush = () => {
    if (gone) runs.push(["gone", gone]);
    if (fresh) runs.push(["new", fresh]);
    [gone, fresh] = ["", ""];
  };
  steps.forEach(([kind, text], index) => {
    const bridges = kind === "same" && !text.trim() && (gone || fresh) && steps[index + 1] && steps[index + 1][0] !== "same";
    if (kind === "gone" || bridges) gone += text;
    if (kind === "new" || bridges) fresh += text;
    if (kind === "same" && !bridges) {
      flush();
      if (runs.at(-1)?.[0] === "same") runs.at(-1)[1] += text;
      else runs.push(["same", text]);
    }
  });
  flush();
  return runs;
}
