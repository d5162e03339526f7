"""People, organisations, places and other things by how their names are written, without a model.

What the rules (`name_rules.py`) find has a type; a longer span of capitals (`spans.py`) around it,
or without it, is a name as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from .base import EntityMatch, EntityType, resolve
from .east_asian import east_asian_names
from .gazetteer import entries, key_of, listed
from .name_rules import LIKELY, TOLD, Reading
from .spans import Span, is_name, spans_of, type_of

# Confidence of a span of several words, and of a single word.
WRITTEN = 0.55
BARE = 0.4


class NameRecogniser:
    """Names by rules and lists in Latin and Cyrillic script; in Han, kana and hangul by the words
    next to a name.
    """

    name = "names"

    def available(self) -> bool:
        return True

    def recognise(self, text: str) -> list[EntityMatch]:
        if text.isascii() and text.islower():
            return []
        reading = Reading(text)
        found = list(reading.names())
        if reading.grammar:
            found = list(_with_spans(text, found, reading.grammar))
        return _with_other_scripts(text, found)

    def surest(self, text: str) -> list[EntityMatch]:
        """Return only names of which the rules are confident, in a fraction of the time."""
        reading = Reading(text)
        found = [one for one in reading.names() if one.confidence >= LIKELY]
        if any(_may_go_on(text, one) for one in found) and reading.grammar:
            spans = _with_spans(text, found, reading.grammar)
            found = [one for one in spans if one.confidence >= LIKELY]
        return _with_other_scripts(text, found)


def _with_other_scripts(text: str, found: list[EntityMatch]) -> list[EntityMatch]:
    if not text.isascii():
        found += (*_quoted_companies(text), *resolve(east_asian_names(text)))
    return sorted(found, key=lambda one: one.start)


_CAPITAL_BEHIND = re.compile(r"['’]?s? [A-Z\d]|\+")
_CAPITAL_BEFORE = re.compile(r"[A-Z][\w'’-]* $")
_LONGEST_WORD = 30


def _may_go_on(text: str, found: EntityMatch) -> bool:
    """Whether a capital stands beside a name, so that it may be part of a longer one."""
    before = text[max(0, found.start - _LONGEST_WORD) : found.start]
    return bool(_CAPITAL_BEHIND.match(text, found.end) or _CAPITAL_BEFORE.search(before))


def _with_spans(
    text: str, found: list[EntityMatch], grammar: frozenset[str]
) -> Iterator[EntityMatch]:
    """Yield what the rules found, and what is written like a name: a longer span replaces the names
    inside it.
    """
    owners = {one.end for one in found if text[one.end : one.end + 1] in ("'", "’")}
    passed = 0
    for span in spans_of(text, grammar=grammar, owners=owners):
        while passed < len(found) and found[passed].end <= span.start:
            yield found[passed]
            passed += 1
        behind = passed
        while behind < len(found) and found[behind].start < span.end:
            behind += 1
        inside = found[passed:behind]
        if any(one.start <= span.start and span.end <= one.end for one in inside):
            continue
        if is_name(span) or any(one.start == span.start for one in inside):
            yield _named_by(span, text, inside)
            passed = behind
    yield from found[passed:]


def _named_by(span: Span, text: str, inside: list[EntityMatch]) -> EntityMatch:
    """Return a span as a match. A list, its words or a name at its end may say what it is."""
    raw = text[span.start : span.end]
    key = key_of(raw)
    type_ = next((type_ for section, type_ in _LISTS if key in listed(section)), type_of(span))
    if type_ == "other" and inside and inside[-1].end == span.end and not span.quoted:
        type_ = inside[-1].type
    single = len(span.words) == 1 and not span.quoted and key not in listed("products")
    sure = max([BARE if single else WRITTEN, *(one.confidence for one in inside)])
    return EntityMatch(raw, type_, span.start, span.end, sure, raw)


_LISTS: tuple[tuple[str, EntityType], ...] = (
    ("people", "person"),
    ("places", "location"),
    ("organizations", "organization"),
)


def _quoted_companies(text: str) -> Iterator[EntityMatch]:
    for match in _quoted_company().finditer(text):
        yield EntityMatch(
            match[1].strip(), "organization", match.start(), match.end(), TOLD, match.group()
        )


@cache
def _quoted_company() -> re.Pattern[str]:
    """Return a pattern for a legal form or a company noun followed by a name in quotation marks."""
    words = "|".join(entries("before quoted company"))
    return re.compile(rf"(?<!\w)(?:{words}) [«\"“„]([^«»\"“”\n]{{2,60}})[»\"”“]")
