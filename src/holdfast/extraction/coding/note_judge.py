"""Whether what a user says holds beyond the moment: a linear classifier on the encoder's vectors
and on words that say so.

"We never mock the database" helps the next agent, "run the tests again" does not, and few words
tell them apart. `note_judge.json` holds the weights; `training/train_note_judge.py` made them from
labelled sentences of real sessions. One row says whether a sentence is worth a note, the others
what it is about. Without that encoder there is no judge, and only patterns find statements.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ...models.embeddings.tiers import Tiers
from ..clauses import Clause
from ..judge import has_encoder, rows_of
from ..speech import Sentence
from .cue_words import words_of
from .note import TOPICS, Topic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEEP = "keep"
HINTS = (
    "standing",
    "taste",
    "wish",
    "negation",
    "contrast",
    "duty",
    "consent",
    "custom",
    "together",
    "request",
    "order",
    "account",
    "past",
    "reason",
    "file",
    "identifier",
    "pointer",
    "extent",
    "sequence",
    "craft",
    "aim",
    "addressed",
    "address",
    "separator",
    "state",
)
"""The hints of a language file, in the order of their weights."""
# So that a hint, which says more than a word, is cheaper to use than one.
_HINT_SCALE = 2.0
_SHOUTED = re.compile(r"\b[A-Z]{4,}\b")
_VERB = re.compile(
    r"\b(?:is|are|be|was|were|do|does|don't|has|have|should|must|can|will|want|need|use|keep|let's"
    r"|make|'s|'re|'m|like|prefer)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How likely a sentence is worth a note, and what it is about."""

    keep: float
    topic: Topic


class NoteJudge:
    """Judges sentences of users by their vectors."""

    def __init__(self, tiers: Tiers) -> None:
        """`tiers` has the encoder."""
        self._tiers = tiers

    def judge(self, said: Sequence[Sentence]) -> list[Verdict] | None:
        """A verdict for each sentence; None if the encoder is not available now."""
        import numpy as np  # noqa: PLC0415 - only where a judge is

        vectors = rows_of(as_clauses(said), self._tiers)
        if vectors is None:
            return None
        rows = with_hints(vectors, said)
        names, weights = _weights()
        scores = rows @ weights.T
        likely = 1 / (1 + np.exp(-scores[:, names.index(KEEP)]))
        about = scores[:, [names.index(topic) for topic in TOPICS]].argmax(axis=1)
        return [
            Verdict(float(keep), TOPICS[topic]) for keep, topic in zip(likely, about, strict=True)
        ]


def note_judge_of(tiers: Tiers) -> NoteJudge | None:
    """The judge, where the encoder that it needs is configured."""
    return NoteJudge(tiers) if has_encoder(tiers) else None


def as_clauses(said: Sequence[Sentence]) -> list[Clause]:
    """Sentences as the features want them."""
    return [Clause(each.text, each, 0, each.asks) for each in said]


def with_hints(rows: NDArray[np.float32], said: Sequence[Sentence]) -> NDArray[np.float32]:
    """The features of sentences, with what their words hint at behind them."""
    import numpy as np  # noqa: PLC0415

    hints = np.array([_hints(each.text) for each in said], dtype=np.float32)
    return np.hstack([rows, hints * _HINT_SCALE])


def _hints(text: str) -> list[bool]:
    known = words_of(text)
    length = len(text.split())
    return [
        *(bool(known and known[0].says(f"hint.{name}", text)) for name in HINTS),
        length < 6,
        length < 9,
        length > 25,
        length > 35,
        bool(_SHOUTED.search(text)),
        "\n" in text,
        text[:1].islower(),
        not _VERB.search(text),
    ]


@cache
def _file() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        files(__package__).joinpath("note_judge.json").read_text("utf-8")
    )
    return found


@cache
def _weights() -> tuple[list[str], NDArray[np.float32]]:
    import numpy as np  # noqa: PLC0415

    told = _file()["weights"]
    return list(told), np.array(list(told.values()), dtype=np.float32)


@cache
def threshold(name: str) -> float:
    """How likely a sentence has to be: `alone`; where it says itself that it is `lasting`; where a
    `pattern` of a rule fits too, or one of a `choice`, which says more, or a `plain` one, which
    does not say that it lasts; where an agent's proposal was `approved`; where it is said `again`
    in another session.
    """
    return float(_file()["thresholds"][name])
