// Confidence of a memory over time: a chart with a text alternative.

import { h, svg } from "./dom.js";
import { day } from "./words.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [400, 150, 44, 8, 10, 24];
const DAY = 86_400_000;
const percent = (share) => `${Math.round(share * 100)} %`;

/** A figure for the answer of `GET /memories/{id}/forecast`: points are [days from now, confidence]. */
export function retention(memory, forecast) {
  const summary = inWords(memory, forecast);
  const fading = forecast.fades_at && new Date(forecast.fades_at) > new Date();
  if (!fading || forecast.points.length < 2) return h("p", {}, summary);
  return h("figure", { class: "curve" }, drawing(forecast, summary), h("figcaption", {}, summary));
}

function inWords(memory, { points, fades_at: fadesAt }) {
  const now = percent(points[0][1]);
  if (memory.protected) return "You confirmed it, so it does not fade.";
  if (!fadesAt) return `Confidence ${now}; it does not fade.`;
  if (new Date(fadesAt) <= new Date()) return "It has faded because it was not used.";
  return `Confidence ${now} today. If unused, it fades on ${day(fadesAt)}; each use resets this.`;
}

function drawing({ points, threshold, fades_at: fadesAt }, label) {
  const daysLeft = (new Date(fadesAt) - Date.now()) / DAY;
  const last = points.at(-1)[0];
  const x = (days) => LEFT + (days / last) * (WIDTH - LEFT - RIGHT);
  const y = (share) => TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
  const line = points.map(([days, share]) => `${x(days).toFixed(1)},${y(share).toFixed(1)}`).join(" ");
  const end = new Date(Date.now() + last * DAY).toISOString();
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    ...[0, 0.5, 1].map((share) => svg("g", {},
      svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(share), y2: y(share) }),
      svg("text", { x: LEFT - 8, y: y(share) + 4, "text-anchor": "end" }, percent(share)))),
    svg("polygon", { class: "under", points: `${x(0)},${y(0)} ${line} ${x(last)},${y(0)}` }),
    svg("polyline", { class: "line", points: line }),
    daysLeft < last && svg("g", {},
      svg("line", { class: "fades", x1: x(daysLeft), x2: x(daysLeft), y1: TOP, y2: y(0) }),
      svg("circle", { class: "dot", cx: x(daysLeft), cy: y(threshold), r: 4 }),
      svg("text", { x: x(daysLeft) - 6, y: TOP + 16, "text-anchor": "end" }, `fades ${day(fadesAt)}`)),
    svg("text", { x: LEFT, y: HEIGHT - 6 }, "today"),
    svg("text", { x: WIDTH - RIGHT, y: HEIGHT - 6, "text-anchor": "end" }, day(end)));
}
