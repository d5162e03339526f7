// The HTTP API as functions. Every failure is an ApiError with a readable message.

const BASE = new URL("api/memory/", document.baseURI);
const KEY = "holdfast.key"; // in sessionStorage: gone with the tab
const TRIES = 3; // attempts of a GET request when the server answers 429

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

let askForKey = async () => null;

/** `ask` is called when the server requires a key; it resolves to the key, or to a falsy value on cancel. */
export function whenKeyIsWanted(ask) {
  askForKey = ask;
}

/** The owner named in the address of this page; without one, the server decides. */
function owner() {
  const named = new URLSearchParams(location.search);
  return ["user_id", "thread_id"].filter((name) => named.get(name)).map((name) => [name, named.get(name)]);
}

function address(path, query = {}) {
  const url = new URL(path, BASE);
  for (const [name, value] of [...owner(), ...Object.entries(query)]) {
    for (const one of [value].flat()) {
      if (one !== undefined && one !== null && one !== "") url.searchParams.append(name, one);
    }
  }
  return url;
}

async function send(method, path, { query, body, signal } = {}) {
  for (let tried = 1; ; tried++) {
    const key = sessionStorage.getItem(KEY);
    const response = await attempt(method, address(path, query), { key, body, signal });
    if (response.ok) return response;
    if (response.status === 401 && (await newKey(key))) continue;
    if (response.status === 429 && method === "GET" && tried < TRIES) {
      await pause(Number(response.headers.get("Retry-After")) || 1);
      continue;
    }
    throw await explained(response);
  }
}

async function attempt(method, url, { key, body, signal }) {
  const headers = { Accept: "application/json", ...(key && { Authorization: `Bearer ${key}` }) };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    return await fetch(url, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "Holdfast cannot be reached. Is “holdfast serve” still running? Your input is not lost.");
  }
}

let asking = null;

/** Whether there is another key than `refused`. Concurrent requests share one dialog. */
async function newKey(refused) {
  if (sessionStorage.getItem(KEY) !== refused) return true;
  asking ??= askForKey(refused ? "This key is not valid for this memory." : "").finally(() => (asking = null));
  const key = await asking;
  if (key) sessionStorage.setItem(KEY, key);
  return Boolean(key);
}

const pause = (seconds) => new Promise((done) => setTimeout(done, Math.min(seconds, 10) * 1000));

const KINDLY = {
  401: "A key is required. Reload the page to enter one.",
  429: "Too many requests. Wait a moment and try again.",
};

async function explained(response) {
  const problem = await response.json().catch(() => ({}));
  const told = problem.detail || problem.title;
  const words = typeof told === "string" && told ? told : KINDLY[response.status];
  if (response.status >= 500) {
    return new ApiError(response.status, "Something went wrong inside Holdfast. Nothing was changed; try again in a moment.");
  }
  return new ApiError(response.status, KINDLY[response.status] ?? words ?? `The server answered ${response.status}.`);
}

const json = async (...request) => (await send(...request)).json();
const named = (id, verb = "") => `entities/${encodeURIComponent(id)}${verb && `/${verb}`}`;
const at = (id, verb = "") => `memories/${encodeURIComponent(id)}${verb && `/${verb}`}`;

export const status = () => json("GET", "status");
export const totals = () => json("GET", "totals");
export const setRecall = (enabled) => json("PATCH", "recall", { body: { enabled } });

export const memories = (query, signal) => json("GET", "memories", { query, signal });
export const memory = (id) => json("GET", at(id));
export const why = (id) => json("GET", at(id, "why"));
export const forecast = (id, days) => json("GET", at(id, "forecast"), { query: { days } });
export const remember = (draft) => json("POST", "memories", { body: draft });
export const correct = (id, content, reason) => json("PATCH", at(id), { body: { content, reason } });
export const confirm = (id) => json("POST", at(id, "confirm"));
export const archive = (id) => json("POST", at(id, "archive"));
export const restore = (id) => json("POST", at(id, "restore"));
export const forget = (id) => json("DELETE", at(id));
export const undo = (run) => json("POST", "undo", { body: { run } });

export const review = () => json("GET", "review");
export const approve = (id, content) => json("POST", `review/${encodeURIComponent(id)}/approve`, { body: { content } });
export const reject = (id, reason) => json("POST", `review/${encodeURIComponent(id)}/reject`, { body: { reason } });

export const entities = (query) => json("GET", "entities", { query });
export const entity = (id, query) => json("GET", named(id), { query });
export const graph = (query) => json("GET", "graph", { query });
export const duplicates = () => json("GET", "duplicates");
export const renameEntity = (id, name, type) => json("PATCH", named(id), { body: { name, type } });
export const mergeEntities = (id, others) => json("POST", named(id, "merge"), { body: { others } });
export const splitEntity = (id, names) => json("POST", named(id, "split"), { body: { names } });
export const overview = (query) => json("GET", "overview", { query });
export const timeline = (query) => json("GET", "timeline", { query });
export const timelineDays = (query) => json("GET", "timeline/days", { query });
export const changes = (query) => json("GET", "changes", { query });
export const health = () => json("GET", "health");
export const server = () => json("GET", "admin");
export const bundle = async () => (await send("GET", "export")).blob();
