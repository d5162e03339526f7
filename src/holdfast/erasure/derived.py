"""What else has to go when memories are erased: earlier wordings of them, and what was made of
them.

A summary (a reflection, an episode, a skill) may tell what it was made of in any words, so it goes
as soon as one of its sources does, and is made again of those that are left. A fact or rule stays
while a source is left that says the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..storage.protocol import Transaction, rests_on
from ..storage.schema import fold_text
from ..text.tokens import query_terms
from ..types import Memories, Memory

SUMMARIES = ("reflection", "episode", "skill")
NAMED = "named"
OLDER = "an earlier wording of it"
ALONE = "made of nothing else"
RETOLD = "a summary that may retell it; it is made again of what is left"
REPEATS = "says what no other of its sources says"
SOURCE_STAYS = "it was made of this, which stays"
SAID_ELSEWHERE = "made of it, but other sources say the same"


@dataclass(frozen=True, slots=True)
class Going:
    """A memory that is to be erased, and why."""

    memory: Memory
    why: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A memory that has to do with what is erased and stays, and why."""

    memory: Memory
    why: str


@dataclass(frozen=True, slots=True)
class Fallout:
    """What goes, what stays near it, and which memories have to be read again because something
    made of them goes.
    """

    going: tuple[Going, ...]
    kept: tuple[Kept, ...]
    unread: tuple[Memory, ...]


def fallout(tx: Transaction, named: Iterable[Going]) -> Fallout:
    """Follows the links from what is to be erased to everything that was made of it."""
    return _Trail(tx, named).followed()


class _Trail:
    """The way from memory to memory; a memory is judged again whenever one more of its sources
    goes.
    """

    def __init__(self, tx: Transaction, named: Iterable[Going]) -> None:
        self._tx = tx
        self._going = {one.memory.id: one for one in named}
        self._kept: dict[str, Kept] = {}
        self._unread: dict[str, Memory] = {}
        self._waiting = deque(one.memory for one in self._going.values())

    def followed(self) -> Fallout:
        while self._waiting:
            self._follow(self._waiting.popleft())
        kept = {**self._staying_sources(), **self._kept}
        return Fallout(
            tuple(self._going.values()),
            tuple(one for id_, one in kept.items() if id_ not in self._going),
            tuple(one for id_, one in self._unread.items() if id_ not in self._going),
        )

    def _follow(self, memory: Memory) -> None:
        for edge in self._tx.edges(memory.scope, memory.id):
            other = self._tx.memory(
                memory.scope, edge.source if edge.target == memory.id else edge.target
            )
            if other is None or other.id in self._going:
                continue
            if edge.relation == "derived_from" and edge.target == memory.id:
                self._judge(other)
            elif (
                edge.relation == "supersedes"
                and edge.source == memory.id
                and memory.source == "correction"
            ):
                self._let_go(other, OLDER)

    def _judge(self, derived: Memory) -> None:
        gone, left = self._sources(derived)
        if not left:
            self._let_go(derived, ALONE)
        elif derived.kind in SUMMARIES or repeats(derived, gone, left):
            self._let_go(derived, RETOLD if derived.kind in SUMMARIES else REPEATS)
            self._unread |= {one.id: one for one in left}
        else:
            self._kept[derived.id] = Kept(derived, SAID_ELSEWHERE)

    def _let_go(self, memory: Memory, why: str) -> None:
        self._going[memory.id] = Going(memory, why)
        self._waiting.append(memory)

    def _sources(self, derived: Memory) -> tuple[Memories, Memories]:
        """What a memory was made of: what goes, and what is left."""
        gone = list[Memory]()
        left = list[Memory]()
        for id_ in rests_on(self._tx, derived):
            source = self._tx.memory(derived.scope, id_)
            if source is not None:
                (gone if source.id in self._going else left).append(source)
        return gone, left

    def _staying_sources(self) -> dict[str, Kept]:
        """What the named ones were made of; the sources of what goes with them have their own
        reasons to stay.
        """
        named = [one.memory for one in self._going.values() if one.why == NAMED]
        return {
            source.id: Kept(source, SOURCE_STAYS)
            for memory in named
            for source in self._sources(memory)[1]
        }


def repeats(derived: Memory, gone: Sequence[Memory], left: Sequence[Memory]) -> bool:
    """Whether a memory says something that only those of its sources say which are to go."""
    quotes = (
        fold_text(str(quote))
        for quote in (derived.quote, *derived.metadata.get("quotes", ()))
        if quote
    )
    if any(_within(quote, gone) and not _within(quote, left) for quote in quotes):
        return True
    words = set(query_terms(derived.content))
    known = {term for one in left for term in query_terms(one.content)}
    return any(words & set(query_terms(one.content)) - known for one in gone)


def _within(quote: str, memories: Sequence[Memory]) -> bool:
    return any(quote in fold_text(one.content) for one in memories)
