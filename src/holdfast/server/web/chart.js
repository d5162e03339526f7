// Growth of a memory: what is in use, by kind, added up over the days it was stored.

import { h, svg } from "./dom.js";
import { drawn } from "./drawn.js";
import { KIND_ORDER, kindMany, utcFormat } from "./words.js";

const HEIGHT = 236;
const [LEFT, RIGHT, TOP, BOTTOM] = [46, 10, 12, 26];
const DAY = 86_400_000;
const SHORTEST = 28; // days; a memory of one day would be a wall

const dayTime = (text) => Date.parse(`${text}T00:00:00Z`);
const full = utcFormat({ day: "numeric", month: "short", year: "numeric" });

/** A figure for `growth` of the overview: days with counts by kind, oldest first. */
export function growthPlot(growth, today) {
  const kinds = KIND_ORDER.filter((kind) => growth.some(({ counts }) => counts[kind]));
  const totals = Object.fromEntries(kinds.map((kind) => [kind, growth.reduce((sum, { counts }) => sum + (counts[kind] ?? 0), 0)]));
  const label = `Memories in use over time. Today: ${kinds.map((kind) => `${totals[kind].toLocaleString("en")} ${kindMany(kind, totals[kind])}`).join(", ")}.`;
  const readout = h("p", { class: "readout", "aria-hidden": "true" });
  const rest = () => readout.replaceChildren(...legend(kinds, totals));
  rest();
  const plot = drawn(HEIGHT, (width) => drawing(growth, kinds, today, width, label, (day, sums) =>
    day === null ? rest() : readout.replaceChildren(h("strong", {}, full.format(day)), ...legend(kinds, sums))));
  return h("figure", { class: "growth" }, readout, plot, asTable(growth, kinds));
}

const legend = (kinds, sums) => kinds.map((kind) =>
  h("span", { class: "key" }, h("i", { class: `swatch ${kind}` }), `${kindMany(kind)} `, h("b", {}, (sums[kind] ?? 0).toLocaleString("en"))));

function drawing(growth, kinds, today, width, label, read) {
  const end = dayTime(today);
  const begin = Math.min(dayTime(growth[0]?.day ?? today) - DAY, end - SHORTEST * DAY);
  const x = (time) => LEFT + ((time - begin) / (end - begin)) * (width - LEFT - RIGHT);
  const samples = sampled(growth, kinds, begin, end, Math.round(width / 3));
  const most = Math.max(1, ...samples.map(({ sums }) => kinds.reduce((all, kind) => all + sums[kind], 0)));
  const { top, steps } = niceSteps(most);
  const y = (count) => TOP + (1 - count / top) * (HEIGHT - TOP - BOTTOM);
  const floor = samples.map(() => 0);
  const areas = kinds.map((kind) => {
    const lower = [...floor];
    samples.forEach(({ sums }, place) => (floor[place] += sums[kind]));
    const up = samples.map(({ time }, place) => `${x(time).toFixed(1)},${y(floor[place]).toFixed(1)}`);
    const down = samples.map(({ time }, place) => `${x(time).toFixed(1)},${y(lower[place]).toFixed(1)}`).reverse();
    return svg("polygon", { class: `area ${kind}`, points: [...up, ...down].join(" ") });
  });
  const cursor = svg("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
  const chart = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": label },
    ...steps.map((count) => svg("g", {},
      svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(count), y2: y(count) }),
      svg("text", { x: LEFT - 8, y: y(count) + 4, "text-anchor": "end" }, count.toLocaleString("en")))),
    ...areas, ...dates(begin, end, x, width), cursor);
  chart.addEventListener("pointermove", (event) => {
    const place = event.clientX - chart.getBoundingClientRect().left;
    const nearest = samples.reduce((best, one) => (Math.abs(x(one.time) - place) < Math.abs(x(best.time) - place) ? one : best));
    cursor.setAttribute("x1", x(nearest.time));
    cursor.setAttribute("x2", x(nearest.time));
    cursor.setAttribute("visibility", "visible");
    read(nearest.time, nearest.sums);
  });
  chart.addEventListener("pointerleave", () => {
    cursor.setAttribute("visibility", "hidden");
    read(null);
  });
  return chart;
}

/** Sums by kind on evenly spread days, the last of them today. */
function sampled(growth, kinds, begin, end, most) {
  const days = Math.round((end - begin) / DAY);
  const count = Math.max(1, Math.min(days, most));
  const sums = Object.fromEntries(kinds.map((kind) => [kind, 0]));
  const samples = [];
  let next = 0;
  for (let step = 0; step <= count; step++) {
    const time = begin + Math.round((days * step) / count) * DAY;
    for (; next < growth.length && (dayTime(growth[next].day) <= time || step === count); next++) {
      for (const kind of kinds) sums[kind] += growth[next].counts[kind] ?? 0;
    }
    samples.push({ time, sums: { ...sums } });
  }
  return samples;
}

/** Round numbers for an axis that reaches `most`. */
function niceSteps(most) {
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, power * [1, 2, 2.5, 5, 10].find((one) => one * power >= rough && Number.isInteger(one * power || 1)) || 1);
  const steps = [];
  for (let count = 0; count < most + step; count += step) steps.push(count);
  return { top: steps.at(-1), steps };
}

function dates(begin, end, x, width) {
  const days = (end - begin) / DAY;
  const format = days > 900 ? utcFormat({ year: "numeric" }) : days > 120 ? utcFormat({ month: "short", year: "2-digit" }) : utcFormat({ day: "numeric", month: "short" });
  const count = Math.max(1, Math.min(5, Math.floor((width - LEFT) / 110)));
  return Array.from({ length: count + 1 }, (_, place) => {
    const time = begin + Math.round((days * place) / count) * DAY;
    const anchor = place === 0 ? "start" : place === count ? "end" : "middle";
    return svg("text", { x: x(time), y: HEIGHT - 6, "text-anchor": anchor }, place === count ? "today" : format.format(time));
  });
}

/** The same by month, for who cannot see the plot or wants the numbers. */
function asTable(growth, kinds) {
  const months = new Map();
  const sums = Object.fromEntries(kinds.map((kind) => [kind, 0]));
  for (const { day, counts } of growth) {
    for (const kind of kinds) sums[kind] += counts[kind] ?? 0;
    months.set(day.slice(0, 7), { ...sums });
  }
  const month = utcFormat({ month: "long", year: "numeric" });
  return h("details", { class: "as-table" }, h("summary", {}, "Show the numbers"),
    h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Memories in use at the end of each month" }, h("table", {},
      h("thead", {}, h("tr", {}, h("td", {}), ...kinds.map((kind) => h("th", { scope: "col" }, kindMany(kind))))),
      h("tbody", {}, ...[...months].reverse().map(([name, at]) => h("tr", {}, h("th", { scope: "row" }, month.format(dayTime(`${name}-01`))),
        ...kinds.map((kind) => h("td", {}, at[kind].toLocaleString("en")))))))));
}
