"""Features of candidates: one row per passage, one column per feature.

Computed from the question, the corpus statistics and the fetched passages; no store, no model, and
no numeric library, whose import takes longer than a few hundred passages take here. Scores are
relative to the best passage of the same question, so that one set of weights serves all questions.
Those of `CONSTANT` say how good the best passage is.

A turn often answers a question without repeating its words, because the previous turn did. So
neighbouring turns and the session count as evidence too: the shorter a turn, the more its
neighbours count. A memory without session, author or vector gets the neutral value of that feature.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ..storage.store_types import Candidate, Corpus
from ..text.tokens import QUESTION_MARKS
from ..types import DAY, Memory
from .query import Query

Column = list[float]
"""One number per passage."""
Matrix = list[tuple[float, ...]]
"""One row per passage, one number per feature."""

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
    "long question",  # logarithm of its words: a long text is a little like everything
    "size",  # logarithm of the memories searched: among many, something is always near
    "large",  # the part of it above `LARGE`, where more memories matter less
    "asks help",  # wants work or advice, which rarely is about what is known
)
# Equal for all passages of a question: they say how likely it has an answer, and cannot rank.
CONSTANT: Final = ("covered", "near", "long question", "size", "large", "asks help")
# Memories from which on a store counts as large.
LARGE: Final = 300
# Vector tiers a similarity may come from.
STATIC = "static"
ENCODER = "encoder"

# The usual BM25 constants.
_K1 = 1.2
_B = 0.75
# Neighbours that count: the turn before, the one before that, and the turn after. The weight of
# their words is relative to the passage's own.
_NEIGHBOURS = (2 / 3, 1 / 3, 1 / 3)
_USUAL_WINDOW = 1 + sum(_NEIGHBOURS)
# Occurrences that one of its kind counts as: "Prius" where a car is asked for.
_MEMBER = 0.3
# Terms of a neighbour that count; a long neighbour would dominate the passage.
_LONGEST_NEIGHBOUR = 60
# Terms from which a passage is understandable without neighbours.
_SELF_CONTAINED = 90
# Terms above which more length does not matter.
_FULL_LENGTH = 40
# Weight of a neighbour's similarity.
_MEANING_BEFORE = 0.3
_MEANING_AFTER = 0.2
# The encoder is the better model, so it counts twice.
_TIER_SHARES = {ENCODER: 2.0, STATIC: 1.0}
# How far the best similarity is above the mean where a question has an answer. Fewer passages than
# `_FEW` do not tell: of two, one is always as far below the mean as the other is above it.
_USUAL_SPREAD = 0.2
_FEW = 12
# Decay in days. People report events after they happened, so lateness decays more slowly.
_LATE = 7.0
_EARLY = 2.0
_TINY = 1e-9


class Passage(NamedTuple):
    """A fetched memory with its index terms and its cosine similarity to the question per tier.

    `similarity` lacks a tier in which the memory has no vector.
    """

    memory: Memory | Candidate
    terms: Sequence[str]
    similarity: Mapping[str, float]


def features(
    query: Query,
    corpus: Corpus,
    passages: Sequence[Passage],
) -> Matrix:
    """Return one row per passage, one column per name in `NAMES`.

    Neighbours are found by session and position among `passages`.
    """
    if not passages:
        return []
    neighbours = _neighbours(passages)
    sessions = _sessions(passages)
    words = _Words(query, corpus, passages)
    window = words.window(neighbours)
    similarities = tiers(passages)
    meaning = _meaning(similarities, len(passages))
    covered = min(max(window) / max(sum(words.idf.values()), _TINY), 1.0)
    columns = {
        "words": _scaled(window),
        "session words": _scaled(words.of_sessions(sessions)),
        "meaning": _helped(meaning, neighbours, words.openness),
        "session meaning": _best_of(sessions, meaning),
        "speaker": _speaker(query, passages),
        "date": _dates(query, passages),
        "answer type": _telling(query, passages),
        "length": _lengths(passages),
        "question": [
            float(passage.memory.content.rstrip().endswith(QUESTION_MARKS)) for passage in passages
        ],
        "covered": [covered] * len(passages),
        "near": [_nearest(similarities)] * len(passages),
        "long question": [math.log(1 + len(query.text.split()))] * len(passages),
        "size": [math.log(1 + corpus.size)] * len(passages),
        "large": [max(0.0, math.log((1 + corpus.size) / LARGE))] * len(passages),
        "asks help": [float(query.asks_help)] * len(passages),
    }
    return list(zip(*(columns[name] for name in NAMES), strict=True))


def tiers(passages: Sequence[Passage]) -> dict[str, list[float | None]]:
    """Return the similarities of the tiers in which most passages have a vector, best tier first;
    None for a missing vector.

    During re-embedding, a few memories with better vectors cannot be compared with the rest.
    """
    near = [passage.similarity for passage in passages]
    found = {tier: [one.get(tier) for one in near] for tier in _TIER_SHARES}
    return {
        tier: values for tier, values in found.items() if values.count(None) * 2 < len(passages)
    }


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


Counts = dict[str, float]
"""Occurrences of the question's terms; absent terms are left out."""
_NONE: Counts = {}
Near = Sequence[int | None]
"""Rows of a passage's neighbours, in the order of `_NEIGHBOURS`; empty outside of a session."""


class _Words:
    """Occurrences of the question's terms in each passage, in total and in its first 60 terms."""

    def __init__(
        self,
        query: Query,
        corpus: Corpus,
        passages: Sequence[Passage],
    ) -> None:
        self.idf = {term: _idf(corpus, term) for term in query.terms}
        members = query.members
        self._counts = [_counts(self.idf, members, passage.terms) for passage in passages]
        self._lengths = [len(passage.terms) for passage in passages]
        self._cut = [
            counts
            if length <= _LONGEST_NEIGHBOUR
            else _counts(self.idf, members, passage.terms[:_LONGEST_NEIGHBOUR])
            for counts, length, passage in zip(self._counts, self._lengths, passages, strict=True)
        ]
        self._mean_length = max(corpus.mean_length, 1.0)
        self.openness = [
            1 - length / _SELF_CONTAINED if length < _SELF_CONTAINED else 0.0
            for length in self._lengths
        ]
        """How much each passage depends on its neighbours: 1 if it is empty, 0 if it is
        self-contained.
        """

    def window(self, neighbours: Sequence[Near]) -> Column:
        """Return the BM25 score of each passage together with its neighbours, whose terms count
        for as much as the passage depends on them.
        """
        usual = _USUAL_WINDOW * min(self._mean_length, _LONGEST_NEIGHBOUR)
        idf = self.idf
        cut = self._cut
        capped = [min(length, _LONGEST_NEIGHBOUR) for length in self._lengths]
        scores = []
        # One loop without calls: this is where ranking takes most of its time.
        for counts, own, openness, near in zip(
            self._counts, self._lengths, self.openness, neighbours, strict=True
        ):
            together = counts
            length = float(own)
            for other, weight in zip(near, _NEIGHBOURS, strict=False):
                if other is None:
                    continue
                share = weight * openness
                length += share * capped[other]
                if there := cut[other]:
                    if together is counts:
                        together = counts.copy()
                    for term, count in there.items():
                        together[term] = together.get(term, 0.0) + share * count
            if not together:
                scores.append(0.0)
                continue
            softly = _K1 * (1 - _B + _B * (length / usual))
            scores.append(
                sum([idf[term] * (count / (count + softly)) for term, count in together.items()])
            )
        return scores

    def of_sessions(self, sessions: Sequence[int]) -> Column:
        """Return a score per session in which each term counts once, where it is densest."""
        best: dict[int, dict[str, float]] = {number: {} for number in sessions}
        for number, counts, length in zip(sessions, self._counts, self._lengths, strict=True):
            if not counts:
                continue
            session = best[number]
            softly = _softness(length / self._mean_length)
            for term, count in counts.items():
                if (value := count / (count + softly)) > session.get(term, 0.0):
                    session[term] = value
        sums = {
            number: sum(self.idf[term] * value for term, value in terms.items())
            for number, terms in best.items()
        }
        return [sums[number] for number in sessions]


def _counts(
    wanted: Mapping[str, float],
    members: Mapping[str, str],
    terms: Sequence[str],
) -> Counts:
    """Count the wanted terms. One that is absent counts for a little where something of its kind is
    named.
    """
    counts = _occurrences(wanted, terms)
    if not members or members.keys().isdisjoint(terms):
        return counts
    kinds = set(map(members.get, terms))
    # In question order, as below.
    return {term: counts.get(term, _MEMBER) for term in wanted if term in counts or term in kinds}


def _occurrences(wanted: Mapping[str, float], terms: Sequence[str]) -> Counts:
    found = list(filter(wanted.__contains__, terms))
    if not found:
        return _NONE
    # In question order: sums in another order could differ in the last digit.
    return {term: found.count(term) for term in wanted if term in found}


def _idf(corpus: Corpus, term: str) -> float:
    frequency = corpus.frequency.get(term, 0)
    return math.log(1 + max(corpus.size - frequency + 0.5, 0.5) / (frequency + 0.5))


def _softness(relative_length: float) -> float:
    """Return the occurrences at which a term gets half of its weight in a text of this length."""
    return _K1 * (1 - _B + _B * relative_length)


def _neighbours(passages: Sequence[Passage]) -> list[Near]:
    """Return for each passage the rows of its neighbours in the session."""
    sessions: dict[str | None, dict[int | None, int]] = {}
    for row, (memory, _, _) in enumerate(passages):
        sessions.setdefault(memory.session, {})[memory.position] = row
    found: list[Near] = []
    for memory, _, _ in passages:
        at = memory.position
        if at is None or not memory.session:
            found.append(())
        else:
            get = sessions[memory.session].get
            found.append((get(at - 1), get(at - 2), get(at + 1)))
    return found


def _sessions(passages: Sequence[Passage]) -> list[int]:
    """Return a session number for each passage; a memory without session is its own session."""
    numbers: dict[str | int, int] = {}
    return [
        numbers.setdefault(p.memory.session or row, len(numbers)) for row, p in enumerate(passages)
    ]


def _scaled(scores: Column) -> Column:
    """Return the scores relative to the best passage."""
    best = max(*scores, _TINY)
    return [score / best for score in scores]


def _meaning(similarities: Mapping[str, Sequence[float | None]], size: int) -> Column:
    """Return the similarity over all tiers: 0 for the mean passage, 1 for the best. Among a few
    passages of about equal similarity none gets 1, so that they stay close to each other.

    The static tier counts besides the encoder, because it reads long texts to the end.
    """
    total = [0.0] * size
    shares = [0.0] * size
    for tier, values in similarities.items():
        known = _known(values)
        share = _TIER_SHARES[tier]
        middle = math.fsum(known) / len(known)
        least = _USUAL_SPREAD if len(known) < _FEW else _TINY
        above = max(max(known) - middle, least)
        for row, value in enumerate(values):
            if value is not None:
                total[row] += share * (value - middle) / above
                shares[row] += share
    return [added / of if of else 0.0 for added, of in zip(total, shares, strict=True)]


def _helped(
    meaning: Column,
    neighbours: Sequence[Near],
    openness: Column,
) -> Column:
    """Add the similarity of the previous and the next turn."""
    helped = list(meaning)
    for row, near in enumerate(neighbours):
        if near:
            before, _, after = near
            if before is not None:
                helped[row] += openness[row] * _MEANING_BEFORE * meaning[before]
            if after is not None:
                helped[row] += openness[row] * _MEANING_AFTER * meaning[after]
    return helped


def _nearest(similarities: Mapping[str, Sequence[float | None]]) -> float:
    best = next(iter(similarities.values()), None)
    if best is None:
        return 0.0
    return max(_known(best))


def _best_of(sessions: Sequence[int], values: Column) -> Column:
    best: dict[int, float] = {}
    for number, value in zip(sessions, values, strict=True):
        if value > best.get(number, -math.inf):
            best[number] = value
    return [best[number] for number in sessions]


def _speaker(query: Query, passages: Sequence[Passage]) -> Column:
    """1 for statements by the person the question is about, 0 for those of others, 0.5 if the
    speaker is unknown.
    """
    if not query.authors and not query.roles:
        return [0.0] * len(passages)
    return [_said_by(query, passage) for passage in passages]


def _said_by(query: Query, passage: Passage) -> float:
    if query.authors:
        if author := passage.memory.author.casefold():
            return float(author in query.authors)
        # A fact that names the person counts as being about them.
        if query.names.isdisjoint(passage.terms):
            return 0.5
        return 1.0
    if passage.memory.role:
        return float(passage.memory.role in query.roles)
    return 0.5


def _telling(query: Query, passages: Sequence[Passage]) -> Column:
    if not query.telling:
        return [0.0] * len(passages)
    return [float(not query.telling.isdisjoint(passage.terms)) for passage in passages]


def _dates(query: Query, passages: Sequence[Passage]) -> Column:
    if not query.spans:
        return [0.0] * len(passages)
    return [_closeness(query, passage.memory.event_time) for passage in passages]


def _closeness(query: Query, at: float) -> float:
    """1 within a span that the question names, decaying with the days outside it."""
    return max((_near_span(at - span.end, span.start - at) for span in query.spans), default=0.0)


def _near_span(late: float, early: float) -> float:
    return math.exp(-max(late, 0) / DAY / _LATE - max(early, 0) / DAY / _EARLY)


def _lengths(passages: Sequence[Passage]) -> Column:
    """Score the lengths: short turns ("Thanks!") say little. Facts and rules are short on purpose
    and always get 1.
    """
    return [
        len(terms) / _FULL_LENGTH if memory.kind == "turn" and len(terms) < _FULL_LENGTH else 1.0
        for memory, terms, _ in passages
    ]
