"""Everyday kinds: who asks for a car also finds the Prius, which the memory does not call a car.

The words come from the language files, so they are the same on every machine and cost no lookup in
a store. A member counts for less than the word that was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from ..languages import in_every_language
from ..text.tokens import index_terms


def members_of(terms: Iterable[str]) -> dict[str, str]:
    """Map terms of what belongs to a kind in `terms` to that kind. Terms of the question are left
    out: they count for themselves.

    >>> members_of(["car"])["prius"]
    'car'
    """
    asked = tuple(terms)
    known = _members()
    found = {member: kind for kind in asked for member in known.get(kind, ())}
    return {member: kind for member, kind in found.items() if member not in asked}


@cache
def _members() -> Mapping[str, tuple[str, ...]]:
    """Terms of the members by each term that names their kind."""
    found: dict[str, tuple[str, ...]] = {}
    for _, section in in_every_language("kinds"):
        lines = str(section.get("members", "")).replace("\n    ", " ").splitlines()
        for kinds, _, members in (line.partition(":") for line in lines):
            terms = index_terms(members)
            for kind in index_terms(kinds):
                found[kind] = tuple(dict.fromkeys((*found.get(kind, ()), *terms)))
    return found
