"""Fallout of an erasure: earlier versions of the erased memories, and what was derived from them.

A summary (reflection, episode, skill) may retell any of its sources, so it goes as soon as one
source goes, and is written again from the rest. A fact or rule stays while a remaining source says
the same. A fact that is told with the question it answers goes with that question, too, and is
found again in the answer if that can be understood alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..extraction.standalone import question_of
from ..storage.protocol import Transaction, rests_on
from ..text.normal_forms import fold_text
from ..text.tokens import query_terms
from ..types import Memories, Memory

SUMMARIES = ("reflection", "episode", "skill")
NAMED = "named"
OLDER = "an earlier wording of it"
ALONE = "made of nothing else"
RETOLD = "a summary that may retell it; it is made again of what is left"
REPEATS = "says what no other of its sources says"
ASKED = "is told with its question"
SOURCE_STAYS = "it was made of this, which stays"
SAID_ELSEWHERE = "made of it, but other sources say the same"


@dataclass(frozen=True, slots=True)
class Going:
    """A memory to erase, with the reason."""

    memory: Memory
    why: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A related memory that stays, with the reason."""

    memory: Memory
    why: str


@dataclass(frozen=True, slots=True)
class Fallout:
    """What goes, what stays nearby, and which sources must be processed again because their summary
    goes.
    """

    going: tuple[Going, ...]
    kept: tuple[Kept, ...]
    unread: tuple[Memory, ...]


def fallout(tx: Transaction, named: Iterable[Going]) -> Fallout:
    """Follow the links from the erased memories to everything derived from them."""
    return _Trail(tx, named).followed()


class _Trail:
    """Graph walk. A memory is judged again whenever another of its sources goes."""

    def __init__(self, tx: Transaction, named: Iterable[Going]) -> None:
        self._tx = tx
        self._going = {one.memory.id: one for one in named}
        self._kept: dict[str, Kept] = {}
        self._unread: dict[str, Memory] = {}
        self._answers: dict[str, Memories] = {}
        self._waiting = deque(one.memory for one in self._going.values())

    def followed(self) -> Fallout:
        while self._waiting:
            self._follow(self._waiting.popleft())
        kept = {**self._staying_sources(), **self._kept}
        # A memory that was judged as staying may have gone later in the walk.
        staying = [one for id_, one in kept.items() if id_ not in self._going]
        unread = [one for id_, one in self._unread.items() if id_ not in self._going]
        return Fallout(
            tuple(self._going.values()),
            tuple(staying),
            tuple(unread),
        )

    def _follow(self, memory: Memory) -> None:
        for edge in self._tx.edges(memory.scope, memory.id):
            incoming = edge.target == memory.id
            other = self._tx.memory(memory.scope, edge.source if incoming else edge.target)
            if other is None or other.id in self._going:
                continue
            if edge.relation == "derived_from" and incoming:
                self._judge(other)
            # A correction replaces the wording of the same fact; other successors do not.
            replaced = edge.relation == "supersedes" and edge.source == memory.id
            if replaced and memory.source == "correction":
                self._let_go(other, OLDER)
        if memory.kind == "turn" and memory.session:
            self._follow_question(memory, memory.session)

    def _follow_question(self, turn: Memory, session: str) -> None:
        """Facts that are told with a question of a turn go with it."""
        if session not in self._answers:
            named = self._tx.sessions.memories(turn.scope, session, named=True)
            self._answers[session] = [one for one in named if question_of(one.content)]
        for fact in self._answers[session]:
            asked = fold_text(question_of(fact.content))
            if fact.id not in self._going and asked in fold_text(turn.content):
                self._let_go(fact, ASKED)
                _, left = self._sources(fact)
                self._unread |= {one.id: one for one in left}

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
        """Sources of a memory: those that go and those that stay."""
        gone = list[Memory]()
        left = list[Memory]()
        for id_ in rests_on(self._tx, derived):
            source = self._tx.memory(derived.scope, id_)
            if source is None:
                continue
            if source.id in self._going:
                gone.append(source)
            else:
                left.append(source)
        return gone, left

    def _staying_sources(self) -> dict[str, Kept]:
        """Sources of the named memories. Sources of other derived memories have their own reasons
        to stay.
        """
        kept: dict[str, Kept] = {}
        for going in self._going.values():
            if going.why != NAMED:
                continue
            _, left = self._sources(going.memory)
            for source in left:
                kept[source.id] = Kept(source, SOURCE_STAYS)
        return kept


def repeats(
    derived: Memory,
    gone: Sequence[Memory],
    left: Sequence[Memory],
) -> bool:
    """Whether the memory says something that no remaining source says."""
    for quote in (derived.quote, *derived.metadata.get("quotes", ())):
        if not quote:
            continue
        folded = fold_text(str(quote))
        if _within(folded, gone) and not _within(folded, left):
            return True
    words = set(query_terms(derived.content))
    known: set[str] = set()
    for one in left:
        known.update(query_terms(one.content))
    return any(words & set(query_terms(one.content)) - known for one in gone)


def _within(quote: str, memories: Sequence[Memory]) -> bool:
    return any(quote in fold_text(one.content) for one in memories)
