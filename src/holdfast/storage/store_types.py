"""Values that cross the storage protocol: filters in, candidates and reports out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from ..errors import ScopeError
from ..types import Entity, Job, Kind, Memory, Micros, Scope, Status
from ..values import dataclass, field

Ranked = list[tuple[int, float]]
"""Pairs of a memory's `seq` and a similarity in [0, 1], best first, ties in insertion order."""
Order = Literal["newest", "oldest", "latest", "earliest"]
EventOrder = Literal["newest", "oldest"]
Axis = Literal["happened", "learned"]
"""What a timeline goes by: when things happened, or when they were stored."""
ITEMS = "langgraph"
"""Source of memories that are items of LangGraph's store; their metadata holds the namespace."""


@dataclass(frozen=True)
class Filter:
    """Which memories a query may return. A backend applies it before any limit.

    Raises ScopeError when no scope is given: there is no query over all scopes.
    """

    scopes: tuple[Scope, ...]
    kinds: tuple[Kind, ...] = ()
    categories: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = ("active",)
    tags: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    excluded_sessions: tuple[str, ...] = ()
    """Exclude the turns of these sessions and the memories whose metadata names one of them."""
    authors: tuple[str, ...] = ()
    since: Micros | None = None
    until: Micros | None = None
    valid_at: Micros | None = None
    as_of: Micros | None = None
    consolidated: bool | None = None
    """Whether consolidation has processed the memory; None for either."""
    unenriched: bool = False
    """Only memories that the second entity pass has not processed yet."""
    namespace: tuple[str, ...] | None = None
    """Only LangGraph items in this namespace or below it; an empty tuple matches all items."""
    ended_by: Micros | None = None
    """Only active memories whose validity ended at or before this time."""

    def __post_init__(self) -> None:
        if not self.scopes:
            raise ScopeError()

    @property
    def narrow(self) -> bool:
        """Whether the filter asks for more than "active in these scopes and valid now"."""
        return self.statuses != ("active",) or any(
            (
                self.kinds,
                self.categories,
                self.tags,
                self.sessions,
                self.excluded_sessions,
                self.authors,
                self.since is not None,
                self.until is not None,
                self.as_of is not None,
                self.consolidated is not None,
                self.unenriched,
                self.namespace is not None,
                self.ended_by is not None,
            )
        )


class Corpus(NamedTuple):
    """Term statistics over the active memories of the queried scopes, for inverse document
    frequency.
    """

    size: int
    mean_length: float
    frequency: Mapping[str, int] = MappingProxyType({})


class Candidate(NamedTuple):
    """What ranking needs of a memory, as it is stored. A recall reads hundreds, of which only a few
    become hits, so the rest of a memory stays in the store.
    """

    seq: int
    scope: int
    """Number of the scope, which tells the scopes of one recall apart."""
    id: str
    kind: Kind
    status: Status
    title: str
    content: str
    author: str
    role: str
    session: str | None
    position: int | None
    event_time: Micros
    confidence: float
    tags_json: str | None
    metadata_json: str | None

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags, decoded."""
        return tuple(json.loads(self.tags_json)) if self.tags_json else ()

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata, decoded."""
        return json.loads(self.metadata_json) if self.metadata_json else {}


Candidates = list[Candidate]


class DayCount(NamedTuple):
    """Number of memories of a kind on a day, which is counted from 1970."""

    day: int
    kind: Kind
    memories: int


DayCounts = list[DayCount]


class Pair(NamedTuple):
    """Two entities, and the number of active memories that mention both."""

    one: str
    other: str
    memories: int


Pairs = list[Pair]


class Author(NamedTuple):
    """Who writes, in which run and when. All changes of one transaction share it."""

    actor: str
    run: str
    at: Micros
    verb: str


class Spent(NamedTuple):
    """Use of a language model: number of calls, and tokens of prompts and answers together."""

    calls: int = 0
    tokens: int = 0


class Booked(NamedTuple):
    """What an owner used on a day, counted in days since 1970."""

    scope: Scope
    day: int
    spent: Spent


class OwnerSize(NamedTuple):
    """How much an owner has stored: active memories, words in them, and the last time of use."""

    scope: Scope
    memories: int
    words: int
    last_activity: Micros | None


class Sizes(NamedTuple):
    """Size of a store in bytes, and of each owner's part."""

    bytes: int
    owners: list[OwnerSize]


class JobCount(NamedTuple):
    """Number of jobs of a kind in a status, by the worker that holds them."""

    kind: str
    status: str
    worker: str
    number: int
    lease_until: Micros | None


class Look(NamedTuple):
    """A scope that a worker has to look at, because there may be jobs of one kind and key."""

    scope: Scope
    kind: str
    key: str
    changes: int
    """Grows with what is written to the scope; by it a store knows what a look has not seen."""


class Enqueued(NamedTuple):
    """A job to add or to renew."""

    scope: Scope
    kind: str
    key: str
    watermark: int


class Finding(NamedTuple):
    """One problem found by the health check: where, what, and whether a repair can fix it."""

    check: str
    detail: str
    repairable: bool = True


class Met(NamedTuple):
    """Sync position in another store's journal: number and run of the last entry read, and when."""

    seq: int = 0
    run: str = ""
    at: Micros | None = None


@dataclass
class Adopted:
    """Result of applying another store's changes: counts by noun, and rows that need follow-up."""

    count: Counter[str] = field(default_factory=Counter)
    things: set[tuple[str, str]] = field(default_factory=set)
    """Noun and target of each applied row; this store's journal now covers them."""
    memories: list[str] = field(default_factory=list)
    """Ids of memories that are new here."""
    edges: list[tuple[Any, ...]] = field(default_factory=list)
    """Source, target and relation of edges that were added or changed."""
    erased: list[Memory] = field(default_factory=list)
    """Memories erased here because the other store erased them; other rows may still quote them."""
    sessions: list[str] = field(default_factory=list)
    """Ids of sessions erased for the same reason."""


Findings = list[Finding]
Jobs = list[Job]
JobCounts = list[JobCount]
Looks = list[Look]
Bookings = list[Booked]
Entities = list[Entity]


class ErasureTarget(NamedTuple):
    """A place that may still hold bytes of purged rows, and whether it is clean.

    `pending` means that another try can clean it; `beyond` that the store cannot clean it, or keeps
    it for a reason, which `detail` gives.
    """

    name: str
    state: Literal["clean", "pending", "beyond"]
    detail: str = ""


Places = list[ErasureTarget]
# Seconds that each cleaning step waits for concurrent readers and writers.
WAIT = 10.0


BEHIND = "!"
"""Prefix of a file's hash: a sync has changed its memory, and the file has not been rewritten
yet.
"""


class KnownFile(NamedTuple):
    """A file as it was last read: its path, its memory, and what change detection compares.

    A tuple, because recall compares up to ten thousand of them.
    """

    root: str
    """The watched folder."""
    path: str
    """Path relative to the root; like all text here, encodable as UTF-8."""
    memory: str
    """Id of the memory stored in this file; empty for a source that produced many memories."""
    size: int
    mtime: int
    """Modification time in nanoseconds, as reported by the file system."""
    hash: str
    """SHA-256 of the content, in hexadecimal.

    A watched folder has a row of its own, under the root "". Its hash may be a seal that says that
    nothing in the folder has changed; adding or dropping a file of the folder removes the seal.
    """


KnownFiles = list[KnownFile]
