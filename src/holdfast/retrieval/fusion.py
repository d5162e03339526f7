"""One score out of many signals.

The default is a weighted sum with weights that were learned once and ship with the package; a set
for each situation, because what words are worth depends on whether vectors are there to help.
Reciprocal rank fusion is the alternative for scores without a common scale.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import mul
from pathlib import Path
from typing import NamedTuple, TypeVar

from ..types import Signal
from .features import NAMES, Passage, tiers

RANK_CONSTANT = 60  # Cormack, Clarke and Büttcher, 2009
LEXICAL = "lexical"

Item = TypeVar("Item", bound=Hashable)


class Weights(NamedTuple):
    """What each feature adds, in the order of `NAMES`, and how the sum is squeezed: one half at
    `middle`.
    """

    values: tuple[float, ...]
    middle: float
    slope: float


def situation(passages: Sequence[Passage]) -> str:
    """Which weights fit: the tiers of vectors that cover `passages`, or `lexical` when none
    does.
    """
    return "+".join(tiers(passages)) or LEXICAL


@lru_cache(maxsize=8)
def weights(name: str) -> Weights:
    """The shipped weights for a situation."""
    learned = json.loads(Path(__file__).with_name("weights.json").read_text("utf-8"))
    one = learned["situations"][name]
    values = tuple(float(one["weights"].get(feature, 0.0)) for feature in NAMES)
    return Weights(values, float(one["middle"]), float(one["slope"]))


def linear(matrix: Iterable[Sequence[float]], chosen: Weights) -> list[float]:
    """A score in [0, 1] per row, growing with the weighted sum of the row's features."""
    sums = (sum(map(mul, row, chosen.values)) for row in matrix)
    # The logistic, in a form that is safe for any sum.
    return [0.5 + 0.5 * math.tanh(chosen.slope * (one - chosen.middle) / 2) for one in sums]


def signals(row: Sequence[float], chosen: Weights) -> tuple[Signal, ...]:
    """What each feature of one row added to its sum."""
    named = zip(NAMES, row, chosen.values, strict=True)
    return tuple(Signal(name, float(value), weight) for name, value, weight in named)


def reciprocal_rank(rankings: Mapping[str, Sequence[Item]]) -> dict[Item, float]:
    """The sum of 1 / (60 + rank) over the rankings, ranks from 1; best first, ties in order of
    appearance.

    >>> list(reciprocal_rank({"words": ["a", "b"], "meaning": ["b"]}))
    ['b', 'a']
    """
    scores: dict[Item, float] = {}
    for ranking in rankings.values():
        for rank, item in enumerate(ranking, 1):
            scores[item] = scores.get(item, 0.0) + 1 / (RANK_CONSTANT + rank)
    return dict(sorted(scores.items(), key=lambda pair: -pair[1]))
