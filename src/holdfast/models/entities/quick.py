"""Fast name recognition during capture: `name_rules.py` applied to sentences that may contain a
name.

Most sentences of a conversation contain no name, and their capitals show it: a function word, a
weekday or a sentence opener is capitalised without being a name, and so is an unknown word at the
start of a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from .base import EntityMatch
from .gazetteer import listed
from .name_rules import function_words
from .names import NameRecogniser

# Characters that are read: more than people say at once. The second pass reads the rest.
MOST = 4_000

# A certain end of a sentence. Requires three small letters before the full stop, because `Dr.`,
# `St.` and `J.` end none. Starts with one set of characters, for which a search skips all others.
_END = re.compile(r"[.!?\n](?:(?<=[a-z]{3}[.!?])(?<!Prof\.)(?<!Capt\.)\s+(?=[A-Z])|(?<=\n)\n*)")
# Limited to the length of a title.
_QUOTED = re.compile(r"[\"“”„«]([^\"“”«»\n]{2,80})[\"“”»]")
_CAPITAL = re.compile(r"(?<![\w'])[A-Z]\w*")
_WORD = re.compile(r"\w+")
_FOREIGN = re.compile(r"[^\x00-\x7f‘’“”–—…]")


class QuickNameRecogniser:
    """People, places, organisations and projects of which `NameRecogniser` is confident, at the
    start of a text.
    """

    name = "quick names"

    def __init__(self) -> None:
        self._names = NameRecogniser()

    def available(self) -> bool:
        return True

    def recognise(self, text: str) -> list[EntityMatch]:
        found: list[EntityMatch] = []
        for start, part in _parts(text[:MOST]):
            for one in self._names.surest(part):
                found.append(
                    replace(one, start=one.start + start, end=one.end + start) if start else one
                )
        titles = list(_titles(text)) if found else []
        return [one for one in found if not any(begin < one.start < end for begin, end in titles)]


def _titles(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of titles of books, films and songs: quoted, with most words capitalised.

    They name nobody that the speaker knows. Quoted speech has few capitals.
    """
    for quoted in _QUOTED.finditer(text):
        words = quoted[1].split()
        if sum(word[0].isupper() for word in words) * 2 > len(words):
            yield quoted.span()


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the parts of a text that may contain names, with their offsets."""
    if text.islower():
        return
    foreign = _is_foreign(text)
    parts = [] if foreign else list(_sentences(text))
    if foreign or (parts and _has_capital_nouns(text)):
        # The language decides what a capital means, and detecting it needs the whole text.
        yield 0, text
    else:
        yield from parts


def _is_foreign(text: str) -> bool:
    return not text.isascii() and _FOREIGN.search(text) is not None


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences that may contain names, judging by their capitals."""
    start = 0
    for end in _END.finditer(text):
        # With its full stop, but without the line break.
        behind = end.start() + (text[end.start()] != "\n")
        if _may_name(text, start, behind):
            yield start, text[start:behind]
        start = end.end()
    if _may_name(text, start, len(text)):
        yield start, text[start:]


def _may_name(
    text: str,
    start: int,
    end: int,
) -> bool:
    opened = False
    for capital in _CAPITAL.finditer(text, start, end):
        word = capital.group().lower()
        if not opened and not text[start : capital.start()].strip("\"'([*->• "):
            opened = True
            # `Priya called`; any other word may just start the sentence.
            if word in _names():
                return True
        elif word not in _never():
            return True
    return False


def _has_capital_nouns(text: str) -> bool:
    """Whether the language of a text capitalises nouns, so that capitals say nothing."""
    surely = listed("surely capital nouns").sure
    return not surely.isdisjoint(_WORD.findall(text.lower()))


@cache
def _never() -> frozenset[str]:
    """Return words that are never names, whether capitalised or not."""
    return (function_words() | listed("nobody").sure | listed("openers").sure) - _names()


@cache
def _names() -> frozenset[str]:
    """Return the first words of all listed names."""
    sections = [listed(section) for section in ("people", "places", "organizations")]
    return frozenset(
        entry.split(" ")[0] for section in sections for entry in (*section.sure, *section.unsure)
    )
