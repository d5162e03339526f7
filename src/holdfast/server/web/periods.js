// How much there is in each year, month or day: a strip of bars to zoom into.

import { h, icon } from "./dom.js";
import { KIND_ORDER, kindMany, plural, utcFormat } from "./words.js";

const MONTHS_AT_ONCE = 36; // a longer time is shown by year first
const NAMES = {
  year: utcFormat({ year: "numeric" }),
  month: utcFormat({ month: "long", year: "numeric" }),
  day: utcFormat({ weekday: "long", day: "numeric", month: "long", year: "numeric" }),
};
const SHORT = { year: utcFormat({ year: "numeric" }), month: utcFormat({ month: "short" }), day: utcFormat({ day: "numeric" }) };
const SIZES = { 4: "year", 7: "month", 10: "day" };

const pad = (number) => String(number).padStart(2, "0");
const sizeOf = (period) => SIZES[period.length];
const dateOf = (period) => Date.parse(`${period}${"-01-01".slice(period.length - 4)}T00:00:00Z`);

/** Whether a text from the address names a period: "2023", "2023-05" or "2023-05-08". */
export const isPeriod = (text) => /^\d{4}(-\d\d(-\d\d)?)?$/.test(text ?? "") && !Number.isNaN(dateOf(text));

/** A period in words: "May 2023". */
export const periodName = (period) => (period ? NAMES[sizeOf(period)].format(dateOf(period)) : "All time");

/** The first moment of a period and that of the next one, in local time. */
export function bounds(period) {
  const [year, month = 1, day = 1] = period.split("-").map(Number);
  const size = sizeOf(period);
  const next = new Date(year + (size === "year"), month - 1 + (size === "month"), day + (size === "day"));
  return { since: new Date(year, month - 1, day).toISOString(), until: next.toISOString() };
}

const above = (period) => (period.length > 4 ? period.slice(0, -3) : "");

/** Periods one size smaller than `period`, with their counts; for all time, years or months. */
function parts(period, days) {
  if (period.length === 10) return parts(above(period), days); // a day is marked in its month
  const [first, last] = [days[0]?.day, days.at(-1)?.day];
  if (!first) return [];
  if (period.length === 7) {
    const count = new Date(Date.UTC(Number(period.slice(0, 4)), Number(period.slice(5)), 0)).getUTCDate();
    return Array.from({ length: count }, (_, place) => `${period}-${pad(place + 1)}`);
  }
  if (period.length === 4) return Array.from({ length: 12 }, (_, place) => `${period}-${pad(place + 1)}`);
  const months = (text) => Number(text.slice(0, 4)) * 12 + Number(text.slice(5, 7)) - 1;
  const [from, to] = [months(first), months(last)];
  if (to - from < MONTHS_AT_ONCE) {
    return Array.from({ length: to - from + 1 }, (_, place) => `${Math.floor((from + place) / 12)}-${pad(((from + place) % 12) + 1)}`);
  }
  const [begin, end] = [Number(first.slice(0, 4)), Number(last.slice(0, 4))];
  return Array.from({ length: end - begin + 1 }, (_, place) => String(begin + place));
}

function summed(period, days) {
  const sums = {};
  for (const { day, counts } of days) {
    if (!day.startsWith(period)) continue;
    for (const [kind, count] of Object.entries(counts)) sums[kind] = (sums[kind] ?? 0) + count;
  }
  return sums;
}

const total = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);

/** A strip of `days` (counts by day and kind), zoomed to `period`; `choose(period)` is called to zoom in or out. */
export function strip(days, period, choose) {
  const shown = parts(period, days).map((part) => ({ part, counts: summed(part, days) }));
  const most = Math.max(1, ...shown.map(({ counts }) => total(counts)));
  const bars = h("div", { class: `bars ${shown.length > 20 ? "many" : ""}`, role: "group", "aria-label": `${periodName(period.length === 10 ? above(period) : period)}, by ${shown.length > 0 ? sizeOf(shown[0].part) : "day"}` },
    ...shown.map(({ part, counts }) => bar(part, counts, most, { current: part === period, years: period === "" }, choose)));
  const reachable = [...bars.children].filter((one) => !one.disabled);
  (bars.querySelector("[aria-current]") ?? reachable.at(-1))?.setAttribute("tabindex", "0");
  bars.addEventListener("keydown", (event) => move(event, reachable, () => period && choose(above(period))));
  return h("section", { class: "periods", "aria-label": "When" }, crumbs(period, shown, choose), bars);
}

function bar(part, counts, most, { current, years }, choose) {
  const all = total(counts);
  const stack = h("span", { class: "stack" }, ...KIND_ORDER.filter((kind) => counts[kind]).map((kind) => {
    const piece = h("i", { class: `swatch ${kind}` });
    piece.style.flexGrow = counts[kind];
    return piece;
  }));
  stack.style.blockSize = all ? `${Math.max(4, (all / most) * 100)}%` : "2px";
  const size = sizeOf(part);
  const label = `${NAMES[size].format(dateOf(part))}: ${all ? Object.entries(counts).map(([kind, count]) => `${count.toLocaleString("en")} ${kindMany(kind, count)}`).join(", ") : "nothing"}`;
  const short = SHORT[size].format(dateOf(part));
  return h("button", { type: "button", class: `period ${all ? "" : "empty"}`, disabled: all === 0, tabindex: "-1", "aria-label": label, title: label, "data-id": part,
    "aria-current": current && "date", onclick: () => choose(current ? above(part) : part) },
    h("span", { class: "column" }, stack), h("span", { class: "period-name" }, years && part.endsWith("-01") && size === "month" ? h("b", {}, part.slice(0, 4)) : short));
}

function move(event, reachable, out) {
  const at = reachable.indexOf(event.target.closest("button"));
  const moves = { ArrowLeft: reachable[at - 1], ArrowRight: reachable[at + 1], Home: reachable[0], End: reachable.at(-1) };
  if (event.key in moves) {
    event.preventDefault();
    moves[event.key]?.focus();
  } else if (event.key === "ArrowUp" || event.key === "-") {
    event.preventDefault();
    out();
  }
}

/** From when to when the strip goes, where nothing above it says so: months have no year in their names. */
function span(shown) {
  const [first, last] = [shown[0], shown.at(-1)].map((one) => one && NAMES[sizeOf(one.part)].format(dateOf(one.part)));
  return first === last ? first : `${first} to ${last}`;
}

function crumbs(period, shown, choose) {
  const way = [""];
  for (const length of [4, 7, 10]) if (period.length >= length) way.push(period.slice(0, length));
  const short = (one) => (one.length === 10 ? utcFormat({ day: "numeric", month: "short" }).format(dateOf(one)) : one.length === 7 ? utcFormat({ month: "long" }).format(dateOf(one)) : one || "All time");
  return h("div", { class: "crumbs", role: "group", "aria-label": "Zoom" },
    ...way.map((one, place) => [place > 0 && h("span", { class: "quietly", "aria-hidden": "true" }, "›"),
      place === way.length - 1 ? h("strong", {}, short(one)) : h("button", { type: "button", class: "button quiet small", onclick: () => choose(one) }, short(one))]),
    !period && shown.length > 0 && h("span", { class: "quietly" }, span(shown)),
    period && h("button", { type: "button", class: "button quiet small square zoom-out", "aria-label": "Zoom out", title: "Zoom out (↑)", onclick: () => choose(above(period)) }, icon("zoomout")));
}

/** "45 memories in May 2023"; without a period, "45 memories". */
export function periodSummary(days, period) {
  const count = total(summed(period, days));
  return `${plural(count, "memory", "memories")}${period ? ` in ${periodName(period)}` : ""}`;
}
