"""Names at the price of a capture: the rules of `names.py`, asked only about sentences in which a
name may stand.

Most sentences of a conversation name nobody, and a glance at their capitals tells: a word of
grammar, a weekday or a word that opens sentences has one without being a name, and an unknown word
has one where the sentence begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from .base import EntityMatch
from .gazetteer import listed
from .names import LIKELY, NameRecogniser, function_words

# characters that are looked at: more than people say at once; what is behind waits for the second
# look
MOST = 4_000
# Two capitals side by side may be anything, so they are left to the second look.
SUREST = LIKELY

# Where a sentence ends for certain. Three small letters before the full stop: `Dr.`, `St.` and `J.`
# end none.
_END = re.compile(r"(?<=[a-z]{3}[.!?])(?<!Prof\.)(?<!Capt\.)\s+(?=[A-Z])|\n+")
_QUOTED = re.compile(r"[\"“”„«]([^\"“”«»\n]{2,80})[\"“”»]")  # no title is longer
_CAPITAL = re.compile(r"(?<![\w'])[A-Z]\w*")
_WORD = re.compile(r"\w+")
_FOREIGN = re.compile(r"[^\x00-\x7f‘’“”–—…]")


class QuickNameRecogniser:
    """People, places, organisations and projects that `NameRecogniser` is sure of, in the beginning
    of a text.
    """

    name = "quick names"

    def __init__(self) -> None:
        self._names = NameRecogniser()

    def available(self) -> bool:
        return True

    def recognise(self, text: str) -> list[EntityMatch]:
        found: list[EntityMatch] = []
        for start, part in _parts(text[:MOST]):
            for one in self._names.recognise(part):
                if one.confidence >= SUREST:
                    found.append(
                        replace(one, start=one.start + start, end=one.end + start) if start else one
                    )
        titles = list(_titles(text)) if found else []
        return [one for one in found if not any(begin < one.start < end for begin, end in titles)]


def _titles(text: str) -> Iterator[tuple[int, int]]:
    """Where titles of books, films and songs stand: in quotation marks, most words with a capital.
    Whom they name is nobody that the speaker knows; what somebody is quoted to have said has few
    capitals."""
    for quoted in _QUOTED.finditer(text):
        words = quoted[1].split()
        if sum(word[0].isupper() for word in words) * 2 > len(words):
            yield quoted.span()


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """The parts of a text that may name somebody, each with its place."""
    if text.islower():
        return
    parts = [] if _is_foreign(text) else list(_sentences(text))
    if _is_foreign(text) or (parts and _has_capital_nouns(text)):
        # Its language decides how a capital is read, and takes all of it to tell.
        yield 0, text
    else:
        yield from parts


def _is_foreign(text: str) -> bool:
    return not text.isascii() and _FOREIGN.search(text) is not None


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    """The sentences that may name somebody, by their capitals."""
    start = 0
    for end in _END.finditer(text):
        if _may_name(text, start, end.start()):
            yield start, text[start : end.start()]
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
            # `Priya called`; any other word may simply begin the sentence.
            if word in _names():
                return True
        elif word not in _never():
            return True
    return False


def _has_capital_nouns(text: str) -> bool:
    """Whether a text is of a language whose nouns have capitals, so that they tell nothing."""
    surely = listed("surely capital nouns").sure
    return not surely.isdisjoint(_WORD.findall(text.lower()))


@cache
def _never() -> frozenset[str]:
    """Words that name nobody, whatever their first letter."""
    return (function_words() | listed("nobody").sure | listed("openers").sure) - _names()


@cache
def _names() -> frozenset[str]:
    """The first words of all names that are listed."""
    sections = [listed(section) for section in ("people", "places", "organizations")]
    return frozenset(
        entry.split(" ")[0] for section in sections for entry in (*section.sure, *section.unsure)
    )
