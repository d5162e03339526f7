"""Whether a statement can be understood alone: a second classifier on the encoder's vectors.

Somebody reads the statement weeks later, and knows only who said it and when. "My sister Ines moved
to Porto" tells them something; "Two, at most three" and "He gave it to her" do not. Patterns see
what a clause begins with (`standalone`); this sees the clause whole, in seven languages: its
vector, its words and pairs of words (hashed; characters where words have no spaces between them),
and plain features. `training/train_standalone_judge.py` wrote the weights, `standalone_judge.json`.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from .patterns import Language
from .vocabulary import straight

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HASHED = 1024
LANGUAGES = ("en", "de", "es", "fr", "ru", "zh", "ja")
"""Those in which examples were labelled; a statement in another one is not judged."""
PLAIN = 18 + len(LANGUAGES)
"""How many plain features there are."""
_VECTOR_SCALE = 4.0
_WORD_SCALE = 0.5
_WORDS_READ = 40
_CHARACTERS_READ = 60

_WORD = re.compile(r"\w+(?:['’]\w+)?")
_NAME = re.compile(r"(?<=[\s«„“])[A-ZÀ-ÞА-ЯЁ]\w+")
_DIGIT = re.compile(r"\d")
_JOINT = re.compile(r"[,，、;:]")


def scores(
    language: Language, texts: Sequence[str], vectors: NDArray[np.float32]
) -> NDArray[np.float32] | None:
    """How clearly each text can be understood alone, by its vector; None where that is not
    judged.
    """
    if language.code not in LANGUAGES or not texts:
        return None
    return rows_of(language, texts, vectors) @ _weights()


def rows_of(
    language: Language, texts: Sequence[str], vectors: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The features of texts in one language."""
    import numpy as np  # noqa: PLC0415

    size = vectors.shape[1]
    rows = np.zeros((len(texts), size + HASHED + PLAIN), dtype=np.float32)
    rows[:, :size] = vectors * _VECTOR_SCALE
    for row, text in zip(rows, texts, strict=True):
        row[[size + place for place in _hashed(language, text)]] = _WORD_SCALE
        row[size + HASHED :] = _plain(language, text)
    return rows


def _hashed(
    language: Language,
    text: str,
) -> set[int]:
    """Places of a text's words and pairs of words, with its beginning and its end."""
    if language.spaced:
        words = ["^", *(word.lower() for word in _WORD.findall(text)[:_WORDS_READ]), "$"]
        pairs = [f"{one} {two}" for one, two in pairwise(words)]
    else:
        words = ["^", *"".join(text.split())[:_CHARACTERS_READ]]
        pairs = [f"{one}{two}" for one, two in pairwise(words)]
    return {zlib.crc32(each.encode()) % HASHED for each in (*words, *pairs)}


def _plain(language: Language, text: str) -> list[float]:
    text = straight(text)
    size = min(len(text.split()) / 12 if language.spaced else len(text) / 30, 3.0)
    speaker = language.guards["speaker"].search(text)
    pointers = [found.start() for found in language.guards["pointer"].finditer(text)]
    names = len(_NAME.findall(text)) + _opens_with_name(text)
    kin = any(word in text.lower() for word in language.kin)
    return [
        1.0,
        size,
        size**0.5,
        size < 0.4,
        size < 0.25,
        bool(language.begins("points", text)),
        bool(speaker),
        bool(speaker and speaker.start() < max(len(text) / 4, 3)),
        min(len(pointers), 3) / 2,
        bool(pointers and not speaker),
        bool(pointers and pointers[0] < 0.3 * len(text)),
        min(names, 3) / 2,
        bool(names or kin),
        kin,
        not (speaker or names or kin),
        bool(_DIGIT.search(text)),
        text[:1].islower(),
        bool(_JOINT.search(text)),
        *(language.code == code for code in LANGUAGES),
    ]


def _opens_with_name(text: str) -> bool:
    """Whether the first word is a name that people have: there any word has a capital."""
    from ..models.entities.gazetteer import key_of, listed  # noqa: PLC0415 - only where a judge is

    first = _WORD.match(text)
    return first is not None and first[0][0].isupper() and key_of(first[0]) in listed("people").sure


@cache
def _weights() -> NDArray[np.float32]:
    import numpy as np  # noqa: PLC0415

    return np.array(_model()["weights"], dtype=np.float32)


@cache
def _model() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        files(__package__).joinpath("standalone_judge.json").read_text("utf-8")
    )
    return found


@cache
def enough(place: str) -> float:
    """How likely a statement has to be understood alone to be kept, by where it was said: as for
    `judge.threshold`.
    """
    thresholds: dict[str, float] = _model()["thresholds"]
    return thresholds[place]
