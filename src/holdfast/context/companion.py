"""Working memory of a companion for one turn: a few facts, recent session summaries, and the rules
that always apply.

Up to five of twenty facts that match the prompt, two summaries of the last thirty days and, on the
first turn of a session, the latest summary, however old. The owner's profile decides whether facts
and summaries are offered; rules always apply. A guest session reads nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..retrieval.personal_questions import personal_terms
from ..retrieval.recall import Engine, Question, recall, terms_of
from ..storage.protocol import Store
from ..storage.store_types import Filter
from ..text.normal_forms import fold
from ..text.tokens import query_terms
from ..types import DAY, Hit, Memory
from .blocks import fill
from .standing_rules import standing_rules

CANDIDATES = 20
FACTS = 5
ARCS = 2
ARC_AGE = 30 * DAY
# Share of the prompt's words that a memory must contain,
FITTING_SHARE = 1 / 3
# or this many of them, if they are also this share of the memory's own words,
FITTING_WORDS = 2
FITTING_PART = 0.4
# or a vector at least this close.
FITTING_MEANING = 0.5
ARC = "session"
GUEST = "Guest session without long-term memory."
_USERS = frozenset(("user", "the user", "i", "me", "speaker"))
# Confidence to which a superseded fact is demoted.
_DEMOTED = 0.3


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """Memories for a turn: facts and summaries that may be mentioned, rules, and how they were
    found.
    """

    entries: tuple[Memory, ...] = ()
    """Facts, then session summaries. Empty unless the owner wants proactive recall."""
    rules: tuple[Memory, ...] = ()
    summary: str = GUEST
    diagnostics: Mapping[str, Any] = field(default_factory=dict)

    @property
    def lines(self) -> list[str]:
        """The entries as prompt lines."""
        return format_working_memory_entries(self.entries)


@dataclass(frozen=True, slots=True)
class _Found:
    facts: Sequence[Memory] = ()
    arcs: Sequence[Memory] = ()
    path: str = "skipped_empty_store"


def load_memory_for_turn(
    engine: Callable[[], Engine],
    where: Filter,
    prompt: str,
    *,
    store: Store,
    first_turn: bool,
    volunteers: bool,
    guest: bool = False,
) -> WorkingMemory:
    """Return the working memory for a prompt. `engine` is called only if there is something to
    search.

    `volunteers` says whether the owner wants facts and summaries to be offered; a `guest` gets
    nothing.
    """
    if guest:
        return WorkingMemory()
    counts = store.counts(where.scopes)
    facts, arcs = (counts.get(kind, {}).get("active", 0) for kind in ("fact", "episode"))
    rules = standing_rules(store, where)
    found = _Found()
    took = 0
    if facts or arcs:
        made = engine()
        began = made.clock()
        found = _found(made, where, prompt, first_turn=first_turn)
        took = (made.clock() - began) // 1000
    told = {
        "load_memory_ms": took,
        "semantic_hits": len(found.facts),
        "semantic_store_size": facts,
        "episodic_hits": len(found.arcs),
        "episodic_store_size": arcs,
        "procedural_count": len(rules),
        "proactive_recall": volunteers,
        "retrieval_path": found.path,
    }
    entries = (*found.facts, *found.arcs) if volunteers else ()
    return WorkingMemory(entries, tuple(rules), _summary(told, len(query_terms(prompt))), told)


def _summary(told: Mapping[str, Any], words: int) -> str:
    return (
        f"Retrieved {told['semantic_hits']} of {told['semantic_store_size']} semantic record(s) + "
        f"{told['episodic_hits']} of {told['episodic_store_size']} episodic record(s), "
        f"{told['procedural_count']} procedural rule(s), "
        f"recall={'on' if told['proactive_recall'] else 'off'} "
        f"path={told['retrieval_path']} (query had {words} meaningful token(s))."
    )


def _found(
    engine: Engine,
    where: Filter,
    prompt: str,
    *,
    first_turn: bool,
) -> _Found:
    semantic = replace(where, kinds=("fact",))
    hits = _fitting(prompt, recall(engine, Question(prompt, semantic, limit=CANDIDATES)).hits)
    facts = [hit.memory for hit in hits if not _replaced(engine.store, hit.memory)][:FACTS]
    lately = replace(where, kinds=("episode",), since=engine.clock() - ARC_AGE)
    arcs = [
        hit.memory
        for hit in _fitting(prompt, recall(engine, Question(prompt, lately, limit=ARCS)).hits)
    ]
    if first_turn:
        latest = engine.store.list(replace(where, kinds=("episode",), categories=(ARC,)), limit=1)
        arcs += [one for one in latest if one.id not in {arc.id for arc in arcs}]
    return _Found(facts, arcs, _path(engine))


def _path(engine: Engine) -> str:
    """Return how the search was done: words and meaning, or words alone, possibly after a model
    failure.
    """
    if engine.tiers.errors:
        return "token_recall_after_embed_error"
    if next(iter(engine.tiers), None) is None:
        return "token_recall"
    if engine.fusion == "rrf":
        return "hybrid_rrf"
    return "hybrid"


def _fitting(prompt: str, hits: Iterable[Hit]) -> list[Hit]:
    """Return the hits that are relevant to the prompt, even if that leaves none."""
    asked = set(query_terms(prompt))
    # "What do I like?" has only stop words: one word of a likely answer is enough.
    if not asked:
        answers = set(personal_terms(prompt))
        return [hit for hit in hits if answers & set(terms_of(hit.memory)) or _fits(asked, hit)]
    return [hit for hit in hits if _fits(asked, hit)]


def _fits(asked: set[str], hit: Hit) -> bool:
    own = set(query_terms(hit.memory.content)) | set(terms_of(hit.memory))
    shared = asked & own
    if (hit.why.similarity or 0.0) >= FITTING_MEANING:
        return True
    covers = len(shared) >= FITTING_PART * len(
        set(query_terms(hit.memory.quote or hit.memory.content))
    )
    return bool(shared) and (
        len(shared) >= FITTING_SHARE * len(asked) or (len(shared) >= FITTING_WORDS and covers)
    )


def _replaced(store: Store, memory: Memory) -> bool:
    """Whether another fact supersedes this one, which has lost its confidence."""
    if memory.confidence > _DEMOTED:
        return False
    edges = store.edges(memory.scope, memory.id)
    return any(edge.target == memory.id and edge.relation == "supersedes" for edge in edges)


def format_working_memory_entries(entries: Iterable[Memory]) -> list[str]:
    """Format memories as prompt lines.

    A fact reads `[relationship] User WORRIES_ABOUT work — "my boss is terrible"`, without a triple
    `Previously noted: …`; a session summary reads `Last session (theme, theme, APPROACH): summary
    [Label: value; …]`.
    """
    return [_arc_line(one) if one.kind == "episode" else _fact_line(one) for one in entries]


def _fact_line(fact: Memory) -> str:
    said = fact.quote or fact.content
    if fact.triple is None:
        return fill("Previously noted: {said}", said=said)
    return fill(
        '[{category}] {subject} {predicate} {object} — "{said}"',
        category=fact.category,
        subject="User" if fold(fact.triple.subject) in _USERS else fact.triple.subject,
        predicate=fact.triple.predicate,
        object=fact.triple.object,
        said=said,
    )


def _arc_line(arc: Memory) -> str:
    told = arc.metadata
    approach = str(told.get("approach_used", "")).upper()
    themes = [*map(str, told.get("primary_themes", ())), approach]
    label = ", ".join(theme for theme in themes if theme) or "untagged"
    context = told.get("approach_context")
    values = (
        "; ".join(f"{_label(key)}: {value}" for key, value in context.items())
        if isinstance(context, Mapping)
        else ""
    )
    line = fill("Last session ({label}): {summary}", label=label, summary=arc.content)
    if values:
        return line + fill(" [{values}]", values=values)
    return line


def _label(key: object) -> str:
    return str(key).replace("_", " ").capitalize()
