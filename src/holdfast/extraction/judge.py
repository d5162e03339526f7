"""Whether a clause is worth keeping: a linear classifier on the shipped encoder's vectors, and a
small model that reads the clause whole. The two err on different clauses, so their mean counts.

`judge.json` holds the weights of the first; `training/train_judge.py` made them from labelled
conversations. There a clause is its vector, its words and pairs of words (hashed), and a few plain
features. One row of weights says whether it is worth keeping, the others what kind of statement it
is. The vectors of another model mean something else, so without that encoder there is no judge,
and rules decide.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING

from ..errors import EmbedderError
from ..models.embeddings.tiers import Tiers
from ..models.statement_judge import StatementJudge, Verdict
from . import standalone_judge
from .clauses import Clause
from .patterns import Language

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..models.embeddings.base import Embedder

IDENTITY = "local:memory-embed-s3"
"""The encoder whose vectors the weights were learned on."""
KEEP = "keep"
KINDS = {
    "event": "event",
    "fact": "general",
    "plan": "plan",
    "preference": "preference",
    "relation": "relationship",
}
"""Kinds of statements as they are labelled, and the category of each."""
HASHED = 2048
# So that a weight of a vector, of a word and of a feature are of one size.
_VECTOR_SCALE = 4.0
_WORD_SCALE = 0.5
_OWN_SCALE = 0.5
# A kind below this score (a likelihood of .6) is too doubtful to file a statement by.
_CLEAR = 0.4
# Words; the rest of a longer clause adds little.
_WORDS_READ = 40

_WORD = re.compile(r"\w+(?:['’]\w+)?")
_FIRST_PERSON = re.compile(r"\b(?:i|we)\b", re.IGNORECASE)
_OWN = re.compile(r"\b(?:my|our|mine)\b", re.IGNORECASE)
_POINTS = re.compile(r"(?:it|that|this|they|he|she|there|those|these)\b", re.IGNORECASE)
_ADDRESSED = re.compile(r"\b(?:you|your|yours)\b", re.IGNORECASE)
_CAPITAL = re.compile(r"(?<=\s)[A-ZÀ-ÞА-Я]")
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Judgement:
    """How likely a clause is worth keeping, and the category it would have."""

    keep: float
    category: str
    alone: float = 1.0
    """How likely the clause can be understood alone, by its words."""
    correct: float = 1.0
    """How likely it is correct and can be understood alone, for who reads it whole."""


class Judge:
    """Judges clauses by their vectors and by reading them; None of them where a model fails."""

    def __init__(self, tiers: Tiers) -> None:
        """`tiers` has the encoder."""
        self._tiers = tiers
        self._reader = StatementJudge()

    def judge(
        self, clauses: Sequence[Clause], language: Language, *, among_people: bool
    ) -> list[Judgement] | None:
        """A judgement for each clause; None if a model is not available now."""
        import numpy as np  # noqa: PLC0415 - only where a judge is

        place = place_of(language.code, among_people=among_people)
        texts = [clause.text for clause in clauses]
        rows = rows_of(clauses, self._tiers)
        read = self._read(texts, place)
        if rows is None or read is None:
            return None
        names, weights = _weights()
        scores = with_place(rows, place) @ weights.T
        keep = together(scores[:, names.index(KEEP)], [one.keep for one in read])
        kinds = [name for name in names if name != KEEP]
        told = scores[:, [names.index(name) for name in kinds]]
        vectors = rows[:, : -(HASHED + PLAIN)] / _VECTOR_SCALE
        alone = standalone_judge.scores(language, texts, vectors)
        if alone is None:
            apart = correct = np.ones(len(texts), dtype=np.float32)
        else:
            apart = likelihood(alone)
            correct = together(alone, [one.correct for one in read])
        return [
            Judgement(
                float(likely),
                KINDS[kinds[row.argmax()]] if row.max() > _CLEAR else "general",
                float(by_itself),
                float(right),
            )
            for likely, row, by_itself, right in zip(keep, told, apart, correct, strict=True)
        ]

    def _read(self, texts: Sequence[str], place: str) -> list[Verdict] | None:
        """What the model that reads them says; None if it is not available now."""
        try:
            return self._reader.judge(texts, place)
        except EmbedderError as error:
            self._tiers.rest(self._reader.identity, error)
            return None


def together(scores: NDArray[np.float32], read: Sequence[float]) -> NDArray[np.float32]:
    """How likely something is by the scores of a linear classifier and by who reads it whole."""
    import numpy as np  # noqa: PLC0415

    both = (scores + np.array(read, dtype=np.float32)) / 2
    return likelihood(both.astype(np.float32))


def likelihood(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scores of a linear classifier as likelihoods."""
    import numpy as np  # noqa: PLC0415

    found = 1 / (1 + np.exp(-scores))
    return found.astype(np.float32)


def rows_of(clauses: Sequence[Clause], tiers: Tiers) -> NDArray[np.float32] | None:
    """The features of clauses; None if the encoder is not available now."""
    encoder = tiers.usable(IDENTITY)
    if encoder is None:
        return None
    try:
        rows = features(clauses, encoder)
    except EmbedderError as error:
        tiers.rest(IDENTITY, error)
        return None
    tiers.works(IDENTITY)
    return rows


def place_of(
    language: str,
    *,
    among_people: bool,
) -> str:
    """Where something is said, as `threshold` names it."""
    if language != "en":
        return "languages"
    return "people" if among_people else "assistant"


def with_place(rows: NDArray[np.float32], place: str) -> NDArray[np.float32]:
    """The features of clauses and where they were said: what people tell each other is worth
    keeping for other reasons than what they tell an assistant, so vectors count there once more.
    """
    import numpy as np  # noqa: PLC0415

    told = rows[:, : -(HASHED + PLAIN)] * _OWN_SCALE
    parts = [rows]
    for each in PLACES:
        here = float(place == each)
        parts += [np.full((len(rows), 1), here, dtype=np.float32), told * here]
    return np.concatenate(parts, axis=1, dtype=np.float32)


def judge_of(tiers: Tiers) -> Judge | None:
    """The judge, where the encoder that it needs is configured."""
    return Judge(tiers) if has_encoder(tiers) else None


def has_encoder(tiers: Tiers) -> bool:
    """Whether the encoder is configured whose vectors the weights were learned on."""
    return any(each.identity == IDENTITY for each in tiers)


def features(clauses: Sequence[Clause], encoder: Embedder) -> NDArray[np.float32]:
    """One row per clause: the vector, hashed words, plain features."""
    import numpy as np  # noqa: PLC0415

    rows = np.zeros((len(clauses), encoder_size(encoder) + HASHED + PLAIN), dtype=np.float32)
    vectors = encoder.embed_documents([clause.text for clause in clauses])
    size = vectors.shape[1] if len(clauses) else 0
    rows[:, :size] = vectors * _VECTOR_SCALE
    for row, clause in zip(rows, clauses, strict=True):
        row[[size + place for place in _hashed(clause.text)]] = _WORD_SCALE
        row[size + HASHED :] = _plain(clause)
    return rows


def encoder_size(encoder: Embedder) -> int:
    """The length of its vectors."""
    return encoder.dimensions or 0


def _hashed(text: str) -> set[int]:
    """Places of a clause's words and pairs of words."""
    words = ["^", *(word.lower() for word in _WORD.findall(text)[:_WORDS_READ])]
    pairs = [f"{one} {two}" for one, two in pairwise(words)]
    return {zlib.crc32(each.encode()) % HASHED for each in (*words, *pairs)}


def _plain(clause: Clause) -> list[float]:
    text = clause.text
    return [
        1.0,
        clause.asks,
        clause.sentence.asks,
        min(len(_WORD.findall(text)), _WORDS_READ) / 20,
        bool(_DIGIT.search(text)),
        len(_CAPITAL.findall(text)) / 3,
        bool(_FIRST_PERSON.search(text)),
        bool(_OWN.search(text)),
        bool(_POINTS.match(text)),
        bool(_ADDRESSED.search(text)),
        clause.number == 0,
        not text.isascii(),
    ]


PLAIN = 12
"""How many plain features there are."""
PLACES = ("people", "languages")
"""Where vectors have weights of their own, beside those for what is said to an assistant."""


@cache
def _weights() -> tuple[list[str], NDArray[np.float32]]:
    import numpy as np  # noqa: PLC0415

    told = _file()
    return list(told["weights"]), np.array(list(told["weights"].values()), dtype=np.float32)


@cache
def _file() -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = json.loads(
        files(__package__).joinpath("judge.json").read_text("utf-8")
    )
    return found


@cache
def threshold(name: str) -> float:
    """How likely a clause has to be worth keeping, by where it was said: to an `assistant`, between
    `people`, or in other `languages` than English; `pattern` is where a pattern fits too.
    """
    return float(_file()["thresholds"][name])  # type: ignore[arg-type]
