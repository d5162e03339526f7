"""The nouns: one noun, one type, one table.

Times are integer microseconds since 1970 UTC on every backend; `to_datetime` and `from_datetime`
convert them at the surfaces.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from .errors import InvalidInput, ScopeError
from .values import dataclass, field

Micros = int
# Times are microseconds.
MINUTE: Micros = 60_000_000
DAY: Micros = 1440 * MINUTE
# A session ends after this much silence.
IDLE_MINUTES = 20
# Default number of memories in a context.
MOST_HITS = 30
# Active rules per owner. The limit is low because every prompt contains all of them.
MOST_RULES = 20
# Key in the metadata of a turn: ids of the memories that replaced everything extracted from it.
OUTDATED_BY = "outdated_by"
# Undecided proposals expire after this many days.
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
"""Kind of a memory for which only the layer is given."""
SURENESS: Mapping[str, float] = {"low": 0.3, "medium": 0.6, "high": 0.9}
"""Confidence values of the words that some formats use."""
STATUSES: tuple[Status, ...] = (
    "active",
    "held",
    "proposed",
    "archived",
    "superseded",
    "faded",
    "evicted",
)
# A turn is an event, so it shares the prefix of episodes (seed 001 prescribes these ids).
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
    """Current time in microseconds since 1970 UTC."""
    return time.time_ns() // 1000


def to_datetime(micros: Micros) -> datetime:
    """Convert to an aware UTC datetime; clamp times outside datetime's range."""
    try:
        return datetime.fromtimestamp(micros / 1_000_000, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.max.replace(tzinfo=UTC) if micros > 0 else datetime.min.replace(tzinfo=UTC)


def from_datetime(moment: datetime) -> Micros:
    """Convert to microseconds since 1970 UTC; treat a naive datetime as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1_000_000)


def iso(micros: Micros) -> str:
    """Format as ISO 8601 with offset, e.g. `2026-03-01T12:00:00+00:00`."""
    return to_datetime(micros).isoformat()


def from_iso(written: str) -> Micros:
    """Parse an ISO 8601 time; without an offset it is UTC. Raises ValueError if it is not one."""
    return from_datetime(datetime.fromisoformat(written))


class _Numbers:
    """Random part of ids, increasing within a millisecond, so that ids sort by creation order."""

    def __init__(self) -> None:
        # Two threads must not draw the same number within a millisecond.
        self._lock = threading.Lock()
        self._last = (-1, 0)

    def next(self, milliseconds: int) -> int:
        """Return 40 unpredictable bits, greater than the last ones of the same millisecond."""
        with self._lock:
            then, number = self._last
            # From the operating system: ids must not repeat when a program seeds Python's generator
            # or forks.
            chance = int.from_bytes(os.urandom(5))
            number = number + 1 + (chance >> 20) if then == milliseconds else chance >> 1
            self._last = milliseconds, number
            return number & (1 << 40) - 1


_numbers = _Numbers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_numbers.__init__)  # type: ignore[misc]

_PAIRS = tuple(high + low for high in CROCKFORD for low in CROCKFORD)  # encode two digits at a time


def new_id(prefix: str, at: Micros) -> str:
    """Create an id such as `fact_01k9y3…`. Text order is creation order, across processes to the
    millisecond.

    >>> new_id("fact", 0)[:15]
    'fact_0000000000'
    """
    # Two digits carry ten bits. One expression instead of a loop: an import makes thousands of ids.
    two = _PAIRS
    time = at // 1000
    chance = _numbers.next(time)
    return (
        f"{prefix}_"
        f"{two[time >> 40 & 1023]}{two[time >> 30 & 1023]}{two[time >> 20 & 1023]}"
        f"{two[time >> 10 & 1023]}{two[time & 1023]}"
        f"{two[chance >> 30]}{two[chance >> 20 & 1023]}{two[chance >> 10 & 1023]}"
        f"{two[chance & 1023]}"
    )


class _Scope(NamedTuple):
    kind: str
    key: str


class Scope(_Scope):
    """Owner of a memory, written `kind:key`.

    >>> Scope.parse("user:alice")
    Scope(kind='user', key='alice')
    >>> str(Scope("project", "acme-api"))
    'project:acme-api'
    """

    __slots__ = ()

    def __new__(cls, kind: str, key: str) -> Scope:
        """Validate kind and key; raises ScopeError."""
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
        """Parse `kind:key`; raises ScopeError."""
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
    """Statement of a fact as (subject, predicate, object), with the types of both ends."""

    subject: str
    predicate: str
    object: str
    subject_type: str = ""
    object_type: str = ""


@dataclass(frozen=True)
class Memory:
    """One memory. Frozen: changes go through the store, so each one is in the journal."""

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
    """Confidence when last stated, if it has decayed since; otherwise None."""
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
        """Layer of the memory's kind."""
        return LAYERS[self.kind]

    @property
    def moment(self) -> Micros:
        """When it happened: when it began to be true or, without that, the time of its event."""
        return self.event_time if self.valid_from is None else self.valid_from

    def with_(self, **changes: Any) -> Memory:
        """Copy with some fields changed."""
        return Memory.of({**self.__dict__, **changes})

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # As in `Hit`: other libraries call the content a text.
            from .foreign_names import no_such_field  # noqa: PLC0415

            raise no_such_field(self, name, ())

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Memory:
        """Build a memory from all its fields without calling `__init__`.

        A recall builds hundreds, and assigning each field takes time. The memory takes ownership of
        `fields`; do not use the dictionary afterwards.
        """
        memory = cls.__new__(cls)
        object.__setattr__(memory, "__dict__", fields)
        return memory


@dataclass(frozen=True)
class Signal:
    """One part of a score: the value of a feature, its weight and their product."""

    name: str
    value: float
    weight: float

    @classmethod
    def of(cls, name: str, value: float, weight: float) -> Signal:
        """Build a signal without calling `__init__`, as `Memory.of` does: every recall builds a
        hundred.
        """
        signal = cls.__new__(cls)
        object.__setattr__(signal, "__dict__", {"name": name, "value": value, "weight": weight})
        return signal

    @property
    def share(self) -> float:
        """Contribution to the score before it is mapped to [0, 1]."""
        return self.value * self.weight


# What each signal says, in words for people. A signal without an entry says its name.
SIGNALS_IN_WORDS: Final[Mapping[str, str]] = {
    "words": "shares the question's words",
    "session words": "its conversation shares them",
    "meaning": "close in meaning",
    "session meaning": "its conversation is close in meaning",
    "speaker": "said by the person asked about",
    "date": "happened when the question says",
    "answer type": "tells a time or a number, as asked",
    "length": "long enough to say something",
    "question": "asks rather than answers",
    "reranker": "read together with the question",
    "turn": "its turn says less of it",
}


@dataclass(frozen=True)
class Reasons:
    """Explanation of a hit: its rank in each arm and the signals of its score."""

    arms: Mapping[str, int]
    signals: tuple[Signal, ...] = ()
    model: str = ""
    similarity: float | None = None
    """Cosine of memory and question by the best model that embedded both; at least 0."""

    def __str__(self) -> str:
        found = ", ".join(f"{arm} #{rank}" for arm, rank in self.arms.items()) or "neighbour"
        strongest = sorted(self.signals, key=lambda signal: -abs(signal.share))[:4]
        added = ", ".join(
            f"{SIGNALS_IN_WORDS.get(signal.name, signal.name)} {signal.share:+.2f}"
            for signal in strongest
            if signal.share
        )
        return f"{found}; {added}" if added else found


# Scores from which a hit is called strong, and likely.
STRONG = 0.6
LIKELY = 0.35


@dataclass(frozen=True)
class Hit:
    """A memory with its score in [0, 1] (higher is better) and the explanation of that score."""

    memory: Memory
    score: float
    why: Reasons

    @property
    def strength(self) -> str:
        """The score in a word: `strong`, `likely` or `weak`."""
        if self.score >= STRONG:
            return "strong"
        return "likely" if self.score >= LIKELY else "weak"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # What people expect of a search result; a type checker must not accept any name.
            from .foreign_names import no_such_field  # noqa: PLC0415

            raise no_such_field(self, name, Memory.__annotations__, within="memory.")


@dataclass(frozen=True)
class Session:
    """A conversation or a run. Its turns are memories of kind `turn`, ordered by `position`."""

    id: str
    scope: Scope
    started_at: Micros
    last_activity: Micros
    agent: str = ""
    ended_at: Micros | None = None
    end_reason: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


# Sinks of the extraction runner: see `extraction/progress.py`.
FACTS = "facts"
SUMMARY = "summary"
RECORDS = "records"
PROJECTS = "projects"


@dataclass(frozen=True)
class Progress:
    """How far a sink has read one session."""

    scope: Scope
    session: str
    sink: str
    position: int
    """Last position read. Each sink defines its own unit; later positions are greater."""
    at: Micros
    detail: Mapping[str, Any] = field(default_factory=dict)
    """Further state of the sink for its next run."""


@dataclass(frozen=True)
class Message:
    """One message of a session in the format of the agent's framework. Messages are append-only."""

    scope: Scope
    session: str
    position: int
    body: Mapping[str, Any]
    created_at: Micros


@dataclass(frozen=True)
class Entity:
    """A person, project, place or other thing that memories mention, with its aliases."""

    id: str
    scope: Scope
    name: str
    type: str
    created_at: Micros
    aliases: tuple[str, ...] = ()
    summary: str = ""
    mentions: int = 0


@dataclass(frozen=True)
class Duplicate:
    """Two entities that may be the same: the one with the fuller name, the other, and why."""

    keep: Entity
    other: Entity
    reason: str


@dataclass(frozen=True)
class About:
    """An entity with the memories that mention it, most recently stored first."""

    entity: Entity
    memories: list[Memory]

    @property
    def timeline(self) -> dict[str, list[Memory]]:
        """Memories by the day of their event time, oldest first."""
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
    """One journal entry: what `actor` changed in `run`. `before` is None for a creation."""

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
    """A unit of background work. The holder of `token` owns it until `lease_until`; nobody else can
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
    """Return `kind` if it is valid; raises InvalidInput."""
    for known in KINDS:
        if kind == known:
            return known
    raise InvalidInput(f"Unknown kind {kind!r}. Use one of: {', '.join(KINDS)}.")


def check_status(status: str) -> Status:
    """Return `status` if it is valid; raises InvalidInput."""
    for known in STATUSES:
        if status == known:
            return known
    raise InvalidInput(f"Unknown status {status!r}. Use one of: {', '.join(STATUSES)}.")


# Aliases of list types for classes with a method called `list`.
Memories = list[Memory]
Hits = list[Hit]
Sessions = list[Session]
Messages = list[Message]
ProgressMarks = list[Progress]
Edges = list[Edge]
Events = list[Event]
Scopes = list[Scope]
Names = list[str]
