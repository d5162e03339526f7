"""The nouns. One noun, one type, one table.

Times are integer microseconds since 1970 UTC, the same on every backend; `to_datetime` and
`from_datetime` convert at the surfaces.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from .errors import InvalidInput, ScopeError
from .values import dataclass, field

Micros = int
MINUTE: Micros = 60_000_000
DAY: Micros = 1440 * MINUTE
# Of silence, after which a conversation has ended.
IDLE_MINUTES = 20
# Memories in a context, unless told otherwise.
MOST_HITS = 30
# Active ones of one person: all of them stand in every prompt.
MOST_RULES = 20
OUTDATED_BY = (
    "outdated_by"  # in the metadata of a turn: the ids of what took the place of all that it taught
)
# After which a proposal that nobody decided on is put away.
PROPOSAL_DAYS = 30
Clock = Callable[[], Micros]

Kind = Literal["turn", "document", "episode", "fact", "reflection", "rule", "skill"]
Layer = Literal["episodic", "semantic", "procedural"]
Status = Literal["active", "held", "proposed", "archived", "superseded", "faded", "evicted"]

LAYERS: Mapping[Kind, Layer] = {
    "turn": "episodic",
    "document": "episodic",
    "episode": "episodic",
    "fact": "semantic",
    "reflection": "semantic",
    "rule": "procedural",
    "skill": "procedural",
}
KINDS: tuple[Kind, ...] = tuple(LAYERS)
MAIN_KINDS: Mapping[Layer, Kind] = {"semantic": "fact", "episodic": "episode", "procedural": "rule"}
"""What a memory is of which only the layer is told."""
SURENESS: Mapping[str, float] = {"low": 0.3, "medium": 0.6, "high": 0.9}
"""What the words stand for that some have for confidence."""
STATUSES: tuple[Status, ...] = (
    "active",
    "held",
    "proposed",
    "archived",
    "superseded",
    "faded",
    "evicted",
)
# A turn is a thing that happened, so it shares the episode's prefix (the ids of seed 001).
ID_PREFIXES: Mapping[Kind, str] = {
    "turn": "ep",
    "document": "doc",
    "episode": "ep",
    "fact": "fact",
    "reflection": "ref",
    "rule": "rule",
    "skill": "skill",
}
SCOPE_KINDS = ("user", "assistant", "agent", "project", "shared")

CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"


def system_clock() -> Micros:
    """Now, in microseconds since 1970 UTC."""
    return time.time_ns() // 1000


def to_datetime(micros: Micros) -> datetime:
    """An aware UTC datetime; times outside datetime's range are clamped to its ends."""
    try:
        return datetime.fromtimestamp(micros / 1_000_000, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.max.replace(tzinfo=UTC) if micros > 0 else datetime.min.replace(tzinfo=UTC)


def from_datetime(moment: datetime) -> Micros:
    """Microseconds since 1970 UTC; a naive datetime is taken as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1_000_000)


def iso(micros: Micros) -> str:
    """ISO 8601 with offset, e.g. `2026-03-01T12:00:00+00:00`."""
    return to_datetime(micros).isoformat()


def from_iso(written: str) -> Micros:
    """The time that a text in ISO 8601 says; without an offset it is taken as UTC. ValueError when
    it is none.
    """
    return from_datetime(datetime.fromisoformat(written))


class _Numbers:
    """Chance for ids, rising within a millisecond, so that of two ids made one after the other the
    first is less.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = (-1, 0)

    def next(self, milliseconds: int) -> int:
        """40 bits that nobody can foresee."""
        with self._lock:
            then, number = self._last
            # From the system: a program that seeds Python's chance must not make our ids repeat,
            # nor must a fork.
            chance = int.from_bytes(os.urandom(5))
            number = number + 1 + (chance >> 20) if then == milliseconds else chance >> 1
            self._last = milliseconds, number
            return number & (1 << 40) - 1


_numbers = _Numbers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_numbers.__init__)  # type: ignore[misc]

_PAIRS = tuple(high + low for high in CROCKFORD for low in CROCKFORD)  # two digits at a time


def new_id(prefix: str, at: Micros) -> str:
    """An id such as `fact_01k9y3…` whose text order is its creation order; across processes to the
    millisecond.

    >>> new_id("fact", 0)[:15]
    'fact_0000000000'
    """
    two = _PAIRS
    time = at // 1000
    chance = _numbers.next(time)
    return (
        f"{prefix}_{two[time >> 40 & 1023]}{two[time >> 30 & 1023]}{two[time >> 20 & 1023]}{two[time >> 10 & 1023]}"
        f"{two[time & 1023]}{two[chance >> 30]}{two[chance >> 20 & 1023]}{two[chance >> 10 & 1023]}{two[chance & 1023]}"
    )


class _Scope(NamedTuple):
    kind: str
    key: str


class Scope(_Scope):
    """Whom a memory belongs to, written `kind:key`.

    >>> Scope.parse("user:alice")
    Scope(kind='user', key='alice')
    >>> str(Scope("project", "acme-api"))
    'project:acme-api'
    """

    __slots__ = ()

    def __new__(cls, kind: str, key: str) -> Scope:
        """The scope, if there can be such a one; ScopeError otherwise."""
        if kind not in SCOPE_KINDS:
            raise ScopeError(
                f"Unknown scope kind {kind!r}. Use one of: {', '.join(SCOPE_KINDS)}, e.g. "
                "'user:alice'."
            )
        if not key or len(key) > 200 or re.search(r"[\x00-\x1f\x7f\ud800-\udfff]", key):
            raise ScopeError(f"The key of scope '{kind}:…' must be 1 to 200 printable characters.")
        return super().__new__(cls, kind, key)

    @classmethod
    def parse(cls, text: str | Scope | None) -> Scope:
        """The scope that `text` names; raises ScopeError when there is none."""
        if isinstance(text, Scope):
            return text
        if not isinstance(text, str) or ":" not in text:
            raise ScopeError(
                None
                if text in (None, "")
                else f"{text!r} is not a scope. Write it as 'kind:key', e.g. 'user:alice'."
            )
        kind, _, key = text.partition(":")
        return cls(kind, key)

    def __str__(self) -> str:
        return f"{self.kind}:{self.key}"


@dataclass(frozen=True)
class Triple:
    """What a fact states, as (subject, predicate, object), each of a named type."""

    subject: str
    predicate: str
    object: str
    subject_type: str = ""
    object_type: str = ""


@dataclass(frozen=True)
class Memory:
    """One remembered thing. Frozen: changing it goes through the store, so every change is in the
    journal.
    """

    id: str
    scope: Scope
    kind: Kind
    content: str
    created_at: Micros
    updated_at: Micros
    event_time: Micros
    seq: int = 0
    category: str = "general"
    status: Status = "active"
    status_at: Micros | None = None
    status_reason: str = ""
    title: str = ""
    author: str = ""
    role: str = ""
    session: str | None = None
    position: int | None = None
    valid_from: Micros | None = None
    valid_until: Micros | None = None
    confidence: float = 1.0
    strength: float | None = None
    """Its confidence when it was last said, where it has faded since; None where it has not."""
    decay_rate: float = 0.0
    decayed_at: Micros | None = None
    protected: bool = False
    source: str = ""
    trust: str = "user"
    quote: str = ""
    triple: Triple | None = None
    consolidated_at: Micros | None = None
    outcome: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    access_count: int = 0
    last_accessed: Micros | None = None

    @property
    def layer(self) -> Layer:
        """Which of the three layers the kind belongs to."""
        return LAYERS[self.kind]

    def with_(self, **changes: Any) -> Memory:
        """A copy with some fields changed."""
        return Memory.of({**self.__dict__, **changes})

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Memory:
        """A memory out of all its fields at once: a recall reads hundreds, and setting each field
        takes time.

        The dictionary becomes the memory's own; keep no other use of it.
        """
        memory = cls.__new__(cls)
        object.__setattr__(memory, "__dict__", fields)
        return memory


@dataclass(frozen=True)
class Signal:
    """One reason for a score: a feature's value, its weight, and what they add."""

    name: str
    value: float
    weight: float

    @property
    def share(self) -> float:
        """What this signal added to the score before it was squeezed into [0, 1]."""
        return self.value * self.weight


@dataclass(frozen=True)
class Reasons:
    """Why a hit stands where it stands: its rank in each arm and the signals that were added up."""

    arms: Mapping[str, int]
    signals: tuple[Signal, ...] = ()
    model: str = ""
    similarity: float | None = None
    """Cosine of the memory's vector and the question's, by the best model that has both; at least
    0.
    """

    def __str__(self) -> str:
        found = ", ".join(f"{arm} #{rank}" for arm, rank in self.arms.items()) or "neighbour"
        strongest = sorted(self.signals, key=lambda signal: -abs(signal.share))[:4]
        added = ", ".join(
            f"{signal.name} {signal.share:+.2f}" for signal in strongest if signal.share
        )
        return f"{found}; {added}" if added else found


@dataclass(frozen=True)
class Hit:
    """A memory, its score in [0, 1] (higher is better) and the reasons for that score."""

    memory: Memory
    score: float
    why: Reasons


@dataclass(frozen=True)
class Session:
    """A conversation or run. Its turns are memories of kind `turn`, in `position` order."""

    id: str
    scope: Scope
    started_at: Micros
    last_activity: Micros
    agent: str = ""
    ended_at: Micros | None = None
    end_reason: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


# The sinks of the extraction: see `extraction/progress.py`.
FACTS = "facts"
SUMMARY = "summary"
RECORDS = "records"
PROJECTS = "projects"


@dataclass(frozen=True)
class Progress:
    """How far one sink of the extraction has read a session."""

    scope: Scope
    session: str
    sink: str
    position: int
    """What was read last; each sink counts in its own way, and a later position is a greater one."""
    at: Micros
    detail: Mapping[str, Any] = field(default_factory=dict)
    """What else the sink has to know the next time."""


@dataclass(frozen=True)
class Message:
    """One message of a session, as the agent's framework wrote it. A session's messages only ever
    grow in number.
    """

    scope: Scope
    session: str
    position: int
    body: Mapping[str, Any]
    created_at: Micros


@dataclass(frozen=True)
class Entity:
    """A person, project, place… that memories mention, with the other names it goes by."""

    id: str
    scope: Scope
    name: str
    type: str
    created_at: Micros
    aliases: tuple[str, ...] = ()
    summary: str = ""
    mentions: int = 0


@dataclass(frozen=True)
class About:
    """What is known of an entity: who or what it is, and the memories that mention it, the latest
    stored first.
    """

    entity: Entity
    memories: list[Memory]

    @property
    def timeline(self) -> dict[str, list[Memory]]:
        """The memories by the day on which what they tell happened, oldest first."""
        days: dict[str, list[Memory]] = {}
        for memory in sorted(self.memories, key=lambda one: (one.event_time, one.seq)):
            days.setdefault(iso(memory.event_time)[:10], []).append(memory)
        return days


@dataclass(frozen=True)
class Edge:
    """A link between two memories of one scope: `source` is derived_from, supersedes or
    conflicts_with `target`.
    """

    scope: Scope
    source: str
    target: str
    relation: Literal["derived_from", "supersedes", "conflicts_with"]
    created_at: Micros
    reason: str = ""


@dataclass(frozen=True)
class Event:
    """One entry of the journal: what `actor` changed in `run`. `before` is None where nothing
    was.
    """

    seq: int
    run: str
    at: Micros
    actor: str
    verb: str
    scope: Scope
    noun: str
    target: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


@dataclass(frozen=True)
class Job:
    """A unit of background work. Who holds `token` before `lease_until` owns it; nobody else may
    finish it.
    """

    scope: Scope
    kind: str
    key: str
    status: Literal["pending", "running", "done", "error"]
    token: str = ""
    worker: str = ""
    lease_until: Micros | None = None
    retry_at: Micros | None = None
    retries_left: int = 3
    error: str = ""
    watermark: int = 0
    done_watermark: int = 0


def check_kind(kind: str) -> Kind:
    """`kind` itself, when it is one of ours."""
    for known in KINDS:
        if kind == known:
            return known
    raise InvalidInput(f"Unknown kind {kind!r}. Use one of: {', '.join(KINDS)}.")


def check_status(status: str) -> Status:
    """`status` itself, when it is one of ours."""
    for known in STATUSES:
        if status == known:
            return known
    raise InvalidInput(f"Unknown status {status!r}. Use one of: {', '.join(STATUSES)}.")


# Names for lists, for classes that have a method called `list`.
Memories = list[Memory]
Hits = list[Hit]
Sessions = list[Session]
Messages = list[Message]
ProgressMarks = list[Progress]
Edges = list[Edge]
Events = list[Event]
Scopes = list[Scope]
Names = list[str]
