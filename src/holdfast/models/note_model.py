"""What a small model says of a sentence from a coding session: is it worth a note, and about what?

It learned from sentences that people typed to coding agents, each labelled by a reader who saw the
conversation around it. `training/train_note_model.py` makes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, get_args

from .cross_encoder import CrossEncoder
from .embeddings import packs

FILE = "note_int8.onnx"
# Tokens of a sentence that the model was trained to read.
SENTENCE_TOKENS = 72
Topic = Literal["convention", "decision", "location", "pitfall", "preference", "procedure"]
TOPICS: tuple[Topic, ...] = get_args(Topic)
"""What a sentence can be about, in the order of the model's second output."""


class Reading(NamedTuple):
    """Likelihoods that a sentence is useful to a later agent, would mislead it, or means nothing
    alone; and what the sentence is about.
    """

    useful: float
    wrong: float
    garbage: float
    topic: Topic


class NoteModel:
    """The model of our pack; about 7 ms a sentence. It knows English only."""

    def __init__(self) -> None:
        self._model = CrossEncoder(packs.JUDGE, FILE)
        self.identity = self._model.identity

    def read(self, sentences: Iterable[str]) -> list[Reading]:
        """Read sentences one by one."""
        return [self._read(sentence) for sentence in sentences]

    def _read(self, sentence: str) -> Reading:
        tokens = self._model.tokens(" ".join(sentence.split()), SENTENCE_TOKENS)
        worth, about = self._model.read(tokens, [])
        useful, _, wrong, garbage = _likelihoods(worth[0])
        return Reading(useful, wrong, garbage, TOPICS[int(about[0].argmax())])


def _likelihoods(scores: Sequence[float]) -> list[float]:
    most = max(scores)
    shares = [math.exp(score - most) for score in scores]
    return [share / math.fsum(shares) for share in shares]
