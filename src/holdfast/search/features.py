"""What speaks for a candidate, as numbers: one row per passage, one column per feature.

Everything is computed from the question, the corpus statistics and the fetched passages; no store, no model.
Scores are scaled by the best passage of the same question, so that one set of weights serves all questions.

A turn of a conversation often answers a question without repeating its words, because the turn before did. So
lexical evidence is also taken over a window of neighbouring turns and over the session. A memory without
session, author or vector gets the neutral value of what it lacks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..types import Memory
from .query import Query

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]

NAMES: Final = (
    "words",  # BM25 of the passage itself
    "window",  # BM25 of the passage with its neighbours
    "session words",  # how much of the question the passage's session covers
    "meaning",  # similarity of the passage's vector
    "session meaning",  # best similarity within the passage's session
    "speaker",  # said by the person the question is about
    "date",  # happened when the question says
    "length",  # too short to say much
    "question",  # asks rather than answers
)
STATIC, ENCODER = "static", "encoder"  # the tiers of vectors a similarity may come from

_K1, _B = 1.2, 0.75  # BM25's usual constants
_OWN, _PREVIOUS, _SECOND, _NEXT = 3.0, 2.0, 1.0, 1.0  # weight of each turn in the window
_LONGEST_NEIGHBOUR = 60  # tokens: a long neighbour would drown the passage
_FULL_LENGTH = 15  # tokens from which a passage counts as long enough to say something
_LATE, _EARLY = 7.0, 2.0  # days; people tell of things after they happened, so lateness fades slowly
_DAY = 86_400_000_000
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Corpus:
    """The scope as a whole: how many memories, their mean length in terms, and how many hold each query term."""

    size: int
    mean_length: float
    frequency: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Passage:
    """A fetched memory: its index terms, and per tier the cosine similarity to the question's vector.

    A tier in which the memory has no vector is left out of `similarity`.
    """

    memory: Memory
    terms: Sequence[str]
    similarity: Mapping[str, float]


def features(query: Query, corpus: Corpus, passages: Sequence[Passage]) -> Matrix:
    """One row per passage, one column per name in `NAMES`.

    Neighbours are recognised by session and position among `passages` themselves.
    """
    if not passages:
        return np.zeros((0, len(NAMES)))
    before, second, after = (_neighbours(passages, step) for step in (-1, -2, 1))
    sessions = _sessions(passages)
    words = _Words.of(query, corpus, passages)
    window = words.window(before, second, after)
    meaning = _meaning(passages)
    return np.column_stack(
        [
            _scaled(words.own()),
            _scaled(window),
            _scaled(words.of_sessions(sessions)),
            meaning,
            _best_of(sessions, meaning),
            _speaker(query, passages),
            _date(query, passages),
            np.minimum(words.lengths / _FULL_LENGTH, 1.0),
            np.array([passage.memory.content.rstrip().endswith(("?", "？", "؟")) for passage in passages], dtype=float),
        ]
    )


@dataclass(frozen=True, slots=True)
class _Words:
    """Counts of the query's terms: `counts` in whole passages, `cut` in their first 60 terms."""

    idf: Matrix
    counts: Matrix
    cut: Matrix
    lengths: Matrix
    mean_length: float

    @classmethod
    def of(cls, query: Query, corpus: Corpus, passages: Sequence[Passage]) -> _Words:
        column = {term: place for place, term in enumerate(query.terms)}
        counts = np.zeros((len(passages), len(column)))
        cut = np.zeros_like(counts)
        for row, passage in enumerate(passages):
            for place, term in enumerate(passage.terms):
                if term in column:
                    counts[row, column[term]] += 1
                    if place < _LONGEST_NEIGHBOUR:
                        cut[row, column[term]] += 1
        lengths = np.array([len(passage.terms) for passage in passages], dtype=float)
        idf = np.array([_idf(corpus, term) for term in query.terms])
        return cls(idf, counts, cut, lengths, max(corpus.mean_length, 1.0))

    def own(self) -> Matrix:
        return self._saturated(self.counts, self.lengths / self.mean_length) @ self.idf

    def window(self, before: Indices, second: Indices, after: Indices) -> Matrix:
        """BM25 of own words × 3, previous × 2, second previous and next × 1."""
        counts, lengths = _OWN * self.counts, _OWN * self.lengths
        cut, cut_lengths = _padded(self.cut), _padded(np.minimum(self.lengths, _LONGEST_NEIGHBOUR))
        for weight, neighbour in ((_PREVIOUS, before), (_SECOND, second), (_NEXT, after)):
            counts = counts + weight * cut[neighbour]
            lengths = lengths + weight * cut_lengths[neighbour]
        usual = (_OWN + _PREVIOUS + _SECOND + _NEXT) * min(self.mean_length, _LONGEST_NEIGHBOUR)
        return self._saturated(counts / _OWN, lengths / usual) @ self.idf

    def of_sessions(self, sessions: Indices) -> Matrix:
        """Each term counts once per session, where it is densest."""
        saturated = self._saturated(self.counts, self.lengths / self.mean_length)
        best = np.zeros((int(sessions.max()) + 1, saturated.shape[1]))
        np.maximum.at(best, sessions, saturated)
        found: Matrix = (best @ self.idf)[sessions]
        return found

    def _saturated(self, counts: Matrix, relative_length: Matrix) -> Matrix:
        return counts / (counts + _K1 * (1 - _B + _B * relative_length)[:, None])


def _idf(corpus: Corpus, term: str) -> float:
    frequency = corpus.frequency.get(term, 0)
    return math.log(1 + max(corpus.size - frequency + 0.5, 0.5) / (frequency + 0.5))


def _padded(values: Matrix) -> Matrix:
    """With a row of zeros at the end, which index -1 (no neighbour) points at."""
    return np.concatenate([values, np.zeros((1, *values.shape[1:]))])


def _neighbours(passages: Sequence[Passage], step: int) -> Indices:
    """For each passage the row of the one `step` positions further in its session, or -1."""
    rows = {(p.memory.session, p.memory.position): row for row, p in enumerate(passages) if p.memory.session}
    places = ((p.memory.session, p.memory.position) for p in passages)
    return np.array(
        [rows.get((session, at + step), -1) if session and at is not None else -1 for session, at in places],
        dtype=np.intp,
    )


def _sessions(passages: Sequence[Passage]) -> Indices:
    """A number per session; a memory without one is a session of its own."""
    numbers: dict[object, int] = {}
    return np.array(
        [numbers.setdefault(p.memory.session or row, len(numbers)) for row, p in enumerate(passages)], dtype=np.intp
    )


def _scaled(scores: Matrix) -> Matrix:
    """Relative to the best passage."""
    return scores / max(float(scores.max(initial=0.0)), _TINY)


def _meaning(passages: Sequence[Passage]) -> Matrix:
    """Similarity in the best tier there is: 0 for the mean passage, 1 for the best; 0 where there is no vector."""
    for tier in (ENCODER, STATIC):
        values = np.array([p.similarity.get(tier, math.nan) for p in passages])
        known = values[~np.isnan(values)]
        if known.size:
            spread = max(float(known.max() - known.mean()), _TINY)
            return np.nan_to_num((values - known.mean()) / spread, nan=0.0)
    return np.zeros(len(passages))


def _best_of(sessions: Indices, values: Matrix) -> Matrix:
    best = np.full(int(sessions.max()) + 1, -np.inf)
    np.maximum.at(best, sessions, values)
    found: Matrix = best[sessions]
    return found


def _speaker(query: Query, passages: Sequence[Passage]) -> Matrix:
    """1 for the words of whom the question is about, 0 for another's, between them when nobody is known."""
    if not query.authors and not query.roles:
        return np.zeros(len(passages))
    return np.array([_said_by(query, passage.memory) for passage in passages])


def _said_by(query: Query, memory: Memory) -> float:
    wanted, said = (query.authors, memory.author.casefold()) if query.authors else (query.roles, memory.role)
    if not said:
        return 0.5
    return float(said in wanted)


def _date(query: Query, passages: Sequence[Passage]) -> Matrix:
    """1 inside a span the question names, fading with the days outside it."""
    at = np.array([passage.memory.event_time for passage in passages], dtype=float)
    closeness = np.zeros(len(passages))
    for span in query.spans:
        late = np.maximum(at - span.end, 0) / _DAY
        early = np.maximum(span.start - at, 0) / _DAY
        closeness = np.maximum(closeness, np.exp(-late / _LATE - early / _EARLY))
    return closeness
