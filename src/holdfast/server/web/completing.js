// Completes the last word of a query with words seen on this page, because recall matches whole words only.

const WORD = /[\p{L}\p{N}]{3,}/gu;
const OFFERED = 3;
const SHORTEST = 2;
const MOST = 20_000;

const seen = new Map(); // folded word → count

export const fold = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

export function learnWords(text) {
  if (seen.size > MOST) return;
  for (const [word] of text.matchAll(WORD)) seen.set(fold(word), (seen.get(fold(word)) ?? 0) + 1);
}

/** `query` plus the likeliest completions of its last word: "tom" becomes "tom tomasz". */
export function completed(query) {
  const last = fold(query.match(/[\p{L}\p{N}]+$/u)?.[0] ?? "");
  if (last.length < SHORTEST || seen.has(last)) return query;
  const ends = [...seen].filter(([word]) => word.startsWith(last));
  ends.sort((one, other) => other[1] - one[1] || one[0].length - other[0].length);
  return [query, ...ends.slice(0, OFFERED).map(([word]) => word)].join(" ");
}
