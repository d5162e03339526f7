// Written by docs/typescript.py from the OpenAPI document; do not edit.

import { Connection } from "./connection.js";

export { HoldfastError, type Options } from "./connection.js";

/** Messages to extract from, or to store as they are. */
export interface Addition {
  messages: Array<Message>;
  user_id?: string | number | null;
  agent_id?: string | number | null;
  run_id?: string | number | null;
  metadata?: { [key: string]: unknown } | null;
  expiration_date?: string | null;
  infer?: boolean;
  memory_type?: string | null;
  prompt?: string | null;
}

/** Recalled memories, best first. */
export interface Answer {
  items: Array<Found>;
}

/** Approval, optionally with other words. */
export interface Approval {
  content?: string | null;
}

/** A session with its summary. */
export interface Arc {
  /** From 1, in order of storage. */
  index: number;
  id: string;
  /** Same as the id. */
  key: string;
  text: string;
  category: string;
  confidence: number;
  protected: boolean;
  /** ISO 8601 with offset. */
  created_at: string;
  session: string | null;
  title: string;
  summary: string;
  themes: Array<string>;
  mood_opened: string;
  mood_closed: string;
  turn_count: number;
  /** ISO 8601 with offset. */
  ended_at: string;
}

/** The stored turn; null if there was nothing to store. */
export interface Captured {
  memory: Record | null;
  /** Run for `POST /undo`; empty if nothing changed. */
  run: string;
}

/** A journal entry. */
export interface Change {
  /** ISO 8601 with offset. */
  at: string;
  actor: string;
  verb: string;
  run: string;
  before: { [key: string]: unknown } | null;
  after: { [key: string]: unknown } | null;
}

/** A memory after a change. */
export interface Changed {
  id: string;
  /** Increases in order of storage. Not the number that the command line shows: those numbers are shared by all owners of a store, and their gaps would reveal how much others store. */
  seq: number;
  kind: "turn" | "document" | "episode" | "fact" | "reflection" | "rule" | "skill";
  layer: "episodic" | "semantic" | "procedural";
  category: string;
  status: "active" | "held" | "proposed" | "archived" | "superseded" | "faded" | "evicted";
  status_reason: string;
  content: string;
  title: string;
  author: string;
  role: string;
  session: string | null;
  /** Words of the source. */
  quote: string;
  confidence: number;
  /** Confirmed by a person; it never fades. */
  protected: boolean;
  tags: Array<string>;
  triple: Triple | null;
  /** ISO 8601 with offset. */
  event_time: string;
  /** ISO 8601 with offset. */
  created_at: string;
  /** ISO 8601 with offset. */
  updated_at: string;
  valid_from: string | null;
  valid_until: string | null;
  source: string;
  trust: string;
  metadata: { [key: string]: unknown };
  /** Run for `POST /undo`; empty if nothing changed. */
  run: string;
}

/** An entity after a change. */
export interface ChangedEntity {
  id: string;
  name: string;
  type: string;
  aliases: Array<string>;
  summary: string;
  mentions: number;
  /** Run for `POST /undo`; empty if nothing changed. */
  run: string;
}

/** Context for a model. */
export interface ContextBlocks {
  /** The same for the whole session. */
  stable: string;
  /** For this prompt. */
  turn: string;
  /** Memories in both blocks. */
  ids: Array<string>;
}

/** Prompt that a model is about to answer. */
export interface ContextRequest {
  prompt: string;
  session?: string | null;
  tokens?: number | null;
  /** Read the best candidates again: slower, better in conversations. */
  deep?: boolean;
}

/** New text of a memory. */
export interface Correction {
  content: string;
  reason?: string;
}

/** Number of facts (semantic), sessions (episodic) and rules (procedural). */
export interface Counts {
  semantic: number;
  episodic: number;
  procedural: number;
}

/** Number of memories of a day, by kind. */
export interface Day {
  day: string;
  counts: { [key: string]: number };
}

/** Use of language models on one day. */
export interface DaySpend {
  day: string;
  calls: number;
  tokens: number;
}

/** Memories by day. */
export interface Days {
  total: number;
  days: Array<Day>;
}

/** Decision of the write policy on a memory, with the reason. */
export interface Decision {
  action: string;
  reason: string;
  version: string;
  timing: string;
}

/** Result of a deletion. */
export interface Deleted {
  deleted: boolean;
  detail: string;
  /** Run for `POST /undo`; empty if nothing changed. */
  run: string;
}

/** Two entities that may be the same. */
export interface DuplicatePair {
  keep: Who;
  other: Who;
  reason: string;
}

/** Result of ending a session. */
export interface Ended {
  /** False if there is no such session, or it had ended before. */
  ended: boolean;
  /** Number of extracted memories; null if a worker has to retry. */
  learned: number | null;
  /** Run for `POST /undo`; empty if nothing changed. */
  run: string;
}

/** Facts about a session that only the caller knows. They go into the summary. */
export interface Ending {
  approach_used?: string | null;
  approach_context?: { [key: string]: string } | null;
  /** Severity, from 0 to 3. */
  crisis_level_max?: number | null;
}

/** Two entities that memories mention together. */
export interface EntityLink {
  one: string;
  other: string;
  memories: number;
}

/** A fact. */
export interface Fact {
  /** From 1, in order of storage. */
  index: number;
  id: string;
  /** Same as the id. */
  key: string;
  text: string;
  category: string;
  confidence: number;
  protected: boolean;
  /** ISO 8601 with offset. */
  created_at: string;
  subject: string;
  predicate: string;
  object: string;
  evidence_quote: string;
}

/** A fact that fades if nobody uses it, or ends with its date. */
export interface Fading {
  /** ISO 8601 with offset. */
  at: string;
  how: "fades" | "ends";
  memory: Record;
}

/** Forecast of a memory's confidence if nobody uses it. */
export interface Forecast {
  id: string;
  /** Null if it never fades. */
  fades_at: string | null;
  /** Whether and when it fades, in plain words. */
  why: string;
  threshold: number;
  /** Days from now, with the confidence. */
  points: Array<[number, number]>;
}

/** A memory in a list; after a query with its score and reasons. */
export interface Found {
  id: string;
  /** Increases in order of storage. Not the number that the command line shows: those numbers are shared by all owners of a store, and their gaps would reveal how much others store. */
  seq: number;
  kind: "turn" | "document" | "episode" | "fact" | "reflection" | "rule" | "skill";
  layer: "episodic" | "semantic" | "procedural";
  category: string;
  status: "active" | "held" | "proposed" | "archived" | "superseded" | "faded" | "evicted";
  status_reason: string;
  content: string;
  title: string;
  author: string;
  role: string;
  session: string | null;
  /** Words of the source. */
  quote: string;
  confidence: number;
  /** Confirmed by a person; it never fades. */
  protected: boolean;
  tags: Array<string>;
  triple: Triple | null;
  /** ISO 8601 with offset. */
  event_time: string;
  /** ISO 8601 with offset. */
  created_at: string;
  /** ISO 8601 with offset. */
  updated_at: string;
  valid_from: string | null;
  valid_until: string | null;
  source: string;
  trust: string;
  metadata: { [key: string]: unknown };
  /** From 0 to 1; higher is better. */
  score?: number | null;
  /** The score in a word. */
  strength?: "strong" | "likely" | "weak" | null;
  why?: Reasons | null;
}

/** Who is mentioned with whom. */
export interface Graph {
  entities: Array<Who>;
  /** Most often first. */
  links: Array<EntityLink>;
  /** False if there are more memories than were read, so counts are at least. */
  complete: boolean;
  waiting: Waiting;
}

/** An event or something learned. */
export interface Happening {
  /** When it happened or, by `learned`, was stored. */
  at: string;
  what: "happened" | "learned";
  memory: Record;
}

/** Status of an owner's memory. */
export interface Health {
  /** Number of memories by kind and status. */
  memories: { [key: string]: { [key: string]: number } };
  active: number;
  sessions: number;
  /** Number of active memories with a vector, by model. */
  vectors: { [key: string]: number };
  models: Array<string>;
  /** Models that do not work, with the reasons. */
  problems: { [key: string]: string };
  /** Problems of the store; null if not permitted. */
  findings: number | null;
}

/** Messages to extract from, or to store as they are. */
export interface HostedAddition {
  user_id?: string | number | null;
  agent_id?: string | number | null;
  app_id?: string | number | null;
  run_id?: string | number | null;
  filters?: { [key: string]: unknown } | null;
  messages: Array<{ [key: string]: unknown }>;
  metadata?: { [key: string]: unknown } | null;
  timestamp?: number | string | null;
  expiration_date?: string | null;
  infer?: boolean;
}

/** Items to update or to delete. */
export interface HostedBatch {
  memories: Array<HostedBatchItem>;
}

/** One item of a batch. */
export interface HostedBatchItem {
  text?: string | null;
  metadata?: { [key: string]: unknown } | null;
  timestamp?: number | string | null;
  expiration_date?: string | null;
  /** Id of a memory. */
  memory_id: string;
}

/** What somebody thinks of an item; null withdraws it. */
export interface HostedFeedback {
  /** Id of a memory. */
  memory_id: string;
  feedback?: "POSITIVE" | "NEGATIVE" | "VERY_NEGATIVE" | null;
  feedback_reason?: string | null;
}

/** Filters and period of a list. */
export interface HostedListing {
  user_id?: string | number | null;
  agent_id?: string | number | null;
  app_id?: string | number | null;
  run_id?: string | number | null;
  filters?: { [key: string]: unknown } | null;
  fields?: Array<string> | null;
  show_expired?: boolean;
  categories?: Array<string> | null;
  keywords?: string | null;
  start_date?: string | null;
  end_date?: string | null;
  page?: number | null;
  page_size?: number | null;
}

/** Query, filters and number of results. */
export interface HostedSearch {
  user_id?: string | number | null;
  agent_id?: string | number | null;
  app_id?: string | number | null;
  run_id?: string | number | null;
  filters?: { [key: string]: unknown } | null;
  fields?: Array<string> | null;
  show_expired?: boolean;
  categories?: Array<string> | null;
  query: string;
  metadata?: { [key: string]: unknown } | null;
  top_k?: number;
  threshold?: number;
  rerank?: boolean;
  reference_date?: number | string | null;
}

/** New text, metadata or dates of an item. */
export interface HostedUpdate {
  text?: string | null;
  metadata?: { [key: string]: unknown } | null;
  timestamp?: number | string | null;
  expiration_date?: string | null;
}

/** A job that failed, without the text of its error. */
export interface JobError {
  owner: string;
  job: string;
  error: string;
  retries_left: number;
  retry_at: string | null;
}

/** A link between two memories. */
export interface Link {
  source: string;
  relation: "derived_from" | "supersedes" | "conflicts_with";
  target: string;
  reason: string;
  /** ISO 8601 with offset. */
  created_at: string;
}

/** An entity that was mentioned lately. */
export interface Mentioned {
  id: string;
  name: string;
  type: string;
  aliases: Array<string>;
  summary: string;
  mentions: number;
  /** Number of the latest 1,000 memories that mention it. */
  lately: number;
}

/** Entities to merge, by id or name. */
export interface Merge {
  others: Array<string>;
}

/** One message of a conversation. */
export interface Message {
  role: string;
  content: string;
  name?: string | null;
}

/** Another name of an entity, and optionally another type. */
export interface NewName {
  name: string;
  type?: string | null;
}

/** A memory at a glance. */
export interface Overview {
  /** Memories stored in the last seven days, by kind. */
  new: { [key: string]: number };
  newest: Array<Record>;
  /** Memories in use, by the day they were stored. */
  growth: Array<Day>;
  /** Proposals that wait for a person. */
  review: number;
  /** Memories on hold until a conversation ends. */
  held: number;
  /** Turns of conversations in use, which are not in `growth`. */
  turns: number;
  /** What fades or ends next. */
  fading: Array<Fading>;
  /** People, places and projects, lately. */
  mentioned: Array<Mentioned>;
  waiting: Waiting;
}

/** How much one owner stores and uses. */
export interface OwnerFigures {
  owner: string;
  /** Active memories. */
  memories: number;
  /** Words in them. */
  words: number;
  /** End of the latest conversation. */
  last_activity: string | null;
  keys: number;
  /** Questions to language models in the last 30 days. */
  calls: number;
  tokens: number;
}

/** A page of memories, with the cursor of the next one. */
export interface Page {
  items: Array<Found>;
  /** Pass it as `after` for the next page; null at the end. */
  next: string | null;
  /** False if nothing relevant is known: the items are then only near misses. */
  relevant?: boolean;
  /** What is missing from the answer: damaged memories, a model that does not respond. */
  warnings?: Array<string>;
}

/** An error (RFC 9457): what happened and what to do next. */
export interface Problem {
  type?: string;
  title: string;
  status: number;
  detail: string;
  /** Id under which the server's log has the details. */
  request_id: string;
  /** Validation errors by field. */
  errors?: Array<{ [key: string]: string }> | null;
}

/** An entity with its current facts and the memories that mention it. */
export interface Profile {
  id: string;
  name: string;
  type: string;
  aliases: Array<string>;
  summary: string;
  mentions: number;
  /** A short profile: lasting facts first. */
  facts: Array<Record>;
  memories: Array<Record>;
  waiting: Waiting;
}

/** A memory that needs human approval. */
export interface Proposal {
  id: string;
  /** Increases in order of storage. Not the number that the command line shows: those numbers are shared by all owners of a store, and their gaps would reveal how much others store. */
  seq: number;
  kind: "turn" | "document" | "episode" | "fact" | "reflection" | "rule" | "skill";
  layer: "episodic" | "semantic" | "procedural";
  category: string;
  status: "active" | "held" | "proposed" | "archived" | "superseded" | "faded" | "evicted";
  status_reason: string;
  content: string;
  title: string;
  author: string;
  role: string;
  session: string | null;
  /** Words of the source. */
  quote: string;
  confidence: number;
  /** Confirmed by a person; it never fades. */
  protected: boolean;
  tags: Array<string>;
  triple: Triple | null;
  /** ISO 8601 with offset. */
  event_time: string;
  /** ISO 8601 with offset. */
  created_at: string;
  /** ISO 8601 with offset. */
  updated_at: string;
  valid_from: string | null;
  valid_until: string | null;
  source: string;
  trust: string;
  metadata: { [key: string]: unknown };
  proposed_by: string;
  /** Why it was proposed. */
  reason: string;
  /** Effect of approval. */
  effect: string;
  /** The memory that approval would change; null if the proposal is new. */
  changes: Record | null;
  /** The most similar active memory. */
  nearest: Record | null;
}

/** A recall query. */
export interface Question {
  question: string;
  limit?: number | null;
  kinds?: Array<"turn" | "document" | "episode" | "fact" | "reflection" | "rule" | "skill">;
  categories?: Array<string>;
  tags?: Array<string>;
  since?: string | null;
  until?: string | null;
  /** Answer as of this time. */
  as_of?: string | null;
  exclude_session?: string | null;
  tokens?: number | null;
  /** Only hits with this score or more. Default: nothing if the best is unlikely. */
  min_score?: number | null;
  /** Read the best candidates again: slower, better in conversations. */
  deep?: boolean;
}

/** Why a memory was found. */
export interface Reasons {
  summary: string;
  /** Rank in each candidate list. */
  arms: { [key: string]: number };
  /** Parts of the score. */
  signals: { [key: string]: number };
  model: string;
  /** Words of the memory that the question asks for, without stop words. */
  words?: Array<string>;
  /** People and things that both mention. */
  names?: Array<string>;
  /** Its author, if the question is about that person. */
  speaker?: string;
  /** Words of the question that name the time of the memory. */
  time?: string;
}

/** A memory. */
export interface Record {
  id: string;
  /** Increases in order of storage. Not the number that the command line shows: those numbers are shared by all owners of a store, and their gaps would reveal how much others store. */
  seq: number;
  kind: "turn" | "document" | "episode" | "fact" | "reflection" | "rule" | "skill";
  layer: "episodic" | "semantic" | "procedural";
  category: string;
  status: "active" | "held" | "proposed" | "archived" | "superseded" | "faded" | "evicted";
  status_reason: string;
  content: string;
  title: string;
  author: string;
  role: string;
  session: string | null;
  /** Words of the source. */
  quote: string;
  confidence: number;
  /** Confirmed by a person; it never fades. */
  protected: boolean;
  tags: Array<string>;
  triple: Triple | null;
  /** ISO 8601 with offset. */
  event_time: string;
  /** ISO 8601 with offset. */
  created_at: string;
  /** ISO 8601 with offset. */
  updated_at: string;
  valid_from: string | null;
  valid_until: string | null;
  source: string;
  trust: string;
  metadata: { [key: string]: unknown };
}

/** Rejection. */
export interface Rejection {
  reason?: string;
}

/** A request that failed inside the server. */
export interface RequestFailure {
  /** ISO 8601 with offset. */
  at: string;
  method: string;
  route: string;
  status: number;
  /** Id under which the server's log has the details. */
  request_id: string;
}

/** A rule. */
export interface Rule {
  /** From 1, in order of storage. */
  index: number;
  id: string;
  /** Same as the id. */
  key: string;
  text: string;
  category: string;
  confidence: number;
  protected: boolean;
  /** ISO 8601 with offset. */
  created_at: string;
  rule: string;
  evidence: string;
  /** ISO 8601 with offset. */
  added_at: string;
}

/** A run with its undo information. */
export interface RunOfChanges {
  /** Run for `POST /undo`; empty if nothing changed. */
  run: string;
  /** ISO 8601 with offset. */
  at: string;
  actor: string;
  verb: string;
  /** Whether it was undone. */
  undone: boolean;
  /** Number of memories it changed. */
  count: number;
  /** Some of them, as they are now. */
  memories: Array<Record>;
  /** People and places that were merged, split or renamed. */
  names: Array<string>;
}

/** Query, owner and number of results. */
export interface Search {
  query: string;
  user_id?: string | number | null;
  agent_id?: string | number | null;
  run_id?: string | number | null;
  filters?: { [key: string]: unknown };
  top_k?: number;
  threshold?: number;
}

/** Figures of a shared server. */
export interface ServerFigures {
  version: string;
  /** ISO 8601 with offset. */
  started_at: string;
  /** Valid keys. */
  keys: number;
  /** Answered since the start. */
  requests: number;
  /** Answers by status. */
  statuses: { [key: string]: number };
  /** Newest first. */
  failures: Array<RequestFailure>;
  /** Tokens that each owner may use in a day. */
  daily_tokens: number;
  /** Problems of the store; null if not permitted. */
  findings: number | null;
  /** Why figures of the store are missing. */
  missing?: string;
  /** Size of the store. */
  bytes?: number | null;
  owner_count?: number;
  memories?: number;
  /** Those with the most memories first; at most 500. */
  owners?: Array<OwnerFigures>;
  /** The last 30 days. */
  spend?: Array<DaySpend>;
  /** Number of jobs by kind and status. */
  jobs?: { [key: string]: { [key: string]: number } };
  workers?: Array<WorkerFigures>;
  job_errors?: Array<JobError>;
}

/** A turn that is a source of a memory. */
export interface Source {
  id: string;
  who: string;
  /** ISO 8601 with offset. */
  when: string;
  text: string;
  session: string | null;
}

/** Names that belong to another entity. */
export interface Split {
  names: Array<string>;
}

/** Memory of an owner in numbers. */
export interface Standing {
  memory_mode: string;
  owner_id: string;
  counts: Counts;
  crisis_log_count: number;
  session_feedback_count: number;
  proactive_recall_enabled: boolean;
}

/** A memory to store. */
export interface Statement {
  content: string;
  kind?: "turn" | "document" | "episode" | "fact" | "reflection" | "rule" | "skill";
  category?: string;
  title?: string;
  author?: string;
  tags?: Array<string>;
  confidence?: number;
  /** When it happened. Default: now. */
  event_time?: string | null;
  valid_from?: string | null;
  valid_until?: string | null;
  metadata?: { [key: string]: unknown };
}

/** Why a memory was stored, with its sources and history. */
export interface Story {
  summary: string;
  /** Null if a person or a program stored it directly. */
  decision: Decision | null;
  quote: string;
  /** All source texts, if it was said more than once. */
  quotes: Array<string>;
  sources: Array<Source>;
  links: Array<Link>;
  /** Oldest first. */
  history: Array<Change>;
}

/** On or off. */
export interface Switch {
  enabled: boolean;
}

/** New state of the switch. */
export interface Switched {
  owner_id: string;
  proactive_recall_enabled: boolean;
  detail: string;
  /** Run for `POST /undo`; empty if nothing changed. */
  run: string;
}

/** Timeline, newest first. */
export interface Timeline {
  items: Array<Happening>;
  /** Pass it as `before` for the next, older page; null at the end. */
  next: string | null;
}

/** What the Memory page shows beside every view. */
export interface Totals {
  /** Number of active memories by kind. */
  active: { [key: string]: number };
  /** Number of proposals that need approval. */
  review: number;
  /** When the first memory was stored. */
  oldest: string | null;
  /** Whether this key opens the figures of the server. */
  admin: boolean;
}

/** Statement of a fact. */
export interface Triple {
  subject: string;
  predicate: string;
  object: string;
  subject_type?: string;
  object_type?: string;
}

/** One turn of a conversation. */
export interface Turn {
  session: string;
  role: string;
  text: string;
  author?: string;
  /** When it was said. Default: now. */
  event_time?: string | null;
}

/** Run to undo. */
export interface UndoRequest {
  /** A run. Default: the latest one. */
  run?: string | null;
}

/** Result of an undo. */
export interface Undone {
  /** Run for `POST /undo`; empty if nothing changed. */
  run: string;
  /** The run that was undone. */
  undone: string;
  /** What the run had done. */
  verb: string;
  changes: number;
}

/** New text of a memory, and metadata to merge. */
export interface Update {
  text: string;
  metadata?: { [key: string]: unknown } | null;
}

/** Memories in which names are still to be looked for; counts of mentions may grow by them. */
export interface Waiting {
  count: number;
  /** False if only the latest 10,000 memories were looked at, so it is at least. */
  complete: boolean;
}

/** A person, project, place or other thing that memories mention. */
export interface Who {
  id: string;
  name: string;
  type: string;
  aliases: Array<string>;
  summary: string;
  mentions: number;
}

/** A worker that holds a job. */
export interface WorkerFigures {
  name: string;
  job: string;
  lease_until: string | null;
}

/** What every request may say. */
export interface Everywhere {
  /** Owner of the memory. With a key: its owner, or omitted. */
  user_id?: string | null;
  /** Owner of the memory if there is no user_id and no key. */
  thread_id?: string | null;
  /** Requests a stricter mode than the server's: `guest` or `incognito` neither reads nor stores anything. */
  memory_mode?: "incognito" | "guest" | "local" | "synced" | null;
}

/** The memory that a `holdfast serve` offers. */
export declare class Holdfast extends Connection {
  /** List the facts about the owner. */
  listFacts(query?: Everywhere): Promise<Array<Fact>>;

  /** List past conversations by their summaries. */
  listSessions(query?: Everywhere): Promise<Array<Arc>>;

  /** List the owner's standing rules. */
  listRules(query?: Everywhere): Promise<Array<Rule>>;

  /** Forget one fact; `POST /undo` with the run restores it. */
  deleteFact(ref: string, query?: Everywhere): Promise<Deleted>;

  /** Forget the summary of one session, by number, id or session id. */
  deleteSession(ref: string, query?: Everywhere): Promise<Deleted>;

  /** Forget one rule. */
  deleteRule(ref: string, query?: Everywhere): Promise<Deleted>;

  /** Count facts, sessions and rules; return the state of proactive recall. */
  status(query?: Everywhere): Promise<Standing>;

  /** Count active memories by kind, and proposals. */
  totals(query?: Everywhere): Promise<Totals>;

  /** Turn proactive recall on or off. */
  switchRecall(body: Switch, query?: Everywhere): Promise<Switched>;

  /** Return memories that help answer a question, best first. */
  recall(body: Question, query?: Everywhere): Promise<Answer>;

  /** Undo everything that one run did, exactly; by default the latest that was not undone yet. */
  undo(body?: UndoRequest | null, query?: Everywhere): Promise<Undone>;

  /** List recent changes, newest first; conversation turns are left out. */
  listChanges(query?: Everywhere & { limit?: number }): Promise<Array<RunOfChanges>>;

  /** Return the status of the memory: contents, models, problems. */
  health(query?: Everywhere): Promise<Health>;

  /** Export everything of this owner as a lossless bundle; `holdfast import` reads it. */
  export(query?: Everywhere): Promise<string>;

  /** List memories, newest first; with `q`, recall active ones with scores and reasons. */
  listMemories(query?: Everywhere & { q?: string | null; kind?: Array<"turn" | "document" | "episode" | "fact" | "reflection" | "rule" | "skill">; status?: Array<"active" | "held" | "proposed" | "archived" | "superseded" | "faded" | "evicted">; category?: Array<string>; session?: Array<string>; deep?: boolean; since?: string | null; as_of?: string | null; limit?: number; after?: string | null }): Promise<Page>;

  /** Store a memory. An identical fact or rule is stored once. */
  remember(body: Statement, query?: Everywhere): Promise<Changed>;

  /** Return one memory, in any status. */
  show(id: string, query?: Everywhere): Promise<Record>;

  /** Correct a memory: returns the new one; the old one is retired and linked, not lost. */
  correct(id: string, body: Correction, query?: Everywhere): Promise<Changed>;

  /** Forget a memory; `POST /undo` with the run restores it. */
  forget(id: string, query?: Everywhere): Promise<Changed>;

  /** Confirm a memory: full confidence, and it never fades. */
  confirm(id: string, query?: Everywhere): Promise<Changed>;

  /** Archive a memory: kept and listed, but no longer recalled. */
  archive(id: string, query?: Everywhere): Promise<Changed>;

  /** Restore a memory that is no longer active. */
  restore(id: string, query?: Everywhere): Promise<Changed>;

  /** Explain why a memory was stored, with its sources and history. */
  why(id: string, query?: Everywhere): Promise<Story>;

  /** Forecast the confidence of a memory if nobody uses it. */
  forecast(id: string, query?: Everywhere & { days?: number }): Promise<Forecast>;

  /** Return what is new, growth, what fades next, what waits for review, who was mentioned. */
  showOverview(query?: Everywhere & { minutes_ahead?: number }): Promise<Overview>;

  /** Timeline of what happened and was learned, newest first. */
  timeline(query?: Everywhere & { by?: "happened" | "learned"; kind?: Array<"turn" | "document" | "episode" | "fact" | "reflection" | "rule" | "skill">; entity?: string | null; since?: string | null; until?: string | null; before?: string | null; limit?: number }): Promise<Timeline>;

  /** Count memories by day and kind, oldest first; days without any are left out. */
  days(query?: Everywhere & { by?: "happened" | "learned"; kind?: Array<"turn" | "document" | "episode" | "fact" | "reflection" | "rule" | "skill">; entity?: string | null; minutes_ahead?: number }): Promise<Days>;

  /** List entities, most mentioned first. */
  listEntities(query?: Everywhere & { type?: Array<string>; limit?: number }): Promise<Array<Who>>;

  /** Return one entity with its names, its current facts and the memories that mention it. */
  about(name: string, query?: Everywhere & { limit?: number }): Promise<Profile>;

  /** Return who is mentioned with whom: among the most mentioned, or around one entity. */
  graph(query?: Everywhere & { entity?: string | null; limit?: number }): Promise<Graph>;

  /** List entities that may be the same, with a reason each; nothing is merged. */
  duplicates(query?: Everywhere): Promise<Array<DuplicatePair>>;

  /** Rename an entity, or change its type; the old name stays as an alias. */
  rename(id: string, body: NewName, query?: Everywhere): Promise<ChangedEntity>;

  /** Merge other entities into this one: their names and mentions move here. */
  merge(id: string, body: Merge, query?: Everywhere): Promise<ChangedEntity>;

  /** Move some names of an entity, and the memories that use them, to a new entity; return that. */
  split(id: string, body: Split, query?: Everywhere): Promise<ChangedEntity>;

  /** List proposals, oldest first, each with the effect of approval and the most similar memory. */
  listProposals(query?: Everywhere): Promise<Array<Proposal>>;

  /** Approve a proposal, optionally reworded; returns the active memory. */
  approve(id: string, body?: Approval | null, query?: Everywhere): Promise<Changed>;

  /** Reject a proposal: it is archived and not proposed again in the same words. */
  reject(id: string, body?: Rejection | null, query?: Everywhere): Promise<Changed>;

  /** Store one turn of a conversation, verbatim and at once; extraction follows after a reply. */
  capture(body: Turn, query?: Everywhere): Promise<Captured>;

  /** End a session and extract from it. Idempotent. */
  endSession(session: string, body?: Ending | null, query?: Everywhere): Promise<Ended>;

  /** Return context for a model: a block for the whole session, and one for this prompt. */
  context(body: ContextRequest, query?: Everywhere): Promise<ContextBlocks>;

  /** Return the figures of the server; nothing of anybody's memories. */
  serverFigures(query?: Everywhere): Promise<ServerFigures>;
}
