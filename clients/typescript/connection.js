/** What the server answered instead of a result: a problem with its status and what to do. */
export class HoldfastError extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `The server answered ${status}.`);
    this.name = "HoldfastError";
    this.status = status;
    this.problem = problem;
  }
}

/** Sends requests to one server, for one owner. */
export class Connection {
  #url;
  #headers;
  #userId;
  #fetch;

  constructor({ url = "http://127.0.0.1:8765", key, userId, fetch = globalThis.fetch } = {}) {
    this.#url = url.replace(/\/+$/, "");
    this.#headers = key ? { Authorization: `Bearer ${key}` } : {};
    this.#userId = userId;
    this.#fetch = fetch;
  }

  /** The answer to a request: JSON as a value, anything else as text. */
  async request(method, path, { query = {}, body } = {}) {
    const address = new URL(this.#url + path);
    for (const [name, value] of Object.entries({ user_id: this.#userId, ...query })) {
      for (const one of [value].flat()) {
        if (one !== undefined && one !== null) address.searchParams.append(name, String(one));
      }
    }
    const headers = { ...this.#headers };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    // Not as a method: a browser's fetch refuses to be called on another object.
    const fetch = this.#fetch;
    const answer = await fetch(address, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    const isJson = (answer.headers.get("Content-Type") ?? "").includes("json");
    if (!answer.ok) throw new HoldfastError(answer.status, isJson ? JSON.parse(text) : { detail: text });
    // A bundle is JSON line by line, so it stays text.
    return isJson && !answer.headers.get("Content-Type").includes("ndjson") ? JSON.parse(text) : text;
  }
}
