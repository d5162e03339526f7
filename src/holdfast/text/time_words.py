"""Words for times in every language: the sections `time` of the language files, put together.

A question may mix languages, and is too short to tell which; so all words are tried on all
questions. Words are lower-cased and without accents; `_` stands for a space inside one, `|` between
words that share a place in a list, and `-` for a place without one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..languages import in_every_language

_TABLES = tuple(table for _, table in in_every_language("time"))


def listed(key: str) -> list[str]:
    """The words of every language under this key.

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
    """By word, its place in the list of its language, from 1.

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
    """By word, the key under which it is listed."""
    return {word: key for key in keys for word in listed(key)}


def full_month_names() -> frozenset[str]:
    """Names of months that need no year beside them: neither short forms nor words of the language.

    The first name of a month is no short form, however short it is: "mai".
    """
    first = (
        words.split("|")[0] for table in _TABLES for words in str(table.get("months", "")).split()
    )
    longer = (name for name in numbered("months") if len(name) > 3)
    return frozenset((*first, *longer)) - frozenset(listed("unsure_months"))


def any_of(words: Iterable[str]) -> str:
    """A pattern for any of these words, the longest first; without words it fits nothing."""
    return "|".join(sorted(map(re.escape, words), key=lambda word: (-len(word), word))) or "(?!)"
