"""Recognisers: what they find in a text, what they promise, and how findings that overlap are
settled.
"""

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
"""The place of something that its recogniser gave no place for."""


@dataclass(frozen=True, slots=True)
class EntityMatch:
    """Something a text names: what it is called, what it is, and where (`raw` is
    `text[start:end]`).
    """

    name: str
    type: EntityType
    start: int
    end: int
    confidence: float
    raw: str


class Recogniser(Protocol):
    """Finds what a text names. Safe to call from several threads; any text is a legal one."""

    @property
    def name(self) -> str:
        """What it is called in logs."""

    def available(self) -> bool:
        """Whether what it needs is there. It is not asked otherwise."""

    def recognise(self, text: str) -> list[EntityMatch]:
        """What it finds, in the order of the text. A failure of what it relies on is raised."""


def resolve(found: Iterable[EntityMatch], text: str = "") -> list[EntityMatch]:
    """Findings that do not overlap, in the order of the text: the surest, then the longest, then
    the first win.

    One without a place gets the first place of `text` where it stands; where there is none it comes
    last, once.
    """
    placed = [one if one.start >= 0 else located(one, text) for one in found]
    kept: list[EntityMatch] = []
    for one in sorted(placed, key=lambda one: (-one.confidence, one.start - one.end, one.start)):
        if one.start >= 0 and _fits(one, kept):
            kept.insert(bisect(kept, one.start, key=lambda other: other.start), one)
    nowhere = {(one.name, one.type): one for one in placed if one.start < 0}
    return [*kept, *nowhere.values()]


def _fits(one: EntityMatch, kept: list[EntityMatch]) -> bool:
    """Whether nothing in `kept`, which is in order and without overlaps, covers a part of `one`."""
    behind = bisect(kept, one.start, key=lambda other: other.start)
    before = kept[behind - 1] if behind else None
    after = kept[behind] if behind < len(kept) else None
    return (before is None or before.end <= one.start) and (after is None or after.start >= one.end)


def located(found: EntityMatch, text: str) -> EntityMatch:
    """`found` at the first place where its words stand whole in `text`; itself where they do
    not.
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
    """A pattern for `words` where no other letter touches them; in scripts without spaces any place
    will do.
    """
    before = "" if _touchable(words[0]) else r"(?<!\w)"
    after = "" if _touchable(words[-1]) else r"(?!\w)"
    return f"{before}{re.escape(words)}{after}"


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled on first use: those over many scripts take milliseconds, and most texts
    need few of them.
    """
    return re.compile(pattern)


def _touchable(letter: str) -> bool:
    """Whether a name may stand right beside another letter here, as in Thai, kana, Han and
    Hangul.
    """
    unspaced = (
        "\u0e00" <= letter <= "\u0eff" or "\u2e80" <= letter <= "\ud7ff" or letter >= "\U00020000"
    )
    return unspaced or not letter.isalnum()
