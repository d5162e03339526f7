"""The storage protocol: what every backend must guarantee.

Atomicity: `Store.write` commits all changes of a transaction, with their journal entries, or none.
Ordering: `seq` grows with insertion, and every listed order is total, so that pages and ties are
deterministic. Filtering: a `Filter` is applied before any limit. Isolation: a call never sees or
changes rows outside the scopes it names.

`holdfast.testing` turns each guarantee into a test; a new backend is done when that suite passes. A
store does not rank: it returns ordered candidates, and `retrieval/` decides what they mean. The
values that calls take and return are in store_types.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ..floats import Vector
from ..types import (
    Edge,
    Edges,
    Entity,
    Events,
    Job,
    Kind,
    Memories,
    Memory,
    Message,
    Messages,
    Micros,
    Names,
    Progress,
    ProgressMarks,
    Scope,
    Scopes,
    Session,
    Sessions,
    Status,
)
from .store_types import (
    WAIT,
    Adopted,
    Author,
    Axis,
    Bookings,
    Candidates,
    Corpus,
    DayCounts,
    Enqueued,
    Entities,
    EventOrder,
    Filter,
    Finding,
    JobCounts,
    Jobs,
    KnownFile,
    KnownFiles,
    Look,
    Looks,
    Met,
    Order,
    Pairs,
    Places,
    Ranked,
    Sizes,
    Spent,
)

if TYPE_CHECKING:
    from .damage import Damage
    from .merge import Lineage

T = TypeVar("T")


class EntityReads(Protocol):
    """Entities that memories mention, looked up by any of their names."""

    def list(
        self,
        scopes: Sequence[Scope],
        *,
        names: Sequence[str] | None = None,
        ids: Sequence[str] | None = None,
        types: Sequence[str] = (),
        limit: int | None = None,
    ) -> Entities:
        """Entities with aliases and number of active memories that mention them, most mentioned
        first.

        Ties are ordered by name. `names` must be folded and match whole names and aliases only:
        "Ann" does not match "Joanna". Without `names`, `ids` or `types`, all entities match.
        """

    def get(self, scope: Scope, id: str) -> Entity | None:
        """Return the entity with this id, with aliases and mention count as in `list`, or None.

        Inside a transaction, mentions are not counted.
        """

    def mentioning(
        self,
        scope: Scope,
        entity: str,
        *,
        limit: int | None = None,
        statuses: Sequence[Status] | None = ("active",),
    ) -> Memories:
        """Memories that mention an entity, newest first, with these statuses or, for None, with
        any.
        """

    def mentions_of(self, scope: Scope, memories: Sequence[str]) -> dict[str, Names]:
        """Map each of these memories to the sorted ids of the entities it mentions.

        Memories without mentions are left out.
        """

    def companions(
        self,
        scope: Scope,
        entity: str,
        *,
        limit: int,
        most: int,
    ) -> tuple[dict[str, int], bool]:
        """Map the entities that active memories mention together with this one to the number of
        these memories, most first.

        Reads at most `most` mentions; false means that there are more.
        """

    def pairs(
        self,
        scope: Scope,
        entities: Sequence[str],
        *,
        latest: int,
    ) -> tuple[Pairs, bool]:
        """Pairs of these entities that the active ones of the latest memories mention together,
        most often first.

        False means that there are older memories, which were not counted.
        """

    def recently_mentioned(
        self,
        scopes: Sequence[Scope],
        *,
        latest: int,
        limit: int,
    ) -> dict[str, int]:
        """Map the entities that the active ones of the latest memories mention to the number of
        these memories, most first.
        """


class EntityTable(EntityReads, Protocol):
    """Entities inside a transaction."""

    def named(
        self,
        scope: Scope,
        folded_name: str,
        type: str,
    ) -> Entity | None:
        """Return the entity of this type with this folded name, or None; mentions are not counted.

        A match on the entity's own name wins over an alias, then the oldest entity wins.
        """

    def with_names(self, scope: Scope, folded_names: Sequence[str]) -> Entities:
        """Return the entities that have one of these folded names, each with all its names;
        mentions are not counted.
        """

    def existing(self, scope: Scope, ids: Sequence[str]) -> set[str]:
        """Return those of these ids that an entity has."""

    def add_many(self, scope: Scope, entities: Sequence[Entity]) -> None:
        """Insert entities with their names. None of them may exist."""

    def put(self, entity: Entity) -> None:
        """Insert an entity with its names, or update the stored one to equal it."""

    def remove(self, entity: Entity) -> None:
        """Delete an entity with its names and mentions; the journal keeps them for undo.

        Raises NotFound when the entity does not exist.
        """

    def mention(
        self,
        scope: Scope,
        *,
        entity: str,
        memory: str,
    ) -> None:
        """Record that a memory mentions an entity. Idempotent.

        Raises NotFound when the memory or the entity does not exist.
        """

    def mention_many(self, scope: Scope, mentions: Sequence[tuple[str, str]]) -> None:
        """Record pairs of an entity and a memory that mentions it. Idempotent.

        Both were read or stored by this transaction, so they are not looked up again.
        """

    def unmention(
        self,
        scope: Scope,
        *,
        entity: str,
        memory: str,
    ) -> None:
        """Delete the mention of an entity by a memory. Idempotent."""


class TimelineReads(Protocol):
    """Active memories by day, by when they happened or by when they were stored.

    Must be fast at any number of turns, unless turns are asked for.
    """

    def days(
        self,
        scopes: Sequence[Scope],
        *,
        axis: Axis,
        kinds: Sequence[Kind],
        entity: str | None = None,
        ahead: Micros = 0,
    ) -> DayCounts:
        """Number of memories by day and kind, oldest first; days without any are left out.

        With `entity`, only memories that mention it. `ahead` is by how much the local time is ahead
        of UTC.
        """

    def page(
        self,
        scopes: Sequence[Scope],
        *,
        axis: Axis,
        kinds: Sequence[Kind],
        limit: int,
        entity: str | None = None,
        since: Micros | None = None,
        until: Micros | None = None,
        before: Memory | None = None,
    ) -> Memories:
        """Memories from `since` until before `until`, newest first; ties in order of insertion.

        `before` is the last memory of the previous page.
        """

    def counts(self, scopes: Sequence[Scope]) -> dict[str, dict[str, int]]:
        """Number of memories by kind and status, without turns."""

    def fading(
        self,
        scopes: Sequence[Scope],
        *,
        now: Micros,
        threshold: float,
        limit: int,
    ) -> Memories:
        """Facts that fade below a confidence, or end with their date, next after `now`."""

    def waiting(
        self,
        scopes: Sequence[Scope],
        *,
        kinds: Sequence[Kind],
        latest: int,
    ) -> tuple[int, bool]:
        """Number of active memories that the second entity pass has not processed yet, among the
        latest memories.

        False means that there may be older memories, which were not counted.
        """


class SessionReads(Protocol):
    """Sessions, and the messages that an agent logged in them."""

    def get(self, scope: Scope, id: str) -> Session | None:
        """Return the session with this id, or None."""

    def list(
        self,
        scopes: Sequence[Scope],
        *,
        open_only: bool = False,
        active_since: Micros | None = None,
    ) -> Sessions:
        """Sessions, latest conversation first: by the time of the last turn, or of the last
        activity if there is none. With `active_since`, those active at that time or later.
        """

    def messages(
        self,
        scope: Scope,
        session: str,
        *,
        last: int | None = None,
    ) -> Messages:
        """Messages of a session in order; with `last`, only that many from the end."""

    def message_counts(self, scope: Scope, sessions: Sequence[str]) -> dict[str, int]:
        """Number of messages by session; sessions without messages are left out."""


class StoreSessions(SessionReads, Protocol):
    """Sessions of a store, outside a transaction."""

    def unled(self, scopes: Sequence[Scope] | None = None) -> Sessions:
        """Open sessions that no agent leads, latest activity first.

        None means all scopes, which requires maintenance rights.
        """

    def unread(self, scopes: Sequence[Scope] | None = None) -> Sessions:
        """Ended sessions with turns that the `summary` sink has not fully read, oldest activity
        first.

        None means all scopes, which requires maintenance rights.
        """


class SessionTable(SessionReads, Protocol):
    """Sessions inside a transaction."""

    def put(self, session: Session) -> None:
        """Insert a session, or update the stored one to equal it."""

    def go_on(
        self,
        scope: Scope,
        session: str,
        *,
        at: Micros,
    ) -> int | None:
        """Update a session's last activity and return the position of its next turn.

        Returns None when the session does not exist or has ended.
        """

    def places(self, scope: Scope, ids: Sequence[str]) -> dict[str, tuple[Session | None, int]]:
        """Return each of these sessions, None for one that does not exist, with the position of its
        next turn.
        """

    def begin_many(self, scope: Scope, sessions: Sequence[Session]) -> None:
        """Insert sessions. None of them may exist."""

    def next_position(self, scope: Scope, session: str) -> int:
        """Return the position of the next turn of a session, counted from 0."""

    def memories(
        self,
        scope: Scope,
        session: str,
        *,
        named: bool = False,
    ) -> Memories:
        """Memories stored under a session's id, in any status, by position. Must be fast at any
        size.

        With `named`, also those whose metadata names the session, oldest first; a record names it
        as the session of its source.
        """

    def add_messages(
        self,
        scope: Scope,
        session: str,
        bodies: Sequence[Mapping[str, Any]],
    ) -> int:
        """Append messages to a session in order, at the author's time, and return its message
        count.

        Messages are an append-only log: they are not journalled, and undo does not remove them.
        Raises InvalidInput when a message is not a JSON object and NotFound when the session does
        not exist.
        """


class VectorTable(Protocol):
    """Embeddings of memories, by model."""

    def get(
        self,
        scopes: Sequence[Scope],
        model: str,
        seqs: Sequence[int],
    ) -> dict[int, Vector]:
        """Stored vectors of these memories, by `seq`.

        Memories of other scopes or without a vector of `model` are left out.
        """

    def similarities(
        self,
        scopes: Sequence[Scope],
        model: str,
        vector: Vector,
        seqs: Sequence[int],
    ) -> dict[int, float]:
        """Cosine similarity of these memories to `vector`, by `seq`.

        Memories of other scopes or without a vector of `model` are left out.
        """

    def add(
        self,
        scopes: Sequence[Scope],
        model: str,
        vectors: Mapping[int, Vector],
    ) -> None:
        """Store vectors by `seq`; vectors of memories outside these scopes are dropped.

        All vectors of a model have the same length; raises DimensionMismatchError otherwise.
        """

    def drop(self, model: str, scopes: Sequence[Scope] | None = None) -> int:
        """Delete a model's vectors, in all scopes or in some, and return how many there were."""

    def missing(
        self,
        model: str,
        limit: int,
        scopes: Sequence[Scope] | None = None,
        *,
        after: Memory | None = None,
    ) -> Memories:
        """Memories without a vector of `model`: durable kinds first, then newest first.

        `after` is the last memory of the previous batch. Continuing after it never reads a memory
        twice, so embedding a whole scope takes linear time at any batch size.
        """

    def behind(self, model: str, scopes: Sequence[Scope] | None = None) -> dict[Scope, int]:
        """Map each scope with memories that lack a vector of `model` to its highest `seq`.

        Must be fast for any number of scopes as long as few are behind. None means all scopes,
        which requires maintenance rights.
        """

    def models(self, scopes: Sequence[Scope]) -> dict[str, bool]:
        """Models with vectors in these scopes, and whether they cover every memory there.

        Must be fast at any size.
        """

    def dimensions(self, scopes: Sequence[Scope]) -> dict[str, int]:
        """Models with vectors in these scopes, and the length of their vectors."""

    def coverage(self, scopes: Sequence[Scope] | None = None) -> dict[str, int]:
        """Number of active memories with a vector, by model."""


class Erasure(Protocol):
    """Permanent erasure. Journal entries stay, without content, so that undo cannot restore it."""

    erased: Counter[str]
    """What this transaction has erased so far, by kind of row."""

    def memory(self, memory: Memory) -> None:
        """Erase a memory: its row, its edges, the record of its file, and its content in the
        journal.

        Also erases a removed memory that only the journal still holds, and entities that nothing
        mentions any more. Raises NotFound when neither the table nor the journal has the memory.
        """

    def session(self, scope: Scope, session: str) -> int:
        """Erase a session with its messages, its jobs and its content in the journal.

        Its turns are memories and stay. Returns the number of messages. Raises NotFound when the
        session does not exist.
        """

    def entity(self, entity: Entity, names: Sequence[str]) -> None:
        """Erase these folded names of an entity, and its content in the journal.

        Without a name left, the entity itself is erased.
        """

    def sizes(self, scope: Scope) -> dict[str, int]:
        """Number of rows that `scope` would erase, by place as in `erased`."""

    def scope(self, scope: Scope, *, progress: Callable[[int], None] = lambda rows: None) -> None:
        """Erase everything in a scope, its journal included; one entry that says so remains.
        `progress` is called with the number of rows erased so far.
        """

    def redact(self, scope: Scope, instead: Mapping[str, str]) -> int:
        """Replace each of these texts wherever it is quoted outside the content of a memory.

        That covers messages, metadata, reasons, summaries, job errors and the journal. Keys are
        texts as JSON writes them, with quotes where the whole string must match. Returns the number
        of changed rows.
        """

    def entities_of(self, scope: Scope, memory: str) -> Entities:
        """Entities that a memory mentions, or mentioned before they were merged or split, with
        names.
        """

    def removed(self, scope: Scope, id: str) -> Memory | None:
        """Return a deleted memory as the journal holds it; None if it exists or was purged."""

    def contents(self, scope: Scope, session: str | None = None) -> Iterator[tuple[str, str, str]]:
        """Yield noun, id and text of each memory, session, message and entity of a scope.

        With `session`, only the messages of that session. The id is empty where it is user text
        itself.
        """


class Replication(Protocol):
    """Synchronisation of two stores: rows travel with all their journal entries."""

    def is_sound(self, memory: Memory) -> bool:
        """Whether a memory's text matches its stored hash."""

    def entries(self, scope: Scope, *, after: int) -> int:
        """Number of journal entries of a scope after a position."""

    def purges(self, scope: Scope, *, after: int) -> list[tuple[str, str]]:
        """Noun and target of rows erased after a journal entry."""

    def lineages(self, scope: Scope, things: Iterable[tuple[str, str]]) -> list[Lineage]:
        """Rows with these nouns and targets, or their absence, each with all its journal
        entries.
        """

    def pending(self, scope: Scope, theirs: Sequence[Lineage]) -> list[Lineage]:
        """Return what `apply` would store for those lineages that bring something new."""

    def apply(self, scope: Scope, theirs: Sequence[Lineage]) -> Adopted:
        """Merge another store's lineages into this one; merge.py defines the result.

        Their journal entries are copied verbatim and not journalled again. Whatever a row refers to
        must exist here or be among the lineages.
        """

    def take_messages(
        self,
        scope: Scope,
        session: str,
        theirs: Sequence[Message],
        *,
        journal: bool,
    ) -> bool:
        """Merge another store's messages of a session with ours and return whether ours changed.

        No message is lost. With `journal`, an entry tells readers of the journal that there are
        more.
        """

    def note_error(
        self,
        scope: Scope,
        place: str,
        error: str,
    ) -> None:
        """Record why syncing with a place failed, for display; an empty error clears the record."""

    def replica_id(self, scope: Scope) -> str:
        """Return the name by which other stores know this one's journal of a scope.

        Empty until the first sync.
        """

    def position(self, scope: Scope, peer: str) -> Met:
        """Return how far this store has read another store's journal."""

    def set_position(
        self,
        scope: Scope,
        peer: str,
        met: Met,
        *,
        own: str,
    ) -> None:
        """Record how far another store's journal was read, and under which name it knows this
        one.
        """


class ProgressReads(Protocol):
    """Progress of the extraction sinks through the sessions."""

    def get(
        self,
        scope: Scope,
        session: str,
        sink: str,
    ) -> Progress | None:
        """Return how far a sink has read a session, or None if it has not started."""

    def list(self, scope: Scope, session: str | None = None) -> ProgressMarks:
        """Progress of each sink in one session, or in every session of a scope."""


class ProgressTable(ProgressReads, Protocol):
    """Extraction progress inside a transaction."""

    def put(self, progress: Progress) -> None:
        """Record how far a sink has read a session. A mark that only repeats the stored one is not
        written.

        Journalled and exported, so that undo reverts it and no other store reads the session again.
        Sinks that are local to this store are neither journalled nor exported.
        """

    def drop(
        self,
        scope: Scope,
        session: str,
        sink: str,
    ) -> None:
        """Delete a sink's progress in a session, so that it reads the session from the start."""


class ProfileReads(Protocol):
    """Settings of each scope."""

    def get(self, scope: Scope) -> Mapping[str, Any]:
        """Return the settings of a scope: a JSON object, empty if nothing was ever set."""


class ProfileTable(ProfileReads, Protocol):
    """Settings of scopes inside a transaction."""

    def put(self, scope: Scope, settings: Mapping[str, Any]) -> None:
        """Replace the settings of a scope with these, which must be JSON-serialisable."""


class FileReads(Protocol):
    """State of files when they were last read."""

    def list(self, scope: Scope, root: str) -> KnownFiles:
        """Known files of a folder, ordered by path."""

    def stats(self, scope: Scope, root: str) -> dict[str, tuple[int, int]]:
        """Size and modification time of each known file, by path: all that change detection
        needs.
        """


class FileTable(FileReads, Protocol):
    """Known files inside a transaction."""

    def put(self, scope: Scope, files: Sequence[KnownFile]) -> None:
        """Record the state of files as read, replacing what was recorded before.

        Not journalled, undone, exported or synced: another disk has other files.
        """

    def drop(
        self,
        scope: Scope,
        root: str,
        paths: Sequence[str],
    ) -> None:
        """Forget files of a folder; unknown paths are ignored."""


class JobTable(Protocol):
    """Background jobs. One worker holds a job at a time, by a lease that expires by itself."""

    def enqueue(
        self,
        scope: Scope,
        kind: str,
        key: str,
        *,
        watermark: int,
    ) -> None:
        """Add a job, or renew it when `watermark` has grown, which resets its retries."""

    def claim(
        self,
        kinds: Sequence[str],
        *,
        worker: str,
        now: Micros,
        lease: Micros,
        scopes: Sequence[Scope] | None = None,
        keys: Sequence[str] | None = None,
        after: Scope | None = None,
    ) -> Job | None:
        """Lease the next due job for `lease` microseconds, or return None. Two workers never hold
        one job. Of a scope and kind, the job with the lowest watermark comes first.

        `after` is the scope that was served last: the next one that has a job gets its turn, and
        the first one follows the last. However many jobs one scope has, the others need not wait
        for all of them.

        `scopes` and `keys` restrict the search; without `scopes` it requires maintenance rights. An
        expired lease counts as a failed try; after the last try the job becomes an error that says
        so.
        """

    def heartbeat(
        self,
        job: Job,
        *,
        now: Micros,
        lease: Micros,
    ) -> bool:
        """Extend a lease; return False when it was lost."""

    def fail(
        self,
        job: Job,
        *,
        error: str,
        retry_at: Micros,
        tried: bool = True,
    ) -> bool:
        """Return a job with an error; False when the lease was lost.

        With `tried` false the job was only postponed and keeps its retries.
        """

    def release(self, job: Job) -> bool:
        """Return a job unfinished; it is due at once and keeps its retries. False when the lease
        was lost.
        """

    def forget_done(
        self,
        kind: str,
        *,
        before: int,
        scopes: Sequence[Scope] | None = None,
    ) -> int:
        """Delete finished jobs of a kind with a watermark below `before`, and return how many."""

    def enqueue_all(self, jobs: Sequence[Enqueued]) -> None:
        """Add or renew jobs like `enqueue`, all in one transaction."""

    def list(
        self,
        scopes: Sequence[Scope] | None = None,
        *,
        kind: str | None = None,
        status: str | None = None,
        limit: int | None = None,
    ) -> Jobs:
        """All jobs, or those of this kind and with this status, finished ones included, by scope.
        None means all scopes, which requires maintenance rights.
        """

    def waiting(self, kind: str, *, now: Micros, keys: Sequence[str] | None = None) -> int:
        """Number of jobs of a kind, in all scopes, that can be claimed now. Requires maintenance
        rights.
        """

    def counts(self) -> JobCounts:
        """Number of jobs of all scopes by kind, status and worker. Requires maintenance rights."""


class LookTable(Protocol):
    """Which scopes a worker has to look at for jobs. All of it requires maintenance rights.

    Finding them takes as long as there are scopes to look at, however many others there are.
    """

    def watch(self, kind: str, keys: Sequence[str]) -> None:
        """Look for jobs of this kind and these keys from now on: every scope gets a look, and so
        does every scope that changes later. Does nothing if that was said before.
        """

    def gather(self) -> int:
        """Give the scopes that have changed a look for everything that is watched; return how many
        they were.
        """

    def due(
        self,
        kind: str,
        keys: Sequence[str],
        *,
        now: Micros,
        limit: int,
    ) -> Looks:
        """Looks that are due, the longest due first."""

    def settle(
        self,
        looks: Sequence[tuple[Look, Micros | None]],
        jobs: Sequence[Enqueued] = (),
    ) -> None:
        """Enqueue what looks have found, and put each off until the given time; None ends it until
        the scope changes. One whose scope has changed meanwhile stays due.
        """


class JobWrites(Protocol):
    """Changes to jobs that commit together with the rest of a transaction."""

    def enqueue(
        self,
        scope: Scope,
        kind: str,
        key: str,
        *,
        watermark: int,
    ) -> None:
        """Add or renew a job like `JobTable.enqueue`, atomically with the rest of the
        transaction.
        """

    def finish(self, job: Job) -> None:
        """Mark a leased job done in the transaction that stores its outputs.

        Raises Conflict if the lease was lost, which rolls back the outputs.
        """

    def drop(self, scope: Scope, kinds: Sequence[str]) -> int:
        """Delete the jobs of these kinds, leased ones included, and return how many."""


class SpendTable(Protocol):
    """Use of language models by owner and day. Not journalled, exported or synced."""

    def add(
        self,
        scope: Scope,
        day: int,
        used: Spent,
        *,
        most: int | None = None,
    ) -> bool:
        """Book the use of a language model for an owner on a day, counted in days since 1970.

        With `most`, books nothing and returns False if the day's tokens would exceed it. The check
        and the booking are one atomic step, so concurrent calls cannot exceed it together.
        """

    def total(self, scopes: Sequence[Scope], day: int) -> Spent:
        """Return what was booked for these owners on a day."""

    def since(self, day: int) -> Bookings:
        """What was booked for every owner from a day on, oldest first. Requires maintenance
        rights.
        """


class Transaction(Protocol):
    """Changes inside one atomic transaction.

    Each call is journalled unless it says otherwise. Reads see the changes made so far.
    """

    @property
    def entities(self) -> EntityTable:
        """People, places and things."""

    @property
    def sessions(self) -> SessionTable:
        """Sessions and their messages."""

    @property
    def progress(self) -> ProgressTable:
        """How far extraction has come."""

    @property
    def profiles(self) -> ProfileTable:
        """Settings of scopes."""

    @property
    def files(self) -> FileTable:
        """Known files."""

    @property
    def jobs(self) -> JobWrites:
        """Background jobs."""

    @property
    def erasure(self) -> Erasure:
        """Removal for good."""

    @property
    def replication(self) -> Replication:
        """Sync with other stores."""

    def memory(self, scope: Scope, ref: str | int) -> Memory | None:
        """Return the memory with this id or `seq`, in any status, or None."""

    def touched(self, source: str | None = None) -> Iterator[tuple[Scope, str, Memory | None]]:
        """Scope and id of the memories, all or of one `source`, that this transaction has changed.

        Each comes with its state at the start of the transaction, except for `seq`; None for a new
        one.
        """

    def same_words(self, memories: Sequence[Memory]) -> dict[str, Memories]:
        """Map the ids of these memories to all with the same normalised text in their scope.

        Any status, kind, category and author, oldest first; turns are left out.
        """

    def add(self, memory: Memory) -> Memory:
        """Insert a memory and return it with its `seq`. Its id must be new in its scope."""

    def add_many(self, memories: Sequence[Memory]) -> Memories:
        """Insert memories in order, in one batch; much faster than repeated `add`."""

    def change(self, memory: Memory, **fields: Any) -> Memory:
        """Set fields of a stored memory and return the updated memory.

        Raises InvalidInput for its text or id, which never change, and NotFound when it does not
        exist.
        """

    def remove(self, memory: Memory) -> None:
        """Delete a memory from its table; the journal keeps it, so that undo can restore it."""

    def surplus(
        self,
        scope: Scope,
        kinds: Sequence[Kind],
        keep: int,
        *,
        spare_unconsolidated: bool,
    ) -> Memories:
        """Active memories of these kinds to remove so that only `keep` remain, oldest first.

        Ordered by `created_at`, then by `seq`. Protected memories count but are never returned,
        nor, with `spare_unconsolidated`, are those not yet consolidated; so more than `keep` may
        remain.
        """

    def link(self, edge: Edge) -> None:
        """Add an edge. Idempotent. Raises NotFound when one of its ends does not exist."""

    def events(
        self,
        scopes: Sequence[Scope],
        *,
        run: str | None = None,
        target: str | None = None,
        after: int | None = None,
        limit: int | None = None,
        order: EventOrder = "newest",
        strict: bool = False,
    ) -> Events:
        """Journal entries as in `Store.events`, without those this transaction will write."""

    def undo(self, scopes: Sequence[Scope], run: str) -> Events:
        """Revert every change of a run exactly, newest first, and return its journal entries.

        Observed columns (see `schema.promised`) are not restored; a session that lost its latest
        turns gets the last activity of what remains. Raises NotFound for an unknown run, Conflict
        if a later run changed the same row, and Refused if the row was purged.
        """

    def edges(self, scope: Scope, memory: str) -> Edges:
        """Edges from or to a memory, oldest first."""

    def restore_row(
        self,
        noun: str,
        row: Mapping[str, Any],
        *,
        journal: bool,
        seq: int | None = None,
    ) -> bool:
        """Insert one exported row verbatim; return False if an equal one exists.

        `journal` says whether to journal the row or whether its own entries come with it. `seq` is
        the number a memory should keep: a file keeps it, and raises Conflict if another memory has
        it; a server, where all scopes share one sequence, assigns a new one. Raises Conflict if a
        different row has the same key.
        """

    def restore_many(
        self,
        noun: str,
        scope: Scope,
        rows: Sequence[Mapping[str, Any]],
    ) -> None:
        """Insert exported rows of one table into a scope verbatim, in order, in one batch.

        The rows must be new there, and their journal entries must be restored with them.
        """


class Store(Protocol):
    """Memories, their journal and their indexes. Safe for concurrent threads and processes.

    Every read takes scopes, or a filter with scopes, and returns nothing from any other.
    """

    @property
    def location(self) -> str:
        """Where the store is, for display: a path, or a URL without its password."""

    @property
    def entities(self) -> EntityReads:
        """People, places and things."""

    @property
    def timeline(self) -> TimelineReads:
        """Memories by day."""

    @property
    def sessions(self) -> StoreSessions:
        """Sessions and their messages."""

    @property
    def vectors(self) -> VectorTable:
        """Embeddings."""

    @property
    def progress(self) -> ProgressReads:
        """How far extraction has come."""

    @property
    def profiles(self) -> ProfileReads:
        """Settings of scopes."""

    @property
    def files(self) -> FileReads:
        """Known files."""

    @property
    def jobs(self) -> JobTable:
        """Background jobs."""

    @property
    def looks(self) -> LookTable:
        """Scopes to look at for background jobs."""

    @property
    def spend(self) -> SpendTable:
        """Use of language models."""

    def write(self, author: Author, work: Callable[[Transaction], T]) -> T:
        """Run `work` in one transaction: all of its changes are committed, or none.

        `work` may be retried after a conflict with another writer, so it must have no side effects
        outside its transaction.
        """

    def reading(self, scopes: Sequence[Scope]) -> AbstractContextManager[None]:
        """Group this thread's reads of these scopes inside the block; a backend may share one
        session.
        """

    def short_busy_timeout(self) -> AbstractContextManager[None]:
        """Inside the block, this thread waits only briefly for other writers, then raises
        StoreBusy.

        For bookkeeping while a caller waits for an answer. No effect on backends where writers do
        not block each other.
        """

    def damaged(self, scopes: Sequence[Scope] | None) -> list[Damage]:
        """Damaged rows of these scopes, or of all, that reads have skipped so far.

        One damaged row must not hide others: every read skips it and records it here.
        """

    def get(self, scopes: Sequence[Scope], refs: Sequence[str | int]) -> Memories:
        """Memories with these ids or `seq`s, in the order given, in any status; unknown ones are
        skipped.
        """

    def list(
        self,
        where: Filter,
        *,
        limit: int | None = None,
        after: int | None = None,
        order: Order = "newest",
    ) -> Memories:
        """Memories that pass the filter, in insertion order (`oldest`) or its reverse (`newest`).

        The limit applies after the filter. `after` is a cursor: the `seq` of the last memory of the
        page before. `earliest` and `latest` sort by `created_at`, then `seq`, because imported
        memories arrive late but may be old; they do not support `after`.
        """

    def by_text(
        self,
        where: Filter,
        terms: Sequence[str],
        limit: int,
    ) -> Ranked:
        """Memories that pass the filter and contain at least one of `terms`, best BM25 first."""

    def corpus(self, scopes: Sequence[Scope], terms: Sequence[str]) -> Corpus:
        """Number and mean length of active memories, and how many contain each term."""

    def by_vector(
        self,
        where: Filter,
        model: str,
        vector: Vector,
        limit: int,
    ) -> Ranked:
        """Memories that pass the filter, by cosine similarity to `vector` clamped to [0, 1], best
        first.

        Only memories with a vector of `model` take part. The search is exact, unless the backend
        has built an approximate index for a very large scope.
        """

    def by_entity(
        self,
        where: Filter,
        folded_names: Sequence[str],
        limit: int,
    ) -> Ranked:
        """Memories that mention an entity with one of these names: most names first, then
        newest.
        """

    def candidates(
        self,
        where: Filter,
        seqs: Sequence[int],
        best: Sequence[int] = (),
        reach: int = 0,
    ) -> Candidates:
        """Memories by `seq`, in this order, then the active turns within `reach` positions of the
        best of them in their session, if they pass the filter.

        With `as_of` there are no neighbours. Unknown numbers are left out.
        """

    def namespaces(self, where: Filter) -> Sequence[tuple[str, ...]]:
        """Distinct namespaces of the LangGraph items that pass the filter, in no particular
        order.
        """

    def authors(self, scopes: Sequence[Scope]) -> Names:
        """Distinct authors of memories, in alphabetical order, at most 200."""

    def touch(
        self,
        scopes: Sequence[Scope],
        uses: Mapping[int, int],
        at: Micros,
    ) -> None:
        """Increment the use counts of memories, by `seq`. Not journalled: reading is not a
        change.
        """

    def settle(
        self,
        scopes: Sequence[Scope],
        confidences: Mapping[int, float],
        at: Micros,
    ) -> None:
        """Store the decayed confidence of memories, by `seq`; `strength` keeps the last stated
        value.

        Not journalled: decay is a function of time and can be recomputed.
        """

    def edges(self, scope: Scope, memory: str) -> Edges:
        """Edges from or to a memory, oldest first."""

    def sources(
        self, scopes: Sequence[Scope], memories: Sequence[str]
    ) -> dict[str, frozenset[str]]:
        """Ids of what each of these memories was derived from, of those that were derived."""

    def events(
        self,
        scopes: Sequence[Scope],
        *,
        run: str | None = None,
        target: str | None = None,
        after: int | None = None,
        limit: int | None = None,
        order: EventOrder = "newest",
        strict: bool = False,
    ) -> Events:
        """Journal entries of these scopes, newest first unless `order` says otherwise.

        Optionally only those of a run, of a memory (`target`), or after the entry numbered `after`.
        A damaged entry is skipped and recorded; with `strict` it raises RowDamaged.
        """

    def snapshot(self) -> AbstractContextManager[Callable[[str, Scope], Iterator[dict[str, Any]]]]:
        """Provide a function like `rows` that reads one consistent snapshot despite concurrent
        writes.
        """

    def rows(self, noun: str, scope: Scope) -> Iterator[dict[str, Any]]:
        """Every row of one table in one scope, in insertion order, in export format, in constant
        memory.
        """

    def scopes(self) -> Scopes:
        """Scopes that exist, in the order of first use."""

    def sizes(self) -> Sizes:
        """Size of the store and of each owner's part, in order of first use. Must be fast at any
        size. Requires maintenance rights.
        """

    def counts(self, scopes: Sequence[Scope]) -> dict[str, dict[str, int]]:
        """Number of memories by kind and status."""

    def check(
        self, *, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> Iterable[Finding]:
        """Check every guarantee and yield what is violated; nothing for a healthy store.
        `progress` is called with the rows checked so far, and about how many there are to check.
        """

    def repair(self) -> None:
        """Rebuild every derived table and index from the primary data."""

    def tend(self) -> Names:
        """Run index maintenance, such as indexes for scopes that have grown, and return what was
        done.
        """

    def scrub(self, *, wait: float = WAIT) -> Places:
        """Overwrite the bytes that purged rows left in files, and report the state of each place.

        Each step waits at most `wait` seconds for concurrent readers and writers. Idempotent.
        """

    def close(self) -> None:
        """Close all connections. Idempotent; later calls on the store raise StoreClosed."""


def rests_on(place: Store | Transaction, memory: Memory) -> list[str]:
    """Ids of the memories that one was derived from, in the order in which they were linked."""
    edges = place.edges(memory.scope, memory.id)
    return [
        edge.target
        for edge in edges
        if edge.source == memory.id and edge.relation == "derived_from"
    ]
