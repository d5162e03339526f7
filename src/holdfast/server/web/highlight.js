// The words of a text that a search asks for, marked. The server says which: it knows stop words and word forms.

import { h } from "./dom.js";

// Scripts that put no spaces between words: a word may stand anywhere.
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;
const IN_WORD = "[\\p{L}\\p{N}_]";

const literal = (word) => word.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
const bounded = (word) => (UNSPACED.test(word) ? literal(word) : `(?<!${IN_WORD})${literal(word)}(?!${IN_WORD})`);

const EARLY = 120; // characters that a row surely shows
const BEFORE = 50; // characters shown before a match further on

/** `text` from shortly before the first of `words`, if a row would cut it off before. */
export function excerpt(text, words = []) {
  const first = words.length > 0 ? text.search(patternOf(words)) : -1;
  if (first < EARLY) return text;
  return `…${text.slice(text.indexOf(" ", first - BEFORE) + 1)}`;
}

function patternOf(words) {
  const longestFirst = [...words].sort((one, other) => other.length - one.length);
  return new RegExp(longestFirst.map(bounded).join("|"), "gu");
}

/** `text` as nodes, with `<mark>` around `words` as they are written in it. */
export function highlighted(text, words = []) {
  if (words.length === 0) return [text];
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(patternOf(words))) {
    nodes.push(text.slice(from, found.index), h("mark", {}, found[0]));
    from = found.index + found[0].length;
  }
  return [...nodes, text.slice(from)];
}
