// Who is mentioned with whom: a drawing of circles and lines, every circle a link.

import { h, svg } from "./dom.js";
import { drawn } from "./drawn.js";
import { href } from "./router.js";
import { plural, typeWords } from "./words.js";

const STEPS = 320;
const LONGEST_NAME = 18;
const PULL = 0.03; // towards the middle
const FAR = 2.5; // square of the distance, in ideal ones, beyond which circles do not push
const LETTER = 7.3; // width of a letter of a label
const MOST_TOLD = 5;
const ROOM = 6500; // square pixels that a circle and its name need

/** A figure for the answer of `GET /graph`; `centre` is the id of the entity that it is about. */
export function graphFigure({ entities, links, complete }, { centre, height = 380 } = {}) {
  const known = entities.map((one) => ({ ...one, near: [] }));
  const byId = new Map(known.map((node) => [node.id, node]));
  const lines = links.filter(({ one, other }) => byId.has(one) && byId.has(other));
  for (const { one, other, memories } of lines) {
    byId.get(one).near.push([byId.get(other), memories]);
    byId.get(other).near.push([byId.get(one), memories]);
  }
  const nodes = known.filter((node) => node.near.length > 0).sort((a, b) => weight(b, centre) - weight(a, centre));
  const told = (count) => `${complete ? "" : "at least "}${plural(count, "memory", "memories")}`;
  return h("figure", { class: "graph" },
    drawn(height, (width) => drawing(nodes.slice(0, Math.max(8, Math.floor((width * height) / ROOM))), links, { centre, width, height, told })),
    asList(lines, byId, told));
}

/** What is drawn first where there is little room: who it is about, then who is nearest, then who is mentioned most. */
function weight(node, centre) {
  if (node.id === centre) return Infinity;
  const together = node.near.find(([other]) => other.id === centre)?.[1] ?? 0;
  return centre ? together : node.mentions;
}

function drawing(nodes, links, { centre, width, height, told }) {
  const shown = new Set(nodes.map((node) => node.id));
  const lines = links.filter(({ one, other }) => shown.has(one) && shown.has(other));
  const most = Math.max(1, ...nodes.map((node) => node.mentions));
  for (const node of nodes) node.radius = 7 + 15 * Math.sqrt(node.mentions / most);
  layOut(nodes, lines, centre, width, height);
  const strongest = Math.max(10, ...lines.map((line) => line.memories));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const drawnLines = lines.map(({ one, other, memories }) => {
    const [a, b] = [byId.get(one), byId.get(other)];
    return svg("line", { class: "edge", x1: a.x, y1: a.y, x2: b.x, y2: b.y, "stroke-width": (1 + 5 * Math.sqrt(memories / strongest)).toFixed(1), "data-ends": `${one} ${other}` });
  });
  const circles = nodes.map((node) => circle(node, centre, told));
  const whole = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": "Who is mentioned with whom. Arrow keys move between names." },
    ...drawnLines, ...circles.map(({ link }) => link));
  const first = circles.find(({ node }) => node.id === centre) ?? circles[0];
  first?.link.setAttribute("tabindex", "0");
  whole.addEventListener("keydown", (event) => move(event, circles));
  for (const [begin, end] of [["pointerover", "pointerout"], ["focusin", "focusout"]]) {
    whole.addEventListener(begin, (event) => light(whole, event.target.closest("a")?.dataset.id));
    whole.addEventListener(end, () => light(whole, null));
  }
  return whole;
}

function circle(node, centre, told) {
  const words = typeWords(node.type);
  const near = node.near.sort((a, b) => b[1] - a[1]).slice(0, MOST_TOLD).map(([other, count]) => `${other.name} (${told(count)})`);
  const label = `${node.name}, ${words.one.toLowerCase()}, ${plural(node.mentions, "mention")}${near.length > 0 ? `; with ${near.join(", ")}` : ""}`;
  const link = svg("a", { class: `node ${node.type} ${node.id === centre ? "centre" : ""}`, href: href({ view: "people", query: { name: node.id } }), tabindex: "-1", "data-id": node.id, "aria-label": label, "aria-current": node.id === centre && "true" },
    svg("title", {}, label),
    svg("circle", { cx: node.x, cy: node.y, r: node.radius }),
    svg("text", { x: node.x, y: node.y + node.radius + 14, "text-anchor": "middle", "aria-hidden": "true" }, clipped(node.name)));
  return { node, link };
}

const clipped = (name) => (name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name);

/** Fades everything that has nothing to do with the node `id`. */
function light(whole, id) {
  whole.classList.toggle("lit", Boolean(id));
  for (const part of whole.querySelectorAll(".near")) part.classList.remove("near");
  if (!id) return;
  const near = new Set([id]);
  for (const line of whole.querySelectorAll(".edge")) {
    const ends = line.dataset.ends.split(" ");
    if (!ends.includes(id)) continue;
    line.classList.add("near");
    ends.forEach((end) => near.add(end));
  }
  for (const node of whole.querySelectorAll(".node")) node.classList.toggle("near", near.has(node.dataset.id));
}

/** Arrow keys go to the nearest circle in their direction. */
function move(event, circles) {
  const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const way = ways[event.key];
  const at = circles.find(({ link }) => link === event.target.closest("a"));
  if (!way || !at) return;
  event.preventDefault();
  const cost = ({ node }) => {
    const [dx, dy] = [node.x - at.node.x, node.y - at.node.y];
    const along = dx * way[0] + dy * way[1];
    return along <= 1 ? Infinity : along + 2 * Math.abs(dx * way[1] + dy * way[0]);
  };
  const next = circles.filter((one) => one !== at).sort((a, b) => cost(a) - cost(b))[0];
  if (!next || cost(next) === Infinity) return;
  at.link.setAttribute("tabindex", "-1");
  next.link.setAttribute("tabindex", "0");
  next.link.focus();
}

/** Places circles: lines pull, circles push, and nothing is random, so that the same memory always looks the same. */
function layOut(nodes, lines, centre, width, height) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const stretch = width / height;
  nodes.forEach((node, place) => {
    const angle = place * 2.399963; // the golden angle spreads points evenly
    const away = node.id === centre ? 0 : 40 + 26 * Math.sqrt(place);
    node.x = Math.cos(angle) * away * stretch;
    node.y = Math.sin(angle) * away;
    node.reach = Math.max(node.radius + 6, (Math.min(node.name.length, LONGEST_NAME) * LETTER) / 2);
  });
  const ideal = Math.max(60, Math.sqrt((width * height) / Math.max(1, nodes.length)) * 0.8);
  for (let step = 0; step < STEPS; step++) relax(nodes, lines, byId, { ideal, stretch, centre, heat: 1 - step / STEPS });
  fit(nodes, width, height);
  for (let round = 0; round < 60; round++) part(nodes, width, height);
}

function relax(nodes, lines, byId, { ideal, stretch, centre, heat }) {
  for (const node of nodes) [node.dx, node.dy] = [-node.x * PULL, -node.y * PULL * stretch];
  nodes.forEach((a, place) => {
    for (const b of nodes.slice(place + 1)) {
      const [dx, dy] = [a.x - b.x || 0.1, a.y - b.y || 0.1];
      const far = dx * dx + dy * dy;
      if (far > FAR * ideal * ideal) continue; // groups that have nothing in common stay near each other
      const push = ((ideal * ideal) / far) * 0.6;
      a.dx += dx * push; a.dy += dy * push;
      b.dx -= dx * push; b.dy -= dy * push;
    }
  });
  for (const { one, other, memories } of lines) {
    const [a, b] = [byId.get(one), byId.get(other)];
    const [dx, dy] = [b.x - a.x, b.y - a.y];
    const pull = (Math.hypot(dx, dy) / ideal) * 0.05 * Math.min(3, 1 + Math.log10(memories));
    a.dx += dx * pull; a.dy += dy * pull;
    b.dx -= dx * pull; b.dy -= dy * pull;
  }
  for (const node of nodes) {
    if (node.id === centre) continue;
    const length = Math.hypot(node.dx, node.dy) || 1;
    const far = Math.min(length, 30 * heat + 0.5);
    node.x += (node.dx / length) * far;
    node.y += (node.dy / length) * far;
  }
}

/** Moves the drawing into the middle of its box and makes it fit, labels included. A small one is not stretched. */
function fit(nodes, width, height) {
  const reach = Math.max(0, ...nodes.map((node) => node.reach));
  place(nodes, "x", reach, width);
  place(nodes, "y", 30, height - 14);
}

function place(nodes, axis, margin, size) {
  const values = nodes.map((node) => node[axis]);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const scale = Math.min(1.2, (size - 2 * margin) / (most - least || 1));
  for (const node of nodes) node[axis] = size / 2 + (node[axis] - (least + most) / 2) * scale;
}

/** Moves apart what overlaps, labels included, within the box. */
function part(nodes, width, height) {
  nodes.forEach((a, place) => {
    for (const b of nodes.slice(place + 1)) {
      const [dx, dy] = [b.x - a.x, b.y - a.y];
      const overlapX = a.reach + b.reach + 4 - Math.abs(dx);
      const overlapY = Math.max(a.radius, b.radius) * 2 + 20 - Math.abs(dy);
      if (overlapX <= 0 || overlapY <= 0) continue;
      if (overlapY < overlapX) shift(a, b, "y", (Math.sign(dy) || 1) * overlapY);
      else shift(a, b, "x", (Math.sign(dx) || 1) * overlapX);
    }
  });
  for (const node of nodes) {
    node.x = Math.min(width - node.reach - 2, Math.max(node.reach + 2, node.x));
    node.y = Math.min(height - node.radius - 20, Math.max(node.radius + 4, node.y));
  }
}

function shift(a, b, axis, overlap) {
  a[axis] -= overlap / 4;
  b[axis] += overlap / 4;
}

/** The same as a list, for who cannot see the drawing or wants the numbers. */
function asList(lines, byId, told) {
  if (lines.length === 0) return "";
  return h("details", { class: "as-table" }, h("summary", {}, "Show as a list"),
    h("ul", { class: "links", role: "list" }, ...lines.slice(0, 100).map(({ one, other, memories }) =>
      h("li", {}, h("span", {}, h("a", { href: href({ view: "people", query: { name: one } }) }, byId.get(one).name), " and ",
        h("a", { href: href({ view: "people", query: { name: other } }) }, byId.get(other).name)), h("span", { class: "quietly" }, told(memories))))));
}
