"""Names that a scope knows already, found again in its other memories.

A name at the start of a sentence looks like any other word, and in Chinese or Japanese every name
does. Where somebody is known by it, it is that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..models.entities.base import EntityMatch, EntityType, compiled
from ..models.entities.gazetteer import listed
from ..models.entities.name_rules import LIKELY, function_words
from ..storage.row_codec import entity_names
from ..text.normal_forms import fold
from ..types import Entity

# Less sure than a longer name that holds this one, surer than a single word with a capital.
CONFIDENCE = 0.5

# Kinds of names that are no ordinary words.
TYPES: tuple[EntityType, ...] = ("person", "organization", "location", "project")
_LONGEST = 4  # words
_SHORTEST = 2  # letters
_WORD = re.compile(r"[^\W\d_][\w'’.-]*\w|[^\W\d_]")
_UNSPACED = "[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af]"


class KnownNames:
    """Finds the names of known entities in texts."""

    def __init__(self, entities: Iterable[Entity] = ()) -> None:
        self._spaced: dict[str, tuple[str, EntityType]] = {}
        self._unspaced: dict[str, tuple[str, EntityType]] = {}
        self._any_unspaced: re.Pattern[str] | None = None
        for entity in entities:
            for name in entity_names(entity):
                self._add(name, entity.name, entity.type)

    def learn(self, found: Iterable[EntityMatch]) -> None:
        """Know the names that were found in a text, if it was sure of them."""
        for one in found:
            if one.confidence >= LIKELY:
                self._add(fold(one.name), one.name, one.type)

    def _add(self, folded: str, name: str, type: str) -> None:
        known = next((one for one in TYPES if one == type), None)
        if known and len(folded) >= _SHORTEST and not _is_ordinary(folded):
            if compiled(_UNSPACED).search(folded):
                self._unspaced.setdefault(folded, (name, known))
                self._any_unspaced = None
            else:
                self._spaced.setdefault(folded, (name, known))

    def find(self, text: str) -> Iterator[EntityMatch]:
        """Yield the names in a text; in scripts that have capitals, only with one."""
        if self._spaced:
            yield from self._find_words(text)
        if self._unspaced and compiled(_UNSPACED).search(text):
            yield from self._find_characters(text)

    def _find_characters(self, text: str) -> Iterator[EntityMatch]:
        if self._any_unspaced is None:
            longest_first = sorted(self._unspaced, key=len, reverse=True)
            self._any_unspaced = re.compile("|".join(map(re.escape, longest_first)))
        for match in self._any_unspaced.finditer(text):
            yield _match(match.group(), *self._unspaced[match.group()], match.start())

    def _find_words(self, text: str) -> Iterator[EntityMatch]:
        words = [word.span() for word in _WORD.finditer(text)]
        for at, (start, _) in enumerate(words):
            if not text[start].isupper():
                continue
            for count in range(min(_LONGEST, len(words) - at), 0, -1):
                raw = text[start : words[at + count - 1][1]]
                written = next((one for one in (raw, _bare(raw)) if fold(one) in self._spaced), "")
                if written:
                    yield _match(written, *self._spaced[fold(written)], start)
                    break


def _bare(raw: str) -> str:
    return raw.removesuffix("'s").removesuffix("’s")


def _is_ordinary(name: str) -> bool:
    """Whether a name is an ordinary word as well: Will, Rose, Hope."""
    sections = ("people", "places", "organizations", "products")
    unsure = any(name in listed(section).unsure for section in sections)
    return (
        unsure or name in function_words() or name in listed("openers") or name in listed("nobody")
    )


def _match(raw: str, name: str, type_: EntityType, start: int) -> EntityMatch:
    return EntityMatch(name, type_, start, start + len(raw), CONFIDENCE, raw)
