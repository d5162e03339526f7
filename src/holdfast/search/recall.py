"""Recall: from a question to hits, best first, each with its reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..models.tiers import Tiers
from ..store.base import Filter, Store
from ..store.rows import content_hash, indexed_text
from ..text.budget import count_tokens
from ..text.tokens import index_terms
from ..types import Clock, Hit, Memory, Reasons
from . import fuse
from .arms import Gathered, gather
from .features import Passage, features
from .query import Query, analyse

NEAR_COPY = 0.9  # share of words two texts must have in common to count as the same thing said twice
DOUBT = 0.5  # what a memory of no confidence at all keeps of its score


@dataclass(frozen=True, slots=True)
class Engine:
    """What a recall works with."""

    store: Store
    tiers: Tiers
    clock: Clock
    fusion: str = "learned"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, of which memories, and how much may come back."""

    text: str
    where: Filter
    limit: int = 10
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Recall:
    """A finished recall: the hits, and what every stage before them saw."""

    hits: list[Hit]
    gathered: Gathered
    ranked: list[Hit] = field(default_factory=list)
    copies: Mapping[int, int] = field(default_factory=dict)


def recall(engine: Engine, question: Question) -> Recall:
    """Memories that help answer the question, best first. Any text is legal; one without words finds nothing."""
    query = understand(engine, question)
    gathered = gather(engine.store, engine.tiers, query, question.where) if asks_something(query) else _nothing(query)
    ranked = rank(engine, gathered)
    distinct, copies = last_the_copies(ranked)
    return Recall(fit(distinct[: question.limit], question.tokens), gathered, distinct, copies)


def understand(engine: Engine, question: Question) -> Query:
    """The question, analysed as asked now, or at the time whose knowledge it asks for."""
    now = engine.clock() if question.where.as_of is None else question.where.as_of
    return analyse(question.text, now, authors=engine.store.authors(question.where.scopes))


def asks_something(query: Query) -> bool:
    """Whether there is anything to look for: words that mean something, or a time."""
    return bool(query.terms or query.spans)


def _nothing(query: Query) -> Gathered:
    from ..store.base import Corpus

    return Gathered(query, Corpus(0, 0.0), {}, {}, {})


def rank(engine: Engine, gathered: Gathered) -> list[Hit]:
    """Every candidate as a hit, best first, ties in insertion order."""
    if not gathered.memories:
        return []
    if engine.fusion == "rrf":
        return _by_rank(gathered)
    return _by_weight(gathered)


def _by_weight(gathered: Gathered) -> list[Hit]:
    memories = list(gathered.memories.values())
    passages = [Passage(memory, _terms(memory), gathered.similarity[memory.seq]) for memory in memories]
    matrix = features(gathered.query, gathered.corpus, passages)
    chosen = fuse.weights(fuse.situation(passages))
    scores = fuse.linear(matrix, chosen) * _trusted(memories)
    places = _places(gathered.arms)
    model = ", ".join(view.model for view in gathered.views)
    order = np.lexsort(([memory.seq for memory in memories], -scores))
    return [
        Hit(
            memories[i],
            float(scores[i]),
            Reasons(places.get(memories[i].seq, {}), fuse.signals(matrix[i].tolist(), chosen), model),
        )
        for i in order
    ]


def _terms(memory: Memory) -> list[str]:
    return index_terms(indexed_text(memory.title, memory.content, memory.tags))


def _trusted(memories: Sequence[Memory]) -> Any:
    """What confidence does to a score: full confidence keeps all of it."""
    return np.array([DOUBT + (1 - DOUBT) * memory.confidence for memory in memories])


def _by_rank(gathered: Gathered) -> list[Hit]:
    fused = fuse.reciprocal_rank(gathered.arms)
    places = _places(gathered.arms)
    best = len(gathered.arms) / (fuse.RANK_CONSTANT + 1)  # first in every arm
    hits = [
        Hit(gathered.memories[seq], score / best, Reasons(places[seq]))
        for seq, score in fused.items()
        if seq in gathered.memories
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.memory.seq))


def _places(arms: Mapping[str, list[int]]) -> dict[int, dict[str, int]]:
    """For each memory, its rank (from 1) in the arms that found it."""
    places: dict[int, dict[str, int]] = {}
    for name, order in arms.items():
        for rank_, seq in enumerate(order, start=1):
            places.setdefault(seq, {})[name] = rank_
    return places


def last_the_copies(hits: Iterable[Hit]) -> tuple[list[Hit], dict[int, int]]:
    """The hits with near-copies of better ones moved to the end, and which hit each copies (by `seq`)."""
    distinct: list[Hit] = []
    copies: list[Hit] = []
    of: dict[int, int] = {}
    by_hash: dict[bytes, int] = {}
    by_rare_word: dict[str, list[tuple[int, set[str]]]] = {}
    for hit in hits:
        seq, mark = hit.memory.seq, content_hash(hit.memory.content)
        words = set(hit.memory.content.casefold().split())
        twin = by_hash.get(mark) or _near(words, by_rare_word)
        if twin is not None:
            of[seq] = twin
            copies.append(hit)
            continue
        distinct.append(hit)
        by_hash[mark] = seq
        if words:
            by_rare_word.setdefault(max(words, key=lambda word: (len(word), word)), []).append((seq, words))
    return distinct + copies, of


def _near(words: set[str], by_rare_word: Mapping[str, list[tuple[int, set[str]]]]) -> int | None:
    """A better hit with nearly the same words. Two such texts share their longest word, or do not count."""
    if not words:
        return None
    for seq, others in by_rare_word.get(max(words, key=lambda word: (len(word), word)), ()):
        if len(words & others) >= NEAR_COPY * len(words | others) and _same_claim(words, others):
            return seq
    return None


def _same_claim(words: set[str], others: set[str]) -> bool:
    """A number or a negation that differs makes it another claim, however alike the rest is."""
    differing = words ^ others
    return not any(any(ch.isdigit() for ch in word) or word in _NEGATIONS for word in differing)


_NEGATIONS = frozenset("not no never don't doesn't isn't won't can't kein nicht nie no nunca pas jamais не нет".split())


def fit(hits: list[Hit], tokens: int | None) -> list[Hit]:
    """As many of the first hits as fit into a token budget."""
    if tokens is None:
        return hits
    used, kept = 0, []
    for hit in hits:
        used += count_tokens(hit.memory.content)
        if used > tokens:
            break
        kept.append(hit)
    return kept
