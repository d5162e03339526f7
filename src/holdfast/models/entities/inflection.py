"""Words of a text prepared for name recognition, and base forms of inflected names."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from ...languages import in_every_language
from .base import EntityType
from .gazetteer import key_of, listed

_MARKS = "\u0300-\u036f"
# Initials with dots (`U.S.`), or a word with apostrophes or hyphens inside. Atomic groups keep the
# time linear.
_WORD = re.compile(
    rf"(?>(?:[^\W\d_]\.){{2,}})|[^\W\d_][\w{_MARKS}]*+(?>(?:['’-][^\W\d_][\w{_MARKS}]*+)*)"
)
# The trailing apostrophe covers names that end in s: `Ines'`.
_POSSESSIVE = re.compile(r"['’]s?$")
# Also brackets, quotes and list marks: a capital after them may only start a sentence.
_SENTENCE_END = re.compile(r"[.!?…:;\n\r\t\"“”„«»‹›(\[*•|/>—–]")


class Word(NamedTuple):
    """A word of a text. `first`: it may start a sentence; `near`: it directly follows the previous
    word.
    """

    text: str
    key: str
    start: int
    end: int
    first: bool
    near: bool
    capital: bool
    shouted: bool


def words_of(text: str) -> list[Word]:
    """Return the words of a text, without possessives and without French or Italian articles
    attached to them.
    """
    words: list[Word] = []
    end = 0
    before = ""
    possessive = False
    for match in _WORD.finditer(text):
        start, stop = match.span()
        written = match[0]
        gap = text[end:start]
        first, near = (False, True) if gap == " " and end else _joined(gap, before)
        # In `Tokyo's Times Square` the name of the city ends.
        near = near and not possessive
        end = stop
        before = written
        possessive = False
        if "'" in written or "’" in written:
            possessive = _POSSESSIVE.search(written) is not None
            written = _without_apostrophes(written)
            start = text.index(written, start)
            stop = start + len(written)
        capital = written[0].isupper()
        shouted = capital and stop - start > 1 and written.isupper()
        key = written.lower() if written.isascii() else key_of(written)
        # Not through `__new__` of the named tuple, which takes as long as all the rest.
        words.append(_word(Word, (written, key, start, stop, first, near, capital, shouted)))
    return words


_word = tuple.__new__


def _joined(gap: str, before: str) -> tuple[bool, bool]:
    """Return whether a sentence may start after `gap`, and whether a name may continue after it."""
    if not before:
        return True, False
    abbreviated = gap in (". ", ".") and (
        len(before) == 1 or before.lower() in listed("abbreviations").sure
    )
    ended = not abbreviated and _SENTENCE_END.search(gap) is not None
    return ended, abbreviated or gap in ("\u00a0", " & ")


def _without_apostrophes(word: str) -> str:
    """Strip possessives and elided articles: `Ines's` is Ines, `l'Italie` is Italie. A capital
    before the apostrophe usually belongs to the name.
    """
    elision = _elision().match(word)
    if elision and (word[0].islower() or key_of(word[elision.end() :]) in listed("places").sure):
        word = word[elision.end() :]
    return _POSSESSIVE.sub("", word)


def canonical(
    name: str,
    type_: EntityType,
    *,
    genitive: bool,
) -> str:
    """Return the base form of a single word if the lists have it: `Иваном` is Иван, and in German
    `Annas` is Anna.
    """
    section = {
        "person": "people",
        "location": "places",
        "organization": "organizations",
    }.get(type_)
    basic = nominative(name.lower(), listed(section).sure, genitive=genitive) if section else ""
    if basic and basic != name.lower():
        return name[0] + basic[1:]
    return name


@cache
def _elision() -> re.Pattern[str]:
    """Return a pattern for French and Italian articles and pronouns attached to the next word:
    `l'Italie`.
    """
    joined = "|".join(sorted(listed("elisions").sure))
    return re.compile(rf"(?:{joined})['’](?=[^\W\d_])", re.IGNORECASE)


@cache
def _cases() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return case endings with the endings of the base form, in the order to try them."""
    found = []
    for _, table in in_every_language("inflection"):
        for entry in table["cases"].split():
            ending, _, basics = entry.partition("=")
            found.append((ending, tuple(basics.replace("-", "").split("|"))))
    return tuple(found)


@lru_cache(maxsize=4096)
def nominative(
    key: str,
    known: frozenset[str],
    *,
    genitive: bool,
) -> str:
    """Return the list entry of which a word is an inflected form, including a genitive with s;
    empty if there is none.
    """
    if key in known:
        return key
    if genitive and key.endswith("s") and key[:-1] in known:
        return key[:-1]
    if "а" <= key[:1] <= "ї":
        for ending, basics in _cases():
            if key.endswith(ending) and len(key) - len(ending) > 1:
                for basic in basics:
                    if (entry := key[: len(key) - len(ending)] + basic) in known:
                        return entry
    return ""
