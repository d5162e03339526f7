// Written by docs/typescript.py from the OpenAPI document; do not edit.

import { Connection } from "./connection.js";

export { HoldfastError } from "./connection.js";

/** The memory that a `holdfast serve` offers. */
export class Holdfast extends Connection {
  /** List the facts about the owner. */
  listFacts(query) {
    return this.request("GET", `/api/memory/facts`, { query });
  }

  /** List past conversations by their summaries. */
  listSessions(query) {
    return this.request("GET", `/api/memory/sessions`, { query });
  }

  /** List the owner's standing rules. */
  listRules(query) {
    return this.request("GET", `/api/memory/rules`, { query });
  }

  /** Forget one fact; `POST /undo` with the run restores it. */
  deleteFact(ref, query) {
    return this.request("DELETE", `/api/memory/facts/${encodeURIComponent(ref)}`, { query });
  }

  /** Forget the summary of one session, by number, id or session id. */
  deleteSession(ref, query) {
    return this.request("DELETE", `/api/memory/sessions/${encodeURIComponent(ref)}`, { query });
  }

  /** Forget one rule. */
  deleteRule(ref, query) {
    return this.request("DELETE", `/api/memory/rules/${encodeURIComponent(ref)}`, { query });
  }

  /** Count facts, sessions and rules; return the state of proactive recall. */
  status(query) {
    return this.request("GET", `/api/memory/status`, { query });
  }

  /** Count active memories by kind, and proposals. */
  totals(query) {
    return this.request("GET", `/api/memory/totals`, { query });
  }

  /** Turn proactive recall on or off. */
  switchRecall(body, query) {
    return this.request("PATCH", `/api/memory/recall`, { body, query });
  }

  /** Return memories that help answer a question, best first. */
  recall(body, query) {
    return this.request("POST", `/api/memory/recall`, { body, query });
  }

  /** Undo everything that one run did, exactly; by default the latest that was not undone yet. */
  undo(body, query) {
    return this.request("POST", `/api/memory/undo`, { body, query });
  }

  /** List recent changes, newest first; conversation turns are left out. */
  listChanges(query) {
    return this.request("GET", `/api/memory/changes`, { query });
  }

  /** Return the status of the memory: contents, models, problems. */
  health(query) {
    return this.request("GET", `/api/memory/health`, { query });
  }

  /** Export everything of this owner as a lossless bundle; `holdfast import` reads it. */
  export(query) {
    return this.request("GET", `/api/memory/export`, { query });
  }

  /** List memories, newest first; with `q`, recall active ones with scores and reasons. */
  listMemories(query) {
    return this.request("GET", `/api/memory/memories`, { query });
  }

  /** Store a memory. An identical fact or rule is stored once. */
  remember(body, query) {
    return this.request("POST", `/api/memory/memories`, { body, query });
  }

  /** Return one memory, in any status. */
  show(id, query) {
    return this.request("GET", `/api/memory/memories/${encodeURIComponent(id)}`, { query });
  }

  /** Correct a memory: returns the new one; the old one is retired and linked, not lost. */
  correct(id, body, query) {
    return this.request("PATCH", `/api/memory/memories/${encodeURIComponent(id)}`, { body, query });
  }

  /** Forget a memory; `POST /undo` with the run restores it. */
  forget(id, query) {
    return this.request("DELETE", `/api/memory/memories/${encodeURIComponent(id)}`, { query });
  }

  /** Confirm a memory: full confidence, and it never fades. */
  confirm(id, query) {
    return this.request("POST", `/api/memory/memories/${encodeURIComponent(id)}/confirm`, { query });
  }

  /** Archive a memory: kept and listed, but no longer recalled. */
  archive(id, query) {
    return this.request("POST", `/api/memory/memories/${encodeURIComponent(id)}/archive`, { query });
  }

  /** Restore a memory that is no longer active. */
  restore(id, query) {
    return this.request("POST", `/api/memory/memories/${encodeURIComponent(id)}/restore`, { query });
  }

  /** Explain why a memory was stored, with its sources and history. */
  why(id, query) {
    return this.request("GET", `/api/memory/memories/${encodeURIComponent(id)}/why`, { query });
  }

  /** Forecast the confidence of a memory if nobody uses it. */
  forecast(id, query) {
    return this.request("GET", `/api/memory/memories/${encodeURIComponent(id)}/forecast`, { query });
  }

  /** Return what is new, growth, what fades next, what waits for review, who was mentioned. */
  showOverview(query) {
    return this.request("GET", `/api/memory/overview`, { query });
  }

  /** Timeline of what happened and was learned, newest first. */
  timeline(query) {
    return this.request("GET", `/api/memory/timeline`, { query });
  }

  /** Count memories by day and kind, oldest first; days without any are left out. */
  days(query) {
    return this.request("GET", `/api/memory/timeline/days`, { query });
  }

  /** List entities, most mentioned first. */
  listEntities(query) {
    return this.request("GET", `/api/memory/entities`, { query });
  }

  /** Return one entity with its names, its current facts and the memories that mention it. */
  about(name, query) {
    return this.request("GET", `/api/memory/entities/${encodeURIComponent(name)}`, { query });
  }

  /** Return who is mentioned with whom: among the most mentioned, or around one entity. */
  graph(query) {
    return this.request("GET", `/api/memory/graph`, { query });
  }

  /** List entities that may be the same, with a reason each; nothing is merged. */
  duplicates(query) {
    return this.request("GET", `/api/memory/duplicates`, { query });
  }

  /** Rename an entity, or change its type; the old name stays as an alias. */
  rename(id, body, query) {
    return this.request("PATCH", `/api/memory/entities/${encodeURIComponent(id)}`, { body, query });
  }

  /** Merge other entities into this one: their names and mentions move here. */
  merge(id, body, query) {
    return this.request("POST", `/api/memory/entities/${encodeURIComponent(id)}/merge`, { body, query });
  }

  /** Move some names of an entity, and the memories that use them, to a new entity; return that. */
  split(id, body, query) {
    return this.request("POST", `/api/memory/entities/${encodeURIComponent(id)}/split`, { body, query });
  }

  /** List proposals, oldest first, each with the effect of approval and the most similar memory. */
  listProposals(query) {
    return this.request("GET", `/api/memory/review`, { query });
  }

  /** Approve a proposal, optionally reworded; returns the active memory. */
  approve(id, body, query) {
    return this.request("POST", `/api/memory/review/${encodeURIComponent(id)}/approve`, { body, query });
  }

  /** Reject a proposal: it is archived and not proposed again in the same words. */
  reject(id, body, query) {
    return this.request("POST", `/api/memory/review/${encodeURIComponent(id)}/reject`, { body, query });
  }

  /** Store one turn of a conversation, verbatim and at once; extraction follows after a reply. */
  capture(body, query) {
    return this.request("POST", `/api/memory/capture`, { body, query });
  }

  /** End a session and extract from it. Idempotent. */
  endSession(session, body, query) {
    return this.request("POST", `/api/memory/sessions/${encodeURIComponent(session)}/end`, { body, query });
  }

  /** Return context for a model: a block for the whole session, and one for this prompt. */
  context(body, query) {
    return this.request("POST", `/api/memory/context`, { body, query });
  }

  /** Return the figures of the server; nothing of anybody's memories. */
  serverFigures(query) {
    return this.request("GET", `/api/memory/admin`, { query });
  }
}
