"""Fusion of many signals into one score.

The default is a weighted sum with learned weights that ship with the package, one set per
situation, because the value of words depends on whether vectors are available. Reciprocal rank
fusion is the alternative for scores without a common scale.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import mul
from pathlib import Path
from typing import NamedTuple, TypeVar

from ..text.tokens import ENGLISH
from ..types import Signal
from .features import NAMES, Passage, tiers
from .query import Query

# From Cormack, Clarke and Büttcher, 2009.
RANK_CONSTANT = 60
LEXICAL = "lexical"

Item = TypeVar("Item", bound=Hashable)


class Weights(NamedTuple):
    """Weight of each feature in the order of `NAMES`, and the logistic function: 0.5 at
    `middle`.
    """

    values: tuple[float, ...]
    middle: float
    slope: float


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
    learned = json.loads(Path(__file__).with_name("weights.json").read_text("utf-8"))
    one = learned["situations"][name]
    values = tuple(float(one["weights"].get(feature, 0.0)) for feature in NAMES)
    return Weights(values, float(one["middle"]), float(one["slope"]))


def linear(matrix: Iterable[Sequence[float]], chosen: Weights) -> list[float]:
    """Return a score in [0, 1] per row, monotonic in the weighted sum of its features."""
    sums = (sum(map(mul, row, chosen.values)) for row in matrix)
    # The logistic function in a form that cannot overflow.
    return [0.5 + 0.5 * math.tanh(chosen.slope * (one - chosen.middle) / 2) for one in sums]


def signals(row: Sequence[float], chosen: Weights) -> tuple[Signal, ...]:
    """Return the contribution of each feature to the sum of one row."""
    named = zip(NAMES, row, chosen.values, strict=True)
    return tuple(Signal(name, float(value), weight) for name, value, weight in named)


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
