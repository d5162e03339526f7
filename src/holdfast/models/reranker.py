"""The reranker: a small model that reads a question and a passage together and scores the pair.

Slower than comparing vectors, because nothing about a passage can be computed in advance, and
better at telling the answer from what only sounds like it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..errors import EmbedderError
from ..floats import legible
from .embeddings import packs
from .embeddings.onnx import load

# Tokens of each part that the model was trained to read.
QUESTION_TOKENS = 48
PASSAGE_TOKENS = 96
BEFORE_TOKENS = 32
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

    def scores(self, pairs: Iterable[Pair]) -> list[float]:
        """Return a score for each pair: higher is likelier, and only differences mean anything."""
        return [self._score(pair) for pair in pairs]

    def _score(self, pair: Pair) -> float:
        # Numpy and the model load on first use.
        import numpy as np  # noqa: PLC0415

        tokenizer, session = load(self._pack)

        def tokens(text: str, most: int) -> list[int]:
            found = tokenizer.encode(legible(text, MOST_CHARACTERS), add_special_tokens=False)
            return found.ids[:most]

        start = tokenizer.token_to_id("[CLS]")
        end = tokenizer.token_to_id("[SEP]")
        first = [start, *tokens(pair.question, QUESTION_TOKENS), end]
        second = [*tokens(pair.passage, PASSAGE_TOKENS), end]
        if pair.before:
            second += [*tokens(pair.before, BEFORE_TOKENS), end]
        ids = np.array([first + second], dtype=np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.array([[0] * len(first) + [1] * len(second)], dtype=np.int64),
        }
        try:
            return float(session.run(None, inputs)[0][0])
        except Exception as error:  # onnxruntime's own errors share no base class
            raise EmbedderError(f"{self.identity} failed: {error}") from error
