import type { Problem } from "./index.js";

export interface Options {
  /** Where `holdfast serve` listens. Default: http://127.0.0.1:8765 */
  url?: string;
  /** A key of `holdfast serve keys add`, where the server has keys. */
  key?: string;
  /** The owner of the memories, where the server has no keys. */
  userId?: string;
  /** Another implementation of fetch. */
  fetch?: typeof globalThis.fetch;
}

/** What the server answered instead of a result: a problem with its status and what to do. */
export declare class HoldfastError extends Error {
  readonly status: number;
  readonly problem: Partial<Problem>;
}

/** Sends requests to one server, for one owner. */
export declare class Connection {
  constructor(options?: Options);
  /** The answer to a request: JSON as a value, anything else as text. */
  request(method: string, path: string, parts?: { query?: object; body?: unknown }): Promise<unknown>;
}
