// Figures of a shared server, for admin keys: owners, jobs, spend and errors; nothing of anybody's memories.

import * as api from "../api.js";
import { h, icon, svg } from "../dom.js";
import { trouble } from "../empty.js";
import { time } from "../row.js";
import { day, plural } from "../words.js";

const STATUSES = { pending: "Waiting", running: "Running", error: "Failed", done: "Done" };
const UNITS = ["bytes", "kB", "MB", "GB", "TB"];
const count = (number) => number.toLocaleString("en");

export function mountAdmin(main) {
  const load = async () => {
    const head = h("div", { class: "heading" }, h("h1", {}, "Server"), h("p", {}, "Who uses this server, and how it is doing. Nobody’s memories are shown here."));
    try {
      const figures = await api.server();
      main.replaceChildren(head, verdict(figures), totals(figures), owners(figures), spend(figures), jobs(figures), errors(figures));
    } catch (error) {
      main.replaceChildren(head, trouble(error, load));
    }
  };
  load();
  return { update() {}, dispose() {}, focusFirst() {} };
}

function verdict({ findings, missing, job_errors: failed, failures }) {
  const amiss = [
    missing,
    findings > 0 && `The store has ${plural(findings, "problem")}. Run “holdfast doctor” on the server for details.`,
    failed.length > 0 && `${plural(failed.length, "job")} failed.`,
    failures.length > 0 && `${plural(failures.length, "request")} failed inside the server.`,
  ].filter(Boolean);
  const [look, symbol, title] = amiss.length > 0 ? ["warn", "alert", "Something needs attention"] : ["good", "check", "All is well"];
  const told = amiss.length > 0 ? amiss : ["No job and no request failed."];
  return h("div", { class: `verdict ${look}` }, icon(symbol), h("div", {}, h("h2", {}, title), ...told.map((text) => h("p", {}, text))));
}

function totals({ owner_count: owned, memories, bytes, keys, requests, version, started_at: started }) {
  return h("section", {}, h("h2", {}, "Totals"), h("div", { class: "figures compact" },
    figure(count(owned), "owners"), figure(count(memories), "active memories"), figure(bytes === null ? "–" : sized(bytes), "stored"),
    figure(count(keys), "valid keys"), figure(count(requests), "requests answered")),
  h("p", { class: "quietly" }, `Holdfast ${version}, started `, time(started), "."));
}

const figure = (number, label) => h("div", { class: "figure" }, h("strong", {}, number), h("span", {}, label));

/** Bytes the way people say them: "9.8 MB". */
function sized(bytes) {
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), UNITS.length - 1);
  const number = bytes / 1000 ** step;
  return `${number.toFixed(step > 0 && number < 10 ? 1 : 0)} ${UNITS[step]}`;
}

function table(title, columns, rows, empty) {
  if (rows.length === 0) return h("section", {}, h("h2", {}, title), h("p", {}, empty));
  return h("section", {}, h("h2", {}, title), h("div", { class: "table", tabindex: "0", role: "region", "aria-label": title }, h("table", {},
    h("thead", {}, h("tr", {}, ...columns.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...rows.map(([first, ...rest]) => h("tr", {}, h("th", { scope: "row" }, first), ...rest.map((cell) => h("td", {}, cell))))))));
}

function owners({ owners: listed, owner_count: all }) {
  const rows = listed.map((one) => [one.owner, count(one.memories), count(one.words), count(one.keys), count(one.tokens), one.last_activity ? time(one.last_activity) : "–"]);
  const title = all > listed.length ? `Owners: the largest ${count(listed.length)} of ${count(all)}` : "Owners";
  return table(title, ["Owner", "Memories", "Words", "Keys", "Tokens, 30 days", "Last conversation"], rows, "Nobody has stored anything yet.");
}

const DAYS = 30;
const HEIGHT = 90;
const STEP = 20;

function spend({ spend: days, daily_tokens: most }) {
  const tokens = days.reduce((sum, one) => sum + one.tokens, 0);
  const calls = days.reduce((sum, one) => sum + one.calls, 0);
  const told = `${plural(tokens, "token")} in ${plural(calls, "question")} to language models in the last 30 days. Each owner may use ${count(most)} tokens a day.`;
  return h("section", {}, h("h2", {}, "Spend"), h("figure", { class: "bars" },
    tokens > 0 && svg("svg", { viewBox: `0 0 ${DAYS * STEP} ${HEIGHT}`, role: "img", "aria-label": told }, ...bars(days)), h("figcaption", {}, told)));
}

/** A bar for each of the last days, also for those without spend. */
function bars(days) {
  const byDay = new Map(days.map((one) => [one.day, one.tokens]));
  const top = Math.max(...byDay.values());
  return Array.from({ length: DAYS }, (_, place) => {
    const date = new Date(Date.now() - (DAYS - 1 - place) * 86_400_000).toISOString().slice(0, 10);
    const tokens = byDay.get(date) ?? 0;
    const high = tokens > 0 ? Math.max(2, (tokens / top) * HEIGHT) : 1;
    return svg("rect", { x: place * STEP, y: HEIGHT - high, width: STEP - 4, height: high, rx: 2, class: tokens > 0 ? "used" : "none" },
      svg("title", {}, `${day(date)}: ${plural(tokens, "token")}`));
  });
}

function jobs({ jobs: kinds, workers }) {
  const rows = Object.entries(kinds).map(([kind, by]) => [kind, ...Object.keys(STATUSES).map((status) => count(by[status] ?? 0))]);
  const working = workers.map((one) => h("li", {}, h("strong", {}, one.name),
    h("span", { class: "quietly" }, ` holds ${one.job}`, one.lease_until && " until ", one.lease_until && time(one.lease_until))));
  return h("div", {}, table("Jobs", ["Job", ...Object.values(STATUSES)], rows, "There are no jobs."),
    h("section", {}, h("h2", {}, "Workers"), working.length > 0 ? h("ul", { class: "workers", role: "list" }, ...working) : h("p", {}, "No worker holds a job at the moment.")));
}

function errors({ job_errors: failed, failures }) {
  const jobRows = failed.map((one) => [one.job, one.owner, one.error, count(one.retries_left), one.retry_at ? time(one.retry_at) : "–"]);
  const requestRows = failures.map((one) => [`${one.method} ${one.route}`, String(one.status), one.request_id, time(one.at)]);
  return h("div", {}, table("Failed jobs", ["Job", "Owner", "Error", "Tries left", "Next try"], jobRows, "None."),
    table("Failed requests", ["Request", "Status", "Id in the log", "When"], requestRows, "None since the server started."));
}
