// The words of a search, marked where a text has them.

import { fold } from "./completing.js";
import { h } from "./dom.js";

// Scripts that put no spaces between words are compared sign by sign.
const SIGN = "[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}]";
const WORD = new RegExp(`${SIGN}|(?:(?!${SIGN})[\\p{L}\\p{N}])+`, "gu");
const PREFIX = 4; // "moving" also marks "move" and "moved"; short words must match from their start

function wanted(query) {
  return (query.match(WORD) ?? []).map(fold).filter((word) => word.length > 1 || /[^a-z0-9]/.test(word));
}

function matches(word, sought) {
  const plain = fold(word);
  return sought.some((one) => {
    if (plain.startsWith(one)) return true;
    const stem = one.slice(0, Math.max(PREFIX, one.length - 3));
    return one.length > PREFIX && plain.startsWith(stem) && plain.length <= one.length + 2;
  });
}

/** `text` as nodes, with `<mark>` around the words that `query` asks for. */
export function highlighted(text, query) {
  const sought = wanted(query ?? "");
  if (sought.length === 0) return [text];
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(WORD)) {
    if (!matches(found[0], sought)) continue;
    nodes.push(text.slice(from, found.index), h("mark", {}, found[0]));
    from = found.index + found[0].length;
  }
  return [...nodes, text.slice(from)];
}
