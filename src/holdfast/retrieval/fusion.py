"""Fusion of many signals into one score.

The default is a weighted sum with learned weights that ship with the package, one set per
situation, because the value of words depends on whether vectors are available. Reciprocal rank
fusion is the alternative for scores without a common scale.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from operator import mul
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from ..text.tokens import ENGLISH
from ..types import Signal
from .features import CONSTANT, NAMES, Passage, tiers
from .query import Query

# From Cormack, Clarke and Büttcher, 2009.
RANK_CONSTANT = 60
LEXICAL = "lexical"
# Scores nearer to 0 or 1 are certain either way.
_LEAST_SCORE = 1e-6

# The features that rank come first, those that are equal for all passages last.
_RANKING = len(NAMES) - len(CONSTANT)
_CONSTANT = range(_RANKING, len(NAMES))

Item = TypeVar("Item", bound=Hashable)


class Weights(NamedTuple):
    """Weight of each feature in the order of `NAMES`, and the logistic function: 0.5 at
    `middle`.

    `answerable` tells questions with an answer from others: weights of the best passage's sum and
    of the features that are equal for all passages. Few questions with an answer reach less than
    `least`. Words alone cannot tell, so without vectors there are none.
    """

    values: tuple[float, ...]
    middle: float
    slope: float
    answerable: Mapping[str, float] = {}
    least: float = -math.inf


class DeepWeights(NamedTuple):
    """How the score of recall and that of the reranker become one: the weight of each, and the
    logistic function of the sum's share among its rivals, of the best score so far and of the
    reranker's best.
    """

    score: float
    reranker: float
    slope: float
    best_score: float
    best_reranker: float
    middle: float


def situation(
    query: Query,
    passages: Sequence[Passage],
    *,
    bundled: bool,
) -> str:
    """Return the name of the weights to use: the vector tiers that cover `passages`, or
    `lexical`, and the writing of a question that is not English.

    The bundled models know English best, so their vectors count for less in other languages. Of
    other models nothing is known; they are weighed alike in all.
    """
    covered = "+".join(tiers(passages))
    if not covered:
        return LEXICAL
    if not bundled or query.writing == ENGLISH:
        return covered
    return f"{covered} ({query.writing})"


@lru_cache(maxsize=16)
def weights(name: str) -> Weights:
    """Return the bundled weights for a situation."""
    one = _bundled()["situations"][name]
    values = tuple(float(one["weights"].get(feature, 0.0)) for feature in NAMES)
    answerable = dict(one.get("answerable", {"least": -math.inf}))
    least = answerable.pop("least")
    return Weights(values, float(one["middle"]), float(one["slope"]), answerable, least)


@lru_cache(maxsize=1)
def deep_weights() -> DeepWeights:
    """Return the bundled weights of deep recall."""
    return DeepWeights(**_bundled()["deep"])


def _bundled() -> dict[str, Any]:
    learned = json.loads(Path(__file__).with_name("weights.json").read_text("utf-8"))
    return cast("dict[str, Any]", learned)


def linear(matrix: Sequence[Sequence[float]], chosen: Weights) -> list[float]:
    """Return a score in [0, 1] per row, monotonic in the weighted sum of its features.

    It rests on the row's share among its rivals (softmax): of two equally good passages, each is
    less likely the answer than one that stands alone.
    """
    if not matrix:
        return []
    ranking = chosen.values[:_RANKING]
    # `map` ends with the shorter of the two.
    sums = [math.fsum(map(mul, row, ranking)) for row in matrix]
    known = math.fsum(matrix[0][place] * chosen.values[place] for place in _CONSTANT)
    return [logistic(chosen.slope * (one + known - chosen.middle)) for one in log_shares(sums)]


def deepened(
    scores: Sequence[float],
    read: Sequence[float],
    chosen: DeepWeights,
) -> list[float]:
    """Return a score in [0, 1] for each passage that the reranker has read, out of its score so
    far and the reranker's.
    """
    if not scores:
        return []
    before = [logit(score) for score in scores]
    sums = [
        chosen.score * one + chosen.reranker * other
        for one, other in zip(before, read, strict=True)
    ]
    known = chosen.best_score * max(before) + chosen.best_reranker * max(read) - chosen.middle
    return [logistic(chosen.slope * one + known) for one in log_shares(sums)]


def log_shares(sums: Sequence[float]) -> list[float]:
    """Return the logarithm of each one's share among its rivals (softmax)."""
    best = max(sums)
    rivals = best + math.log(math.fsum(math.exp(one - best) for one in sums))
    return [one - rivals for one in sums]


def logit(score: float) -> float:
    """Return the inverse of the logistic function, finite for 0 and 1."""
    inside = min(max(score, _LEAST_SCORE), 1 - _LEAST_SCORE)
    return math.log(inside / (1 - inside))


def logistic(value: float) -> float:
    """Return a number between 0 and 1; 0.5 for 0."""
    # In a form that cannot overflow.
    return 0.5 + 0.5 * math.tanh(value / 2)


def has_answer(matrix: Sequence[Sequence[float]], chosen: Weights) -> bool:
    """Whether the passages may answer the question at all."""
    total = chosen.answerable.get("sum", 0.0) * max(_ranking_sum(row, chosen) for row in matrix)
    for place in _CONSTANT:
        total += chosen.answerable.get(NAMES[place], 0.0) * matrix[0][place]
    return total >= chosen.least


def _ranking_sum(row: Sequence[float], chosen: Weights) -> float:
    # `map` ends with the shorter of the two.
    return math.fsum(map(mul, row, chosen.values[:_RANKING]))


def signals(row: Sequence[float], chosen: Weights) -> tuple[Signal, ...]:
    """Return the contribution of each feature that ranks to the sum of one row.

    The others are equal for all passages: they say nothing about this one.
    """
    named = zip(NAMES, row, chosen.values, strict=True)
    found = [Signal.of(name, float(value), weight) for name, value, weight in named]
    return tuple(found[:_RANKING])


def reciprocal_rank(rankings: Mapping[str, Sequence[Item]]) -> dict[Item, float]:
    """Return the sum of 1 / (60 + rank) over the rankings, ranks from 1; best first, ties in order
    of appearance.

    >>> list(reciprocal_rank({"words": ["a", "b"], "meaning": ["b"]}))
    ['b', 'a']
    """
    scores: dict[Item, float] = {}
    for ranking in rankings.values():
        for rank, item in enumerate(ranking, 1):
            scores[item] = scores.get(item, 0.0) + 1 / (RANK_CONSTANT + rank)
    return dict(sorted(scores.items(), key=lambda pair: -pair[1]))
