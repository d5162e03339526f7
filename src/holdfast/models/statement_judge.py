"""What a small model says of a statement: is it worth keeping, is it correct and clear?

It learned from labelled statements of real conversations and reads each one whole, so it tells
"Two, at most three" from "My sister Ines moved to Porto" better than words and vectors do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .cross_encoder import CrossEncoder
from .embeddings import packs

# Tokens of a statement that the model was trained to read.
STATEMENT_TOKENS = 72


class Verdict(NamedTuple):
    """Likelihoods, as logarithms of the odds."""

    keep: float
    """That it is worth keeping."""
    correct: float
    """That it is correct and can be understood alone."""


class StatementJudge:
    """The model of our pack; about 7 ms a statement."""

    def __init__(self) -> None:
        self._model = CrossEncoder(packs.JUDGE)
        self.identity = self._model.identity

    def judge(self, statements: Iterable[str], place: str) -> list[Verdict]:
        """Judge statements by where they were made: to an `assistant`, between `people`, or in
        other `languages` than English.
        """
        beside = [self._model.tokens(place, STATEMENT_TOKENS)]
        return [self._read(statement, beside) for statement in statements]

    def _read(self, statement: str, beside: list[list[int]]) -> Verdict:
        keep, worth = self._model.read(self._model.tokens(statement, STATEMENT_TOKENS), beside)
        not_kept, kept = keep[0]
        useful, trivial, *others = worth[0]
        return Verdict(float(kept - not_kept), _odds((useful, trivial), others))


def _odds(some: Sequence[float], others: Sequence[float]) -> float:
    """How much likelier one of `some` is than one of the others."""
    return _together(some) - _together(others)


def _together(values: Sequence[float]) -> float:
    most = max(values)
    return float(most + math.log(math.fsum(math.exp(value - most) for value in values)))
