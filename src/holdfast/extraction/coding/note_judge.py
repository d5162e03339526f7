"""Whether what a user says holds beyond the moment, and what it is about: `models/note_model.py`
reads every sentence.

"We never mock the database" helps the next agent, "run the tests again" does not, and few words
tell them apart. Without the better embedding model there is no judge, and only patterns find
statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ...errors import EmbedderError
from ...models.embeddings.tiers import Tiers
from ...models.note_model import NoteModel
from ..judge import has_encoder
from .note import Topic

Evidence = Literal["alone", "lasting", "pattern", "choice", "plain", "approved", "again"]
THRESHOLDS: Mapping[Evidence, float] = {
    "alone": 0.6,
    "lasting": 0.45,
    "pattern": 0.15,
    "choice": -0.6,
    "plain": 0.4,
    "approved": 0.05,
    "again": 0.35,
}
"""How much a sentence must be worth: `alone`; where it says itself that it is `lasting`, and where
a `pattern` of a rule fits, too; where the pattern of a `choice` fits, or a `plain` one, which does
not say that it lasts; where an agent's proposal was `approved`; where it is said `again` in another
session.
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a sentence is worth, and what it is about."""

    worth: float
    """From -1 to 1: how likely it is useful, less how likely it is wrong or means nothing."""
    useful: float
    """How likely it is useful."""
    topic: Topic


class NoteJudge:
    """Judges sentences of users by reading them."""

    def __init__(self, tiers: Tiers) -> None:
        """`tiers` keeps note of failures."""
        self._tiers = tiers
        self._model = NoteModel()

    def judge(self, sentences: Sequence[str]) -> list[Verdict] | None:
        """A verdict for each sentence; None if the model is not available now."""
        try:
            found = self._model.read(sentences)
        except EmbedderError as error:
            self._tiers.rest(self._model.identity, error)
            return None
        return [
            Verdict(one.useful - one.wrong - one.garbage, one.useful, one.topic) for one in found
        ]


def note_judge_of(tiers: Tiers) -> NoteJudge | None:
    """The judge, where the better embedding model is configured, too: who chose to do without it
    wants no model of that kind.
    """
    return NoteJudge(tiers) if has_encoder(tiers) else None
