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
from typing import TYPE_CHECKING, NamedTuple

from ..errors import EmbedderError
from ..floats import legible
from .embeddings import packs
from .embeddings.onnx import load

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession  # type: ignore[import-untyped]
    from tokenizers import Tokenizer

# Tokens of each part that the model was trained to read.
QUESTION_TOKENS = 48
PASSAGE_TOKENS = 96
BEFORE_TOKENS = 32
EARLIER_TOKENS = 64
LATER_TOKENS = 96
# What the model reads in two statements is sharpened by this much. It is less sure than the models
# by which the weights of `changes.json` were learned, since it learned to rank at the same time.
SURER = 1.22
# Pairs that are read at the same time, each by one thread: quicker than several threads for each.
AT_ONCE = min(4, os.cpu_count() or 1)
# Characters that hold more tokens than are read.
MOST_CHARACTERS = 1500


class Pair(NamedTuple):
    """A question, a passage, and the beginning of the turn before it, or an empty string."""

    question: str
    passage: str
    before: str = ""


class Reranker:
    """The reranker of a pack, ours unless another is named. Loaded once per process; about 9 ms a
    pair.

    Pairs run one by one, as texts do in `OnnxEmbedder`: a score must not depend on its neighbours.
    """

    def __init__(self, pack: str = packs.RERANKER) -> None:
        self._pack = pack
        self.identity = f"local:{pack.removesuffix('-int8')}"

    def load(self) -> None:
        """Load the model now; an EmbedderError if that fails."""
        self._model()

    def _model(self) -> tuple[Tokenizer, InferenceSession]:
        return load(self._pack, threads=1)

    def scores(self, pairs: Iterable[Pair]) -> list[float]:
        """Return a score for each pair: higher is likelier, and only differences mean anything."""
        self.load()
        with ThreadPoolExecutor(AT_ONCE) as readers:
            return list(readers.map(self._score, pairs))

    def _score(self, pair: Pair) -> float:
        return float(self._read(*self._parts(pair))[0][0])

    def changes(self, earlier: str, later: str) -> list[float]:
        """Return the logarithms of the probabilities of what a later statement does to an earlier
        one, in the order of `extraction.similarity.changes.LABELS`.
        """
        found = self._read(
            self._tokens(earlier, EARLIER_TOKENS), [self._tokens(later, LATER_TOKENS)]
        )
        values = [SURER * float(value) for value in found[1][0]]
        whole = math.log(math.fsum(math.exp(value) for value in values))
        return [value - whole for value in values]

    def _parts(self, pair: Pair) -> tuple[list[int], list[list[int]]]:
        passage = [self._tokens(pair.passage, PASSAGE_TOKENS)]
        if pair.before:
            passage.append(self._tokens(pair.before, BEFORE_TOKENS))
        return self._tokens(pair.question, QUESTION_TOKENS), passage

    def _tokens(self, text: str, most: int) -> list[int]:
        tokenizer, _ = self._model()
        found = tokenizer.encode(legible(text, MOST_CHARACTERS), add_special_tokens=False)
        return found.ids[:most]

    def _read(self, first: list[int], others: list[list[int]]) -> list[NDArray[np.float32]]:
        """Run the model on the tokens of a first text and of those beside it."""
        # Numpy and the model load on first use.
        import numpy as np  # noqa: PLC0415

        tokenizer, session = self._model()
        start, end = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
        one = [start, *first, end]
        beside = [token for other in others for token in (*other, end)]
        ids = np.array([one + beside], dtype=np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.array([[0] * len(one) + [1] * len(beside)], dtype=np.int64),
        }
        try:
            outputs: list[NDArray[np.float32]] = session.run(None, inputs)
        except Exception as error:  # onnxruntime's own errors share no base class
            raise EmbedderError(f"{self.identity} failed: {error}") from error
        return outputs
