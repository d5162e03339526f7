"""Words for times in every language: the combined sections `time` of the language files.

A question may mix languages and is too short to identify one, so all words apply to all questions.
Words are lower-cased and without accents; `_` stands for a space, `|` separates words at one
position of a list, and `-` marks an empty position.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..languages import in_every_language

_TABLES = tuple(table for _, table in in_every_language("time"))


def listed(key: str) -> list[str]:
    """Return the words of every language under this key.

    >>> listed("tomorrow")[:2]
    ['tomorrow', 'demain']
    """
    return [
        word.replace("_", " ")
        for table in _TABLES
        for word in str(table.get(key, "")).split()
        if word != "-"
    ]


def numbered(key: str) -> dict[str, int]:
    """Map each word to its position in the list of its language, from 1.

    >>> numbered("weekdays")["dienstag"]
    2
    """
    return {
        word: place
        for table in _TABLES
        for place, words in enumerate(str(table.get(key, "")).split(), 1)
        for word in words.split("|")
        if word != "-"
    }


def meanings(*keys: str) -> dict[str, str]:
    """Map each word to the key under which it is listed."""
    return {word: key for key in keys for word in listed(key)}


def full_month_names() -> frozenset[str]:
    """Return month names that need no year: neither abbreviations nor ordinary words.

    The first name of a month is never an abbreviation, however short: "mai".
    """
    first = (
        words.split("|")[0] for table in _TABLES for words in str(table.get("months", "")).split()
    )
    longer = (name for name in numbered("months") if len(name) > 3)
    return frozenset((*first, *longer)) - frozenset(listed("unsure_months"))


def any_of(words: Iterable[str]) -> str:
    """Return a pattern for any of these words, longest first; matches nothing without words."""
    return "|".join(sorted(map(re.escape, words), key=lambda word: (-len(word), word))) or "(?!)"
