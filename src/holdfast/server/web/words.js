// Texts of the page that several modules use.

export const KINDS = {
  fact: { one: "Fact", many: "facts", symbol: "fact" },
  reflection: { one: "Reflection", many: "reflections", symbol: "spark" },
  episode: { one: "Session", many: "sessions", symbol: "session" },
  turn: { one: "Said", many: "said", symbol: "turn" },
  document: { one: "Document", many: "documents", symbol: "document" },
  rule: { one: "Rule", many: "rules", symbol: "rule" },
  skill: { one: "Playbook", many: "playbooks", symbol: "rule" },
};

/** The order of kinds in charts and choices. */
export const KIND_ORDER = ["fact", "episode", "rule", "reflection", "skill", "document", "turn"];

/** The kinds that each list shows; the counts beside the views count the same. */
export const LISTED = {
  everything: ["fact", "reflection", "episode", "rule", "skill", "document"],
  facts: ["fact", "reflection"],
  sessions: ["episode"],
  rules: ["rule", "skill"],
};

export const STATUSES = {
  active: "In use",
  held: "On hold",
  proposed: "Needs your review",
  archived: "Archived",
  superseded: "Replaced",
  faded: "Faded",
  evicted: "Evicted (limit reached)",
};

const TYPES = {
  person: { one: "Person", many: "People", symbol: "person" },
  project: { one: "Project", many: "Projects", symbol: "project" },
  place: { one: "Place", many: "Places", symbol: "place" },
  location: { one: "Place", many: "Places", symbol: "place" },
  organization: { one: "Organisation", many: "Organisations", symbol: "organization" },
  organisation: { one: "Organisation", many: "Organisations", symbol: "organization" },
  email: { one: "E-mail address", many: "E-mail addresses", symbol: "link" },
  url: { one: "Web address", many: "Web addresses", symbol: "link" },
  other: { one: "Something else", many: "Other", symbol: "thing" },
};

export function typeWords(type) {
  const plain = type ? type[0].toUpperCase() + type.slice(1) : "Thing";
  return TYPES[type] ?? { one: plain, many: `${plain}s`, symbol: "thing" };
}

export const kindWord = (memory) => (KINDS[memory.kind] ?? { one: memory.kind }).one;
/** "facts"; for a count of one, "fact". */
export function kindMany(kind, count = 2) {
  const { one, many } = KINDS[kind] ?? { one: kind, many: `${kind}s` };
  return count === 1 ? one.toLowerCase() : many;
}

/** Types that a person can choose from. */
export const TYPE_NAMES = ["person", "location", "organization", "project", "other"];
export const kindSymbol = (memory) => (KINDS[memory.kind] ?? { symbol: "fact" }).symbol;
export const statusWord = (status) => STATUSES[status] ?? status;

/** `plural(2, "fact")` is "2 facts". */
export function plural(count, word, many = `${word}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? word : many}`;
}

/** The beginning of a text, cut between words. */
export function short(text, length = 80) {
  const line = text.replace(/\s+/g, " ").trim();
  if (line.length <= length) return line;
  const cut = line.slice(0, length);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(" "), length * 0.6))}…`;
}

const DAY = 86_400_000;
const LOCALE = "en-GB"; // the page is in English, so dates are too
const onDay = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short", year: "numeric" });
const atTime = new Intl.DateTimeFormat(LOCALE, { hour: "2-digit", minute: "2-digit" });
const longDay = new Intl.DateTimeFormat(LOCALE, { weekday: "long", day: "numeric", month: "long", year: "numeric" });
/** A formatter of days that are given in UTC. */
export const utcFormat = (options) => new Intl.DateTimeFormat(LOCALE, { timeZone: "UTC", ...options });

const midnight = (moment) => new Date(moment.getFullYear(), moment.getMonth(), moment.getDate());

/** Calendar days between a moment and today, in local time. */
function daysAgo(moment) {
  return Math.round((midnight(new Date()) - midnight(moment)) / DAY);
}

export const day = (text) => onDay.format(new Date(text));
export const dayAndTime = (text) => `${day(text)}, ${atTime.format(new Date(text))}`;
export const clock = (text) => atTime.format(new Date(text));
export const dayKey = (text) => midnight(new Date(text)).getTime();

export function dayHeading(text) {
  const ago = daysAgo(new Date(text));
  return ago === 0 ? "Today" : ago === 1 ? "Yesterday" : longDay.format(new Date(text));
}

/** A time the way people say it: "today, 14:05", "3 days ago", "18 Mar 2026". */
export function ago(text) {
  const moment = new Date(text);
  const days = daysAgo(moment);
  if (days === 0) return `today, ${atTime.format(moment)}`;
  if (days === 1) return `yesterday, ${atTime.format(moment)}`;
  return days > 1 && days < 14 ? `${days} days ago` : onDay.format(moment);
}

const VERBS = {
  remember: "Stored",
  capture: "Captured from a conversation",
  learn: "Extracted from a conversation",
  consider: "Extracted from a conversation",
  correct: "Corrected",
  confirm: "Confirmed",
  archive: "Archived",
  forget: "Forgotten",
  restore: "Restored",
  undo: "Undone",
  propose: "Proposed",
  approve: "Approved",
  reject: "Rejected",
  expire: "Proposal expired",
  decay: "Faded",
  evict: "Evicted",
  import: "Imported",
  merge: "People or places merged",
  split: "People or places split",
  rename: "Renamed",
  reflect: "Weekly reflection",
  enrich: "People and places recognised",
  purge: "Erased permanently",
  end: "Session ended",
  sync: "Synced from another store",
  recall: "Setting changed",
  profile: "Setting changed",
};

export function verbWord(verb) {
  return VERBS[verb] ?? verb.charAt(0).toUpperCase() + verb.slice(1).replaceAll("_", " ");
}

/** An actor such as `cli:ann`, `http:ann`, `agent:cook` or `worker:…`, in words. */
export function actorWord(actor = "") {
  const [kind, ...rest] = actor.split(":");
  const name = rest.join(":");
  const known = {
    http: "on this page",
    cli: name ? `by ${name}, in a terminal` : "in a terminal",
    agent: `by the agent “${name}”`,
    mcp: `by a program (${name})`,
    worker: "by Holdfast, in the background",
    decay: "by Holdfast, in the background",
    library: "by a program",
  };
  return known[kind] ?? (actor && `by ${actor}`);
}

const DECISIONS = {
  commit_now: "It was stored immediately.",
  commit_at_session_end: "It was stored when the conversation ended.",
  require_repetition: "It had to be said twice before it was stored.",
  propose: "It needed approval by a person.",
  drop: "It was rejected by the policy.",
};

const TIMINGS = {
  promotion: "The rest of the conversation confirmed it.",
};

/** Sentences that explain why a memory was stored. */
export function decisionSentences(memory, decision) {
  if (!decision?.action) return [sourceSentence(memory)];
  const told = [DECISIONS[decision.action] ?? decision.action];
  if (TIMINGS[decision.timing] && memory.status !== "held") told.push(TIMINGS[decision.timing]);
  if (memory.status === "held") told[0] = "It is on hold: it is not used until the conversation ends or it is said again.";
  if (memory.status === "proposed") told[0] = "It needs your approval. Until then it is not used.";
  return told;
}

export function deciderSentence(version = "") {
  if (version.startsWith("rules")) return "Decided by built-in rules, without a language model.";
  if (version.startsWith("model")) return "Decided with a language model, within built-in safeguards.";
  return version && `Decided by ${version}.`;
}

function sourceSentence(memory) {
  if (memory.source === "correction") return "It corrects an earlier memory.";
  if (memory.kind === "turn") return "It was said in a conversation and is stored verbatim.";
  if (memory.kind === "episode") return "It is the summary of a conversation.";
  if (memory.kind === "reflection") return "It summarises what was learned in a week.";
  if (memory.source === "extraction" || memory.source === "learn") return "It was extracted from a conversation.";
  return "A person or a program stored it explicitly.";
}

/** A reason from the journal, as a sentence. */
export function sentence(text) {
  const plain = text.replace(/^llm_policy: /, "").trim();
  const begun = plain.charAt(0).toUpperCase() + plain.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}
