// Why a search found a memory, in words and as a bar.

import { h } from "./dom.js";

const MOST_WORDS = 5;
const SHARE = 0.5; // of the best score

/** Whether a hit has more in common with the question than its meaning. */
const isNamed = ({ why }) => why.words.length + why.names.length > 0 || Boolean(why.time);

/**
 * Splits hits into those to show, each with how it compares to the best, and near misses: those that are only similar
 * in meaning, and far behind what has more in common with the question.
 */
export function sorted(hits) {
  const best = Math.max(...hits.map((hit) => hit.score), 0.001);
  const bestNamed = Math.max(...hits.filter(isNamed).map((hit) => hit.score), 0);
  const fits = (hit) => isNamed(hit) || hit.strength !== "weak" || (bestNamed > 0 && hit.score >= SHARE * bestNamed);
  return { fitting: hits.filter(fits).map((hit) => ({ ...hit, fit: hit.score / best })), near: hits.filter((hit) => !fits(hit)) };
}

/** What a hit has in common with the question: "mentions Tomasz · has “peanuts” · similar in meaning". */
export function reasonWords({ why }) {
  const inNames = new Set(why.names.flatMap((name) => name.toLowerCase().split(/\s+/)));
  const words = why.words.filter((word) => !inNames.has(word.toLowerCase().replace(/['’]s$/, "")));
  const more = words.length > MOST_WORDS ? ` and ${words.length - MOST_WORDS} more` : "";
  const parts = [
    why.speaker && `said by ${why.speaker}`,
    why.names.length > 0 && `mentions ${why.names.join(", ")}`,
    words.length > 0 && `has ${words.slice(0, MOST_WORDS).map((word) => `“${word}”`).join(", ")}${more}`,
    why.time && `happened “${why.time}”`,
    Object.keys(why.arms).some((arm) => arm.startsWith("meaning")) && "similar in meaning",
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(" · ") : "said right before or after a match";
}

/** A line for a row: a bar that compares the hit with the best one, and the reasons. */
export function reasonLine(hit) {
  const bar = h("span", { class: "bar", "aria-hidden": "true" }, h("span", {}));
  bar.firstChild.style.inlineSize = `${Math.max(4, Math.round((hit.fit ?? hit.score) * 100))}%`;
  return h("p", { class: "row-why", title: `Score ${hit.score.toFixed(2)}; the bar compares it with the best` }, bar, h("span", { class: "because-of" }, reasonWords(hit)));
}
