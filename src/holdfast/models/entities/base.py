"""Entity recognisers: their results, their protocol, and the resolution of overlaps."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, Protocol, get_args

EntityType = Literal[
    "person", "project", "organization", "location", "email", "url", "date", "other"
]
TYPES: tuple[EntityType, ...] = get_args(EntityType)
NOWHERE = -1
"""Position of a match whose recogniser gave none."""


@dataclass(frozen=True, slots=True)
class EntityMatch:
    """An entity in a text: name, type and position (`raw` is `text[start:end]`)."""

    name: str
    type: EntityType
    start: int
    end: int
    confidence: float
    raw: str


class Recogniser(Protocol):
    """Finds entities in a text. Thread-safe; accepts any text."""

    @property
    def name(self) -> str:
        """Name used in logs."""

    def available(self) -> bool:
        """Whether its requirements are met. If not, it is not called."""

    def recognise(self, text: str) -> list[EntityMatch]:
        """Return matches in text order. Errors of a model or library are raised."""


def resolve(found: Iterable[EntityMatch], text: str = "") -> list[EntityMatch]:
    """Return matches without overlaps, in text order. The most confident wins, then the longest,
    then the first.

    A match without a position gets the first position of its words in `text`; if there is none, it
    comes last, once.
    """
    placed = [one if one.start >= 0 else located(one, text) for one in found]
    kept: list[EntityMatch] = []
    for one in sorted(placed, key=lambda one: (-one.confidence, one.start - one.end, one.start)):
        if one.start >= 0 and _fits(one, kept):
            kept.insert(bisect(kept, one.start, key=lambda other: other.start), one)
    nowhere = {(one.name, one.type): one for one in placed if one.start < 0}
    return [*kept, *nowhere.values()]


def _fits(one: EntityMatch, kept: list[EntityMatch]) -> bool:
    """Whether `one` overlaps nothing in `kept`, which is sorted and without overlaps."""
    behind = bisect(kept, one.start, key=lambda other: other.start)
    before = kept[behind - 1] if behind else None
    after = kept[behind] if behind < len(kept) else None
    return (before is None or before.end <= one.start) and (after is None or after.start >= one.end)


def located(found: EntityMatch, text: str) -> EntityMatch:
    """Return `found` at the first position of its whole words in `text`; unchanged if there is
    none.
    """
    for words in (found.raw, found.name):
        if words and (place := re.search(whole(words), text)):
            return replace(
                found,
                start=place.start(),
                end=place.end(),
                raw=place.group(),
            )
    return found


def whole(words: str) -> str:
    """Return a pattern for `words` between word boundaries; in scripts without spaces, anywhere."""
    before = "" if _touchable(words[0]) else r"(?<!\w)"
    after = "" if _touchable(words[-1]) else r"(?!\w)"
    return f"{before}{re.escape(words)}{after}"


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use: patterns over many scripts take milliseconds, and most texts
    need few of them.
    """
    return re.compile(pattern)


def _touchable(letter: str) -> bool:
    """Whether a name may touch other letters here, as in Thai, kana, Han and Hangul."""
    unspaced = (
        "\u0e00" <= letter <= "\u0eff" or "\u2e80" <= letter <= "\ud7ff" or letter >= "\U00020000"
    )
    return unspaced or not letter.isalnum()
