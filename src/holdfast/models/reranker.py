"""The reranker: a small model that reads two texts together.

Given a question and a passage it scores the pair: slower than comparing vectors, because nothing
about a passage can be computed in advance, and better at telling the answer from what only sounds
like it. Given two statements of a person it says what the later one does to the earlier.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from .cross_encoder import CrossEncoder
from .embeddings import packs

# Tokens of each part that the model was trained to read.
QUESTION_TOKENS = 48
PASSAGE_TOKENS = 96
BEFORE_TOKENS = 32
EARLIER_TOKENS = 64
LATER_TOKENS = 96
# Pairs that are read at the same time, each by one thread: quicker than several threads for each.
AT_ONCE = min(4, os.cpu_count() or 1)


class Pair(NamedTuple):
    """A question, a passage, and the beginning of the turn before it, or an empty string."""

    question: str
    passage: str
    before: str = ""


class Reranker:
    """The reranker of a pack, ours unless another is named. Loaded once per process; about 9 ms a
    pair.
    """

    def __init__(self, pack: str = packs.RERANKER) -> None:
        self._model = CrossEncoder(pack)
        self.identity = self._model.identity

    def load(self) -> None:
        """Load the model now; an EmbedderError if that fails."""
        self._model.load()

    def scores(self, pairs: Iterable[Pair]) -> list[float]:
        """Return a score for each pair: higher is likelier, and only differences mean anything."""
        self.load()
        with ThreadPoolExecutor(AT_ONCE) as readers:
            return list(readers.map(self._score, pairs))

    def _score(self, pair: Pair) -> float:
        return float(self._model.read(*self._parts(pair))[0][0])

    def changes(self, earlier: str, later: str) -> list[float]:
        """Return the logarithms of the probabilities of what a later statement does to an earlier
        one, in the order of `extraction.similarity.changes.LABELS`.
        """
        tokens = self._model.tokens
        found = self._model.read(tokens(earlier, EARLIER_TOKENS), [tokens(later, LATER_TOKENS)])
        values = [float(value) for value in found[1][0]]
        whole = math.log(math.fsum(math.exp(value) for value in values))
        return [value - whole for value in values]

    def _parts(self, pair: Pair) -> tuple[list[int], list[list[int]]]:
        tokens = self._model.tokens
        passage = [tokens(pair.passage, PASSAGE_TOKENS)]
        if pair.before:
            passage.append(tokens(pair.before, BEFORE_TOKENS))
        return tokens(pair.question, QUESTION_TOKENS), passage
