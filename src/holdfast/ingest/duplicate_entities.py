"""Entities that may be the same: Mel and Melanie, Ines and Ines Ferreira.

They are only suggested, never merged: two people may share a name.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations

from ..models.entities.gazetteer import entries
from ..text.normal_forms import fold
from ..types import Duplicate, Entity

# Letters of the shortest short form: Jon, Mel.
_SHORTEST = 3


def duplicates(entities: Sequence[Entity]) -> Iterator[Duplicate]:
    """Yield pairs that may be the same, the fuller name first, with a reason each."""
    seen = set()
    for group in _alike(entities):
        for pair in combinations(group, 2):
            keep, other = sorted(pair, key=lambda each: (-len(each.name), -each.mentions, each.id))
            reason = "" if (keep.id, other.id) in seen else _reason(keep, other)
            seen.add((keep.id, other.id))
            if reason:
                yield Duplicate(keep, other, reason)


def _alike(entities: Iterable[Entity]) -> list[list[Entity]]:
    """Group entities that share the beginning of a word of their names."""
    groups: dict[tuple[object, str], list[Entity]] = defaultdict(list)
    for entity in entities:
        words = [word for word in _plain(entity.name).split() if len(word) >= _SHORTEST]
        starts = {form[:_SHORTEST] for word in words for form in (word, *_full_forms(word))}
        for start in starts or {_plain(entity.name)}:
            groups[entity.scope, start].append(entity)
    return [group for group in groups.values() if len(group) > 1]


def _reason(full: Entity, short: Entity) -> str:
    """Return why two entities may be the same; empty if nothing says so."""
    longer, shorter = _plain(full.name).split(), _plain(short.name).split()
    if longer == shorter:
        return "the same name"
    if not longer or not shorter or {full.type, short.type} != {"person"}:
        return ""
    if len(shorter) == 1 and len(longer) > 1 and shorter[0] in (longer[0], longer[-1]):
        part = "first name" if shorter[0] == longer[0] else "surname"
        return f"{short.name} is the {part} of {full.name}"
    if not _is_short_form(shorter[0], longer[0]):
        return ""
    told = f"{_first(short)} is short for {_first(full)}"
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
