"""Entities that may be the same: Mel and Melanie, Ines and Ines Ferreira.

They are only suggested, never merged: two people may share a name.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from ..models.entities.gazetteer import entries
from ..text.normal_forms import fold
from ..types import Duplicate, Entity

# Letters of the shortest short form: Jon, Mel.
_SHORTEST = 3


@dataclass(frozen=True, slots=True)
class _Named:
    """An entity with its name in plain words, read once."""

    place: int
    entity: Entity
    words: tuple[str, ...]
    starts: frozenset[str]
    """Beginnings of its words and of what they are short for; two that may be the same share
    one.
    """


def duplicates(entities: Sequence[Entity]) -> Iterator[Duplicate]:
    """Yield pairs that may be the same, the fuller name first, with a reason each."""
    named = [_named(place, entity) for place, entity in enumerate(entities)]
    for one, other in sorted(_candidates(named)):
        pair = (named[one], named[other])
        full, short = sorted(
            pair, key=lambda each: (-len(each.entity.name), -each.entity.mentions, each.entity.id)
        )
        if full.starts & short.starts and (reason := _reason(full, short)):
            yield Duplicate(full.entity, short.entity, reason)


def _named(place: int, entity: Entity) -> _Named:
    plain = _plain(entity.name)
    words = tuple(plain.split())
    long_ones = [word for word in words if len(word) >= _SHORTEST]
    starts = {form[:_SHORTEST] for word in long_ones for form in (word, *_full_forms(word))}
    return _Named(place, entity, words, frozenset(starts or {plain}))


def _candidates(named: Sequence[_Named]) -> set[tuple[int, int]]:
    """Return the places of pairs worth a look: found by their words, since comparing each with each
    takes time that grows with the square of their number.
    """
    # Every key begins with the scope: entities of different scopes are never the same.
    same_name = defaultdict[tuple[object, ...], list[int]](list)
    same_surname = defaultdict[tuple[object, ...], list[int]](list)
    by_start = defaultdict[tuple[object, ...], list[int]](list)
    by_word = defaultdict[tuple[object, ...], list[int]](list)
    for one in named:
        scope, words = one.entity.scope, one.words
        same_name[scope, words].append(one.place)
        if words and one.entity.type == "person":
            if len(words) > 1:
                same_surname[scope, words[-1]].append(one.place)
            for end in range(_SHORTEST, len(words[0]) + 1):
                by_start[scope, words[0][:end]].append(one.place)
            for word in {words[0], words[-1]}:
                by_word[scope, word].append(one.place)
    pairs = {pair for group in (same_name, same_surname) for pair in _pairs(group.values())}
    for one in named:
        if len(one.words) == 1 and one.entity.type == "person":
            (word,) = one.words
            scope = one.entity.scope
            others = [*by_start[scope, word], *by_word[scope, word]]
            for full in _full_forms(word):
                others += by_word[scope, full]
            pairs |= {
                (min(one.place, other), max(one.place, other))
                for other in others
                if other != one.place
            }
    return pairs


def _pairs(groups: Iterable[list[int]]) -> Iterator[tuple[int, int]]:
    for group in groups:
        yield from combinations(group, 2)


def _reason(full: _Named, short: _Named) -> str:
    """Return why two entities may be the same; empty if nothing says so."""
    longer, shorter = full.words, short.words
    if longer == shorter:
        return "the same name"
    if not longer or not shorter or {full.entity.type, short.entity.type} != {"person"}:
        return ""
    if len(shorter) == 1 and len(longer) > 1 and shorter[0] in (longer[0], longer[-1]):
        part = "first name" if shorter[0] == longer[0] else "surname"
        return f"{short.entity.name} is the {part} of {full.entity.name}"
    if not _is_short_form(shorter[0], longer[0]):
        return ""
    told = f"{_first(short.entity)} is short for {_first(full.entity)}"
    if len(shorter) == 1:
        return told
    return f"the same surname, and {told}" if longer[-1] == shorter[-1] else ""


def _first(entity: Entity) -> str:
    return entity.name.split()[0]


def _is_short_form(short: str, full: str) -> bool:
    """Whether a first name is the beginning of another, its initial, or a common short form."""
    initial = short.rstrip(".")
    if len(initial) == 1:
        return full.startswith(initial) and len(full) > 1
    begins = len(short) >= _SHORTEST and full.startswith(short) and short != full
    return begins or full in _full_forms(short)


def _full_forms(short: str) -> tuple[str, ...]:
    """Return the first names of which a name is a short form: Bob is Robert."""
    return _short_forms().get(short, ())


@cache
def _short_forms() -> dict[str, tuple[str, ...]]:
    pairs = (entry.partition("=") for entry in entries("short forms"))
    return {_plain(short): tuple(map(_plain, full.split("|"))) for short, _, full in pairs}


def _plain(name: str) -> str:
    """Return a name without case and accents."""
    letters = unicodedata.normalize("NFD", fold(name))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))
