"""What speaks for a candidate, as numbers: one row per passage, one column per feature.

Everything is computed from the question, the corpus statistics and the fetched passages; no store, no model.
Scores are scaled by the best passage of the same question, so that one set of weights serves all questions;
`covered` and `near` are the same for all passages of a question and say how good that best one is.

A turn of a conversation often answers a question without repeating its words, because the turn before did. So
evidence is also taken from the neighbouring turns and from the session: the shorter a turn, the more it leans
on its neighbours. A memory without session, author or vector gets the neutral value of what it lacks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..store.base import Corpus
from ..types import Memory
from .query import Query

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]

NAMES: Final = (
    "words",  # BM25 of the passage with its neighbours
    "session words",  # how much of the question the passage's session covers
    "meaning",  # similarity of the passage's vector, helped by its neighbours'
    "session meaning",  # best similarity within the passage's session
    "speaker",  # said by the person the question is about
    "date",  # happened when the question says
    "answer type",  # tells a time where the question asks when, a number where it asks how many
    "length",  # not a turn too short to say something
    "question",  # asks rather than answers
    "covered",  # share of the question's words that the best passage covers
    "near",  # similarity of the nearest passage
)
STATIC, ENCODER = "static", "encoder"  # the tiers of vectors a similarity may come from

_K1, _B = 1.2, 0.75  # BM25's usual constants
_NEIGHBOURS = ((-1, 2 / 3), (-2, 1 / 3), (1, 1 / 3))  # step in the session, weight of its words beside our own
_USUAL_WINDOW = 1 + sum(weight for _, weight in _NEIGHBOURS)
_LONGEST_NEIGHBOUR = 60  # terms: a long neighbour would drown the passage
_SELF_CONTAINED = 90  # terms from which a passage needs no neighbours to be understood
_FULL_LENGTH = 40  # terms from which more length says nothing more
_MEANING_BEFORE, _MEANING_AFTER = 0.3, 0.2  # what a neighbour's similarity adds
_TIER_SHARES = {ENCODER: 2.0, STATIC: 1.0}
_LATE, _EARLY = 7.0, 2.0  # days; people tell of things after they happened, so lateness fades slowly
_DAY = 86_400_000_000
_TINY = 1e-9
_QUESTION_MARKS = ("?", "？", "؟")


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
    neighbours = _neighbours(passages)
    sessions = _sessions(passages)
    words = _Words.of(query, corpus, passages)
    window = words.window(neighbours)
    similarities = tiers(passages)
    meaning = _meaning(similarities, len(passages))
    constant = np.ones(len(passages))
    columns = {
        "words": _scaled(window),
        "session words": _scaled(words.of_sessions(sessions)),
        "meaning": _helped(meaning, neighbours, words.openness()),
        "session meaning": _best_of(sessions, meaning),
        "speaker": _speaker(query, passages),
        "date": _date(query, passages),
        "answer type": _answer_type(query, passages),
        "length": _length(words.lengths, passages),
        "question": np.array([float(p.memory.content.rstrip().endswith(_QUESTION_MARKS)) for p in passages]),
        "covered": constant * min(float(window.max()) / max(float(words.idf.sum()), _TINY), 1.0),
        "near": constant * _nearest(similarities),
    }
    return np.column_stack([columns[name] for name in NAMES])


def tiers(passages: Sequence[Passage]) -> dict[str, Matrix]:
    """The similarities per tier that most of `passages` have a vector in, best tier first; NaN where one lacks.

    While memories are being embedded anew, a handful with better vectors cannot be compared with the rest.
    """
    found = {tier: np.array([p.similarity.get(tier, math.nan) for p in passages]) for tier in _TIER_SHARES}
    return {tier: values for tier, values in found.items() if np.isfinite(values).sum() * 2 > len(passages)}


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
        counts = _counts(column, [passage.terms for passage in passages])
        lengths = np.array([len(passage.terms) for passage in passages], dtype=float)
        cut = counts.copy()
        long = np.flatnonzero(lengths > _LONGEST_NEIGHBOUR).tolist()
        cut[long] = _counts(column, [passages[row].terms[:_LONGEST_NEIGHBOUR] for row in long])
        idf = np.array([_idf(corpus, term) for term in query.terms])
        return cls(idf, counts, cut, lengths, max(corpus.mean_length, 1.0))

    def openness(self) -> Matrix:
        """How much each passage leans on its neighbours: 1 for an empty one, 0 for a self-contained one."""
        return np.clip(1 - self.lengths / _SELF_CONTAINED, 0.0, 1.0)

    def window(self, neighbours: Mapping[int, Indices]) -> Matrix:
        """BM25 of each passage together with its neighbours."""
        openness, counts, lengths = self.openness(), self.counts, self.lengths
        cut, cut_lengths = _padded(self.cut), _padded(np.minimum(self.lengths, _LONGEST_NEIGHBOUR))
        for step, weight in _NEIGHBOURS:
            rows, share = neighbours[step], weight * openness
            counts = counts + share[:, None] * cut[rows]
            lengths = lengths + share * cut_lengths[rows]
        usual = _USUAL_WINDOW * min(self.mean_length, _LONGEST_NEIGHBOUR)
        return _saturated(counts, lengths / usual) @ self.idf

    def of_sessions(self, sessions: Indices) -> Matrix:
        """Each term counts once per session, where it is densest."""
        saturated = _saturated(self.counts, self.lengths / self.mean_length)
        best = np.zeros((int(sessions.max()) + 1, saturated.shape[1]))
        np.maximum.at(best, sessions, saturated)
        found: Matrix = (best @ self.idf)[sessions]
        return found


def _counts(column: Mapping[str, int], texts: Sequence[Sequence[str]]) -> Matrix:
    """How often each term occurs in each text; filled in one go, because single cells are slow to set."""
    wanted = frozenset(column)
    found = ((row, term) for row, text in enumerate(texts) for term in wanted.intersection(text))
    hits = [(row, column[term], texts[row].count(term)) for row, term in found]
    counts = np.zeros((len(texts), len(column)))
    if hits:
        rows, columns, values = zip(*hits, strict=True)
        counts[rows, columns] = values
    return counts


def _idf(corpus: Corpus, term: str) -> float:
    frequency = corpus.frequency.get(term, 0)
    return math.log(1 + max(corpus.size - frequency + 0.5, 0.5) / (frequency + 0.5))


def _saturated(counts: Matrix, relative_length: Matrix) -> Matrix:
    return counts / (counts + _K1 * (1 - _B + _B * relative_length)[:, None])


def _padded(values: Matrix) -> Matrix:
    """With a row of zeros at the end, which index -1 (no neighbour) points at."""
    return np.concatenate([values, np.zeros((1, *values.shape[1:]))])


def _neighbours(passages: Sequence[Passage]) -> dict[int, Indices]:
    """Per step, for each passage the row of the one so many positions further in its session, or -1."""
    places = [(p.memory.session, p.memory.position) for p in passages]
    rows = {place: row for row, place in enumerate(places) if place[0]}
    return {
        step: np.array([-1 if at is None else rows.get((session, at + step), -1) for session, at in places], np.intp)
        for step, _ in _NEIGHBOURS
    }


def _sessions(passages: Sequence[Passage]) -> Indices:
    """A number per session; a memory without one is a session of its own."""
    numbers: dict[str | int, int] = {}
    found = [numbers.setdefault(p.memory.session or row, len(numbers)) for row, p in enumerate(passages)]
    return np.array(found, dtype=np.intp)


def _scaled(scores: Matrix) -> Matrix:
    """Relative to the best passage."""
    return scores / max(float(scores.max()), _TINY)


def _meaning(similarities: Mapping[str, Matrix], size: int) -> Matrix:
    """Similarity over the tiers: 0 for the mean passage, 1 for the best.

    The static tier has a say beside the encoder, because it reads long texts to their end.
    """
    total, shares = np.zeros(size), np.zeros(size)
    for tier, values in similarities.items():
        known = np.isfinite(values)
        middle, best = float(values[known].mean()), float(values[known].max())
        total[known] += _TIER_SHARES[tier] * (values[known] - middle) / max(best - middle, _TINY)
        shares[known] += _TIER_SHARES[tier]
    return total / np.maximum(shares, _TINY)


def _helped(meaning: Matrix, neighbours: Mapping[int, Indices], openness: Matrix) -> Matrix:
    """With the similarity of the turn before and the turn after."""
    padded = _padded(meaning)
    help_given = _MEANING_BEFORE * padded[neighbours[-1]] + _MEANING_AFTER * padded[neighbours[1]]
    return meaning + openness * help_given


def _nearest(similarities: Mapping[str, Matrix]) -> float:
    best = next(iter(similarities.values()), None)
    return 0.0 if best is None else float(np.nanmax(best))


def _best_of(sessions: Indices, values: Matrix) -> Matrix:
    best = np.full(int(sessions.max()) + 1, -np.inf)
    np.maximum.at(best, sessions, values)
    found: Matrix = best[sessions]
    return found


def _speaker(query: Query, passages: Sequence[Passage]) -> Matrix:
    """1 for the words of whom the question is about, 0 for another's, between them when nobody is known."""
    if not query.authors and not query.roles:
        return np.zeros(len(passages))
    return np.array([_said_by(query, passage) for passage in passages])


def _said_by(query: Query, passage: Passage) -> float:
    if query.authors:
        if author := passage.memory.author.casefold():
            return float(author in query.authors)
        return 0.5 if query.names.isdisjoint(passage.terms) else 1.0  # a fact that names the person is about them
    return float(passage.memory.role in query.roles) if passage.memory.role else 0.5


def _date(query: Query, passages: Sequence[Passage]) -> Matrix:
    """1 inside a span the question names, fading with the days outside it."""
    at = np.array([passage.memory.event_time for passage in passages], dtype=float)
    closeness = np.zeros(len(passages))
    for span in query.spans:
        late = np.maximum(at - span.end, 0) / _DAY
        early = np.maximum(span.start - at, 0) / _DAY
        closeness = np.maximum(closeness, np.exp(-late / _LATE - early / _EARLY))
    return closeness


def _length(lengths: Matrix, passages: Sequence[Passage]) -> Matrix:
    """Short turns ("Thanks!") say little; a fact or rule was written to be short and is not held to it."""
    turns = np.array([passage.memory.kind == "turn" for passage in passages])
    return np.where(turns, np.minimum(lengths / _FULL_LENGTH, 1.0), 1.0)


def _answer_type(query: Query, passages: Sequence[Passage]) -> Matrix:
    if not query.telling:
        return np.zeros(len(passages))
    return np.array([float(not query.telling.isdisjoint(passage.terms)) for passage in passages])
