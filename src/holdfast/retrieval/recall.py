"""Recall: from a question to hits, best first, each with its reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from .. import text
from ..models.embeddings.tiers import Tiers
from ..storage.protocol import Store
from ..storage.schema import indexed_text
from ..storage.store_types import Corpus, Filter
from ..text.budget import count_tokens
from ..text.tokens import index_terms
from ..types import OUTDATED_BY, Clock, Hit, Memory, Reasons
from . import fusion as fuse
from .candidates import Gathered, gather
from .features import Passage, features
from .query import Query, analyse

NEAR_COPY = (
    0.9  # share of words two texts must have in common to count as the same thing said twice
)
# What a memory of no confidence at all keeps of its score.
DOUBT = 0.5


class Engine(NamedTuple):
    """What a recall works with."""

    store: Store
    tiers: Tiers
    clock: Clock
    fusion: str = "learned"


class Question(NamedTuple):
    """What is asked, of which memories, and how much may come back."""

    text: str
    where: Filter
    limit: int = 10
    tokens: int | None = None


class Ranking(NamedTuple):
    """Every candidate, best first, ties in insertion order; reasons are worked out for those that
    are asked for.
    """

    memories: Sequence[Memory]
    scores: Sequence[float]
    reasons: Callable[[int], Reasons]

    def hit(self, place: int) -> Hit:
        """The candidate at a place (from 0), with its reasons."""
        return Hit(self.memories[place], self.scores[place], self.reasons(place))


class Recall(NamedTuple):
    """A finished recall: the hits, and what every stage before them saw.

    `order` is the places of the ranking as they would be shown; `copies` says which place repeats
    which.
    """

    hits: list[Hit]
    gathered: Gathered
    ranking: Ranking
    order: Sequence[int]
    copies: Mapping[int, int]


def recall(
    engine: Engine,
    question: Question,
    *,
    rank_all: bool = False,
) -> Recall:
    """Memories that help answer the question, best first. Any text is legal; one without words
    finds nothing.

    `to_the_end` orders every candidate, not only as many as are shown.
    """
    with engine.store.reading(question.where.scopes):
        query = parse_query(engine, question)
        found = (
            gather(engine.store, engine.tiers, query, question.where)
            if has_content(query)
            else None
        )
    gathered = found or _nothing(query)
    ranking = rank(engine, gathered, now=question.where.as_of is None)
    order, copies = demote_near_duplicates(
        ranking.memories, len(ranking.memories) if rank_all else question.limit
    )
    hits = [ranking.hit(place) for place in order[: question.limit]]
    return Recall(
        fit(hits, question.tokens),
        gathered,
        ranking,
        order,
        copies,
    )


def parse_query(engine: Engine, question: Question) -> Query:
    """The question, analysed as asked now, or at the time whose knowledge it asks for."""
    now = engine.clock() if question.where.as_of is None else question.where.as_of
    return analyse(question.text, now, authors=engine.store.authors(question.where.scopes))


def has_content(query: Query) -> bool:
    """Whether there is anything to look for: words that mean something, a time, or what somebody is
    like.
    """
    return bool(query.terms or query.spans or query.plain)


def _nothing(query: Query) -> Gathered:
    return Gathered(
        query,
        Corpus(0, 0.0),
        {},
        {},
        {},
    )


def rank(
    engine: Engine,
    gathered: Gathered,
    *,
    now: bool = True,
) -> Ranking:
    """Every candidate in order, by learned weights or by reciprocal ranks.

    Where what holds `now` is asked for, what took the place of a turn's words comes before them.
    """
    if not gathered.memories:
        return Ranking((), (), lambda place: Reasons({}))
    ranking = _by_rank(gathered) if engine.fusion == "rrf" else _by_weight(gathered)
    if now:
        return _current_first(ranking)
    return ranking


def _current_first(ranking: Ranking) -> Ranking:
    """The same candidates, turns whose words no longer hold behind what took their place.

    Whoever finds the old words would find what replaced them: so that has their score, and they
    have the least of its.
    """
    places = {memory.id: place for place, memory in enumerate(ranking.memories)}
    scores = list(ranking.scores)
    outdated = set[int]()
    for place, memory in enumerate(ranking.memories):
        noted = memory.metadata.get(OUTDATED_BY) if memory.kind == "turn" else None
        instead = [places[one] for one in noted if one in places] if isinstance(noted, list) else []
        if instead:
            outdated.add(place)
            best = min(instead)
            least = max(instead)
            scores[best] = max(scores[best], scores[place])
            scores[place] = min(scores[place], scores[least])
    if not outdated:
        return ranking
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place in outdated, place))
    memories = [ranking.memories[place] for place in order]
    return Ranking(
        memories, [scores[place] for place in order], lambda place: ranking.reasons(order[place])
    )


def _by_weight(gathered: Gathered) -> Ranking:
    memories = list(gathered.memories.values())
    passages = [
        Passage(memory, terms_of(memory), gathered.similarity[memory.seq]) for memory in memories
    ]
    matrix = features(gathered.query, gathered.corpus, passages)
    chosen = fuse.weights(fuse.situation(passages))
    scores = [
        score * _trust(memory)
        for score, memory in zip(fuse.linear(matrix, chosen), memories, strict=True)
    ]
    order = sorted(range(len(memories)), key=lambda row: (-scores[row], memories[row].seq))
    model = ", ".join(view.model for view in gathered.views)

    def reasons(place: int) -> Reasons:
        row = order[place]
        return Reasons(
            _found_by(gathered, memories[row]),
            fuse.signals(matrix[row], chosen),
            model,
            gathered.closeness(memories[row]),
        )

    return Ranking([memories[row] for row in order], [scores[row] for row in order], reasons)


def terms_of(memory: Memory) -> tuple[str, ...]:
    """The index terms of a memory. Its text never changes, so they are kept for the next
    question.
    """
    return _cached_terms(indexed_text(memory.title, memory.content, memory.tags))


@lru_cache(maxsize=20_000)
def _cached_terms(text: str) -> tuple[str, ...]:
    return tuple(index_terms(text))


def _trust(memory: Memory) -> float:
    """What confidence does to a score: full confidence keeps all of it."""
    return DOUBT + (1 - DOUBT) * memory.confidence


def _by_rank(gathered: Gathered) -> Ranking:
    best = len(gathered.arms) / (fuse.RANK_CONSTANT + 1)  # first in every arm
    scored = [
        (score / best, gathered.memories[seq])
        for seq, score in fuse.reciprocal_rank(gathered.arms).items()
        if seq in gathered.memories
    ]
    scored.sort(key=lambda pair: (-pair[0], pair[1].seq))
    memories = [memory for _, memory in scored]

    def reasons(place: int) -> Reasons:
        memory = memories[place]
        return Reasons(_found_by(gathered, memory), similarity=gathered.closeness(memory))

    return Ranking(memories, [score for score, _ in scored], reasons)


def _found_by(gathered: Gathered, memory: Memory) -> dict[str, int]:
    """The arms that found a memory, with its rank (from 1) in each."""
    return {
        name: order.index(memory.seq) + 1
        for name, order in gathered.arms.items()
        if memory.seq in order
    }


def demote_near_duplicates(
    memories: Sequence[Memory], wanted: int
) -> tuple[list[int], dict[int, int]]:
    """The places of the first `wanted` memories that differ, near-copies of better ones behind
    them.

    Also says which place each copy repeats.
    """
    distinct: list[int] = []
    copies: dict[int, int] = {}
    seen: dict[str, list[tuple[int, frozenset[str]]]] = {}
    for place, memory in enumerate(memories):
        if len(distinct) >= wanted:
            break
        words = frozenset(memory.content.casefold().split())
        longest = max(words, key=lambda word: (len(word), word), default="")
        twin = next(
            (other for other, others in seen.get(longest, ()) if near_copies(words, others)), None
        )
        if twin is None:
            distinct.append(place)
            seen.setdefault(longest, []).append((place, words))
        else:
            copies[place] = twin
    return distinct + list(copies), copies


def near_copies(words: frozenset[str], others: frozenset[str]) -> bool:
    """Whether two texts say the same. A number, a negation or an opposite that differs makes it
    another claim.
    """
    return len(words & others) >= NEAR_COPY * len(words | others) and not text.negation.contrasts(
        words, others
    )


def fit(hits: list[Hit], tokens: int | None) -> list[Hit]:
    """As many of the first hits as fit into a token budget."""
    if tokens is None:
        return hits
    used = 0
    kept = []
    for hit in hits:
        used += count_tokens(hit.memory.content)
        if used > tokens:
            break
        kept.append(hit)
    return kept
