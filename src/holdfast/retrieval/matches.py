"""What a hit has in common with its question, for people: words, names, a speaker, a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..storage.protocol import Store
from ..text.tokens import words_with
from ..types import Hit, Memory, Micros, Scope
from .candidates import names_in
from .query import Query, analyse


class Match(NamedTuple):
    """What one hit has in common with its question.

    `words` are those of the memory that the question asks for or that belong to a kind that it asks
    for, as the memory writes them; stop words are left out. `names` are the people and things that
    both name, `speaker` its author if the question asks about that person, and `time` the words of
    the question that name its time.
    """

    words: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    speaker: str = ""
    time: str = ""


def matches(
    store: Store,
    scopes: Sequence[Scope],
    question: str,
    hits: Sequence[Hit],
    *,
    now: Micros,
) -> list[Match]:
    """Return for each hit of a question that was asked at this time what both have in common."""
    query = analyse(question, now, authors=store.authors(scopes))
    wanted = (*query.terms, *query.members)
    named = _named(store, scopes, names_in(question), [hit.memory for hit in hits])
    return [
        Match(
            tuple(words_with(f"{hit.memory.title}\n{hit.memory.content}", wanted)),
            named.get(hit.memory.id, ()),
            hit.memory.author if hit.memory.author.casefold() in query.authors else "",
            _time(query, hit.memory),
        )
        for hit in hits
    ]


def _named(
    store: Store,
    scopes: Sequence[Scope],
    names: Sequence[str],
    memories: Sequence[Memory],
) -> dict[str, tuple[str, ...]]:
    """Map memories to those entities that they mention whose names are among `names`."""
    named: dict[str, tuple[str, ...]] = {}
    for scope in scopes:
        ids = [memory.id for memory in memories if memory.scope == scope]
        known = {one.id: one.name for one in store.entities.list((scope,), names=names)}
        if known and ids:
            mentioned = store.entities.mentions_of(scope, ids)
            named |= {
                memory: tuple(known[one] for one in entities if one in known)
                for memory, entities in mentioned.items()
            }
    return named


def _time(query: Query, memory: Memory) -> str:
    inside = (span for span in query.spans if span.start <= memory.event_time < span.end)
    return next((span.text for span in inside), "")
