"""The promises a store keeps. A backend keeps all of them or is not one.

`holdfast.testing` turns each promise into a test; a new backend passes when that suite does.
Ranking is not decided here: a store returns ordered candidates, `search/` decides what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

import numpy.typing as npt

from ..errors import ScopeError
from ..types import (
    Edge,
    Edges,
    Entity,
    Events,
    Job,
    Kind,
    Memories,
    Memory,
    Micros,
    Names,
    Scope,
    Scopes,
    Session,
    Sessions,
    Status,
)

T = TypeVar("T")
Vector = npt.NDArray[Any]
Ranked = list[tuple[int, float]]
"""Pairs of a memory's `seq` and a similarity in [0, 1], best first, ties in insertion order."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which memories may be found. It narrows the candidates before any limit is taken."""

    scopes: tuple[Scope, ...]
    kinds: tuple[Kind, ...] = ()
    categories: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = ("active",)
    tags: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    excluded_sessions: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    since: Micros | None = None
    until: Micros | None = None
    valid_at: Micros | None = None
    as_of: Micros | None = None

    def __post_init__(self) -> None:
        if not self.scopes:
            raise ScopeError()

    @property
    def narrow(self) -> bool:
        """Whether it asks for more than 'active in these scopes and valid now'."""
        return self.statuses != ("active",) or any(
            (
                self.kinds, self.categories, self.tags, self.sessions, self.excluded_sessions, self.authors,
                self.since is not None, self.until is not None, self.as_of is not None,
            )
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Corpus:
    """What a word's rarity is measured against: the active memories of the scopes that were asked."""

    size: int
    mean_length: float
    frequency: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Author:
    """Who writes, in which run, at what time. All changes of one transaction share it."""

    actor: str
    run: str
    at: Micros
    verb: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing the check-up found: where, what, and whether a repair can mend it."""

    check: str
    detail: str
    repairable: bool = True


Findings = list[Finding]
Jobs = list[Job]


class Writer(Protocol):
    """Changes inside one transaction. Each call is journalled; reads see the changes made so far."""

    def memory(self, scope: Scope, ref: str | int) -> Memory | None:
        """The memory with this id or `seq`, in any status, or None."""

    def same_content(self, memories: Sequence[Memory]) -> dict[str, Memory]:
        """For the ids of these new memories, the oldest active one that makes the same claim, where there is one.

        That is the same normalised text in the same scope, of the same kind, category and author.
        """

    def add(self, memory: Memory) -> Memory:
        """Stores a new memory and returns it with its `seq`. Its id must be new in its scope."""

    def add_many(self, memories: Sequence[Memory]) -> Memories:
        """Like `add` for many at once, in order; much quicker than one by one."""

    def change(self, memory: Memory, **fields: Any) -> Memory:
        """Sets fields of a stored memory and returns it as it is now. The text itself never changes."""

    def remove(self, memory: Memory) -> None:
        """Takes a memory out of its table; the journal keeps it, so that it can come back."""

    def link(self, edge: Edge) -> None:
        """Adds an edge; adding it twice equals once. NotFound when one of its ends is not there."""

    def next_position(self, scope: Scope, session: str) -> int:
        """The position of the next turn of a session, from 0."""

    def session(self, scope: Scope, session: str) -> Session | None:
        """The session with this id, or None."""

    def put_session(self, session: Session) -> None:
        """Adds a session, or makes the stored one equal to this."""

    def put_entity(self, entity: Entity) -> None:
        """Adds an entity with its names, or makes the stored one equal to this."""

    def mention(self, scope: Scope, *, entity: str, memory: str) -> None:
        """Notes that a memory mentions an entity; noting it twice equals once. NotFound when one is not there."""

    def finish(self, job: Job) -> None:
        """Marks a leased job done in the same transaction as its outputs; Conflict if the lease was lost."""

    def undo(self, scopes: Sequence[Scope], run: str) -> Events:
        """Takes back every change of a run, newest first, exactly. Conflict if a later run changed the same thing."""

    def purge(self, memory: Memory) -> None:
        """Removes a memory for good: its row, its links, and every word of it in the journal."""

    def restore_row(self, noun: str, row: Mapping[str, Any], *, journal: bool) -> bool:
        """Puts back one exported row verbatim; False if an equal one is already there, Conflict if another is.

        `journal` says whether the row is new to the journal too, or comes with its own entries.
        """

    def restore_many(self, noun: str, scope: Scope, rows: Sequence[Mapping[str, Any]]) -> None:
        """Puts exported rows of one table into a scope verbatim, in order; much quicker than one by one.

        They must be new there, and come with their own journal entries.
        """


class Store(Protocol):
    """Memories, their journal and their indexes, in one place. Safe for many threads and processes."""

    location: str
    """Where it is, for people: a path or a URL without password."""

    def write(self, author: Author, work: Callable[[Writer], T]) -> T:
        """Runs `work` in one transaction: all of it is there afterwards, or none of it.

        `work` may run again if another writer got in the way, so it must do nothing but use its writer.
        """

    def reading(self, scopes: Sequence[Scope]) -> AbstractContextManager[None]:
        """Reads of these scopes by this thread inside the block belong together, and may be quicker for it."""

    def get(self, scopes: Sequence[Scope], refs: Sequence[str | int]) -> Memories:
        """The memories with these ids or `seq`s, in the order asked, in any status; unknown ones are left out."""

    def list(
        self,
        where: Filter,
        *,
        limit: int | None = None,
        after: int | None = None,
        order: Literal["newest", "oldest"] = "newest",
    ) -> Memories:
        """Memories in insertion order or its reverse; `after` is the `seq` to go on behind."""

    def by_text(self, where: Filter, terms: Sequence[str], limit: int) -> Ranked:
        """Memories that contain at least one of `terms`, best BM25 first."""

    def corpus(self, scopes: Sequence[Scope], terms: Sequence[str]) -> Corpus:
        """How many active memories there are, how long, and how many contain each term."""

    def by_vector(self, where: Filter, model: str, vector: Vector, limit: int) -> Ranked:
        """Memories nearest to `vector` among those with a vector of `model`, by cosine, squeezed into [0, 1].

        The search is exact, unless the backend has built an approximate index for a very large scope.
        """

    def vectors(self, scopes: Sequence[Scope], model: str, seqs: Sequence[int]) -> dict[int, Vector]:
        """The stored vectors of these memories; those without one, or of another scope, are left out."""

    def by_entity(self, where: Filter, folded_names: Sequence[str], limit: int) -> Ranked:
        """Memories that mention an entity with one of these names: more of the names first, then the newest."""

    def neighbours(self, memories: Sequence[Memory], reach: int) -> dict[int, Memories]:
        """For each memory's `seq`, the active turns of its session at most `reach` positions away, itself left out."""

    def authors(self, scopes: Sequence[Scope]) -> Names:
        """The distinct authors of memories, in alphabetical order, at most 200."""

    def without_vector(self, model: str, limit: int, scopes: Sequence[Scope] | None = None) -> Memories:
        """Memories that have no vector of `model` yet: durable kinds first, then newest first."""

    def behind(self, model: str, scopes: Sequence[Scope] | None = None) -> dict[Scope, int]:
        """The scopes with memories that have no vector of `model` yet, each with its highest `seq`.

        Quick for any number of scopes, as long as few are behind. None: all scopes, which needs rights of upkeep.
        """

    def add_vectors(self, scopes: Sequence[Scope], model: str, vectors: Mapping[int, Vector]) -> None:
        """Stores vectors by `seq`; those of memories that are not in these scopes are dropped.

        One model has one length.
        """

    def drop_vectors(self, model: str, scopes: Sequence[Scope] | None = None) -> int:
        """Forgets a model's vectors, everywhere or in some scopes, and returns how many there were."""

    def models(self, scopes: Sequence[Scope]) -> dict[str, bool]:
        """The models that have vectors in these scopes, and whether every memory there has one. Quick at any size."""

    def coverage(self, scopes: Sequence[Scope] | None = None) -> dict[str, int]:
        """How many active memories have a vector, by model."""

    def touch(self, scopes: Sequence[Scope], uses: Mapping[int, int], at: Micros) -> None:
        """Adds to the use counts of memories, by `seq`. Not journalled: reading is not a change."""

    def sessions(self, scopes: Sequence[Scope], *, open_only: bool = False) -> Sessions:
        """Sessions, the most recently active first."""

    def edges(self, scope: Scope, memory: str) -> Edges:
        """The edges from or to a memory, oldest first."""

    def events(
        self,
        scopes: Sequence[Scope],
        *,
        run: str | None = None,
        target: str | None = None,
        limit: int | None = None,
    ) -> Events:
        """Journal entries, newest first."""

    def snapshot(self) -> AbstractContextManager[Callable[[str, Scope], Iterator[dict[str, Any]]]]:
        """Gives a function like `rows` whose rows all show this moment, whatever is written or read meanwhile."""

    def rows(self, noun: str, scope: Scope) -> Iterator[dict[str, Any]]:
        """Every row of one table in one scope, in insertion order, in the shape of an export; constant memory."""

    def scopes(self) -> Scopes:
        """The scopes that hold anything, in the order they were first used."""

    def counts(self, scopes: Sequence[Scope]) -> dict[str, dict[str, int]]:
        """Number of memories by kind and status."""

    def enqueue(self, scope: Scope, kind: str, key: str, *, watermark: int) -> None:
        """Adds a job, or renews it when `watermark` has grown; retries start afresh then."""

    def claim(
        self,
        kinds: Sequence[str],
        *,
        worker: str,
        now: Micros,
        lease: Micros,
        scopes: Sequence[Scope] | None = None,
        keys: Sequence[str] | None = None,
    ) -> Job | None:
        """Takes the next due job for `lease` microseconds, or None. No two workers hold one job.

        `scopes` and `keys` narrow it to jobs that have one of them; without `scopes` it needs rights of upkeep.
        A lease that ran out counts as a try; after the last one the job is an error that says so.
        """

    def heartbeat(self, job: Job, *, now: Micros, lease: Micros) -> bool:
        """Extends a lease; False when it was lost."""

    def fail(self, job: Job, *, error: str, retry_at: Micros) -> bool:
        """Gives a job back with a reason; False when the lease was lost."""

    def release(self, job: Job) -> bool:
        """Gives a job back unfinished: it is due at once, and no try is used up; False when the lease was lost."""

    def jobs(self, scopes: Sequence[Scope] | None = None) -> Jobs:
        """The jobs there are, done ones too, scope by scope. None: of all scopes, which needs rights of upkeep."""

    def check(self) -> Iterable[Finding]:
        """Everything that is not as promised; empty when all is well."""

    def repair(self) -> None:
        """Rebuilds every projection from truth."""

    def tend(self) -> Names:
        """Does the upkeep that keeps reads quick, such as indexes for scopes that have grown, and says what it did."""

    def scrub(self) -> None:
        """Overwrites what purged rows left behind: free pages, logs, index segments."""

    def close(self) -> None:
        """Ends all connections. Closing twice equals once; later calls raise StoreClosed."""
