"""The promises a store keeps. A backend keeps all of them or is not one.

`holdfast.testing` turns each promise into a test; a new backend passes when that suite does.
Ranking is not decided here: a store returns ordered candidates, `search/` decides what they mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

from ..errors import ScopeError
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
from ..values import dataclass, field

if TYPE_CHECKING:
    from .damage import Damage
    from .merge import Lineage

T = TypeVar("T")
Ranked = list[tuple[int, float]]
"""Pairs of a memory's `seq` and a similarity in [0, 1], best first, ties in insertion order."""
Order = Literal["newest", "oldest", "latest", "earliest"]
EventOrder = Literal["newest", "oldest"]
ITEMS = "langgraph"
"""The source of memories that are items of LangGraph's store; their metadata names the namespace
they are in.
"""


@dataclass(frozen=True)
class Filter:
    """Which memories may be found. It narrows the candidates before any limit is taken."""

    scopes: tuple[Scope, ...]
    kinds: tuple[Kind, ...] = ()
    categories: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = ("active",)
    tags: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    excluded_sessions: tuple[str, ...] = ()
    """Neither what was said in these nor what was learned from them, which names them in its
    metadata.
    """
    authors: tuple[str, ...] = ()
    since: Micros | None = None
    until: Micros | None = None
    valid_at: Micros | None = None
    as_of: Micros | None = None
    consolidated: bool | None = None
    """Whether consolidation has been over them; None: either."""
    unenriched: bool = False
    """Whether only those that have had no second look for entities."""
    namespace: tuple[str, ...] | None = None
    """Only items of LangGraph's store, in this namespace or below it; with no labels, all of its
    items.
    """
    ended_by: Micros | None = None
    """Only what is active and was valid until then, or until earlier."""

    def __post_init__(self) -> None:
        if not self.scopes:
            raise ScopeError()

    @property
    def narrow(self) -> bool:
        """Whether it asks for more than 'active in these scopes and valid now'."""
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
    """What a word's rarity is measured against: the active memories of the scopes that were
    asked.
    """

    size: int
    mean_length: float
    frequency: Mapping[str, int] = MappingProxyType({})


class Author(NamedTuple):
    """Who writes, in which run, at what time. All changes of one transaction share it."""

    actor: str
    run: str
    at: Micros
    verb: str


class Spent(NamedTuple):
    """What a language model was asked: how many times, and how many tokens went there and back."""

    calls: int = 0
    tokens: int = 0


class Finding(NamedTuple):
    """One thing the check-up found: where, what, and whether a repair can mend it."""

    check: str
    detail: str
    repairable: bool = True


class Met(NamedTuple):
    """How far one store has read the journal of another: the last entry's number and run, and when
    that was.
    """

    seq: int = 0
    run: str = ""
    at: Micros | None = None


@dataclass
class Adopted:
    """What was taken in from another store: how many things by noun, and what may want a second
    look.
    """

    count: Counter[str] = field(default_factory=Counter)
    things: set[tuple[str, str]] = field(default_factory=set)
    """Noun and target of each of them: the journal speaks of it from now on."""
    memories: list[str] = field(default_factory=list)
    """Ids of memories that were not here before."""
    edges: list[tuple[Any, ...]] = field(default_factory=list)
    """Source, target and relation of links that came or changed."""
    erased: list[Memory] = field(default_factory=list)
    """Memories that were erased here because they were erased there; others may quote them."""
    sessions: list[str] = field(default_factory=list)
    """Ids of sessions that were erased likewise."""


Findings = list[Finding]
Jobs = list[Job]
Entities = list[Entity]


class ErasureTarget(NamedTuple):
    """A place where bytes of what was purged may lie: whether they are gone, and if not, what makes
    them go.

    `pending` is what another try can clean; `beyond` is what the store cannot clean, or has a
    reason to keep.
    """

    name: str
    state: Literal["clean", "pending", "beyond"]
    detail: str = ""


Places = list[ErasureTarget]
# Seconds that each step of cleaning up waits for who is reading or writing.
WAIT = 10.0


BEHIND = "!"
"""Before the hash of a file: its memory was changed by a sync since, and the file does not say so
yet.
"""


class KnownFile(NamedTuple):
    """A file as it was when it was last read: where it is, which memory it holds, and by what a
    change is told.

    A tuple, because ten thousand of them are looked at before each recall.
    """

    root: str
    """The folder that is followed."""
    path: str
    """Where the file is in it; text that UTF-8 can hold, as all of these."""
    memory: str
    """The id of the memory whose file it is; empty for a source that many memories were read
    from.
    """
    size: int
    mtime: int
    """When it was last changed, in nanoseconds, as its file system says."""
    hash: str
    """SHA-256 of its bytes, in hexadecimal digits.

    A folder that is followed is itself noted, in the root "". Its hash may be a seal, by which
    whoever follows it knows that nothing in it has changed; whatever is noted or forgotten of a
    file in it takes the seal away.
    """


KnownFiles = list[KnownFile]


class EntityReads(Protocol):
    """Who and what memories mention, found by every name they go by."""

    def list(
        self,
        scopes: Sequence[Scope],
        *,
        names: Sequence[str] | None = None,
        types: Sequence[str] = (),
        limit: int | None = None,
    ) -> Entities:
        """Entities with their aliases and the number of active memories that mention them, most
        mentioned first.

        Equally mentioned ones come in the order of their names. `names` are folded, and match whole
        names and aliases only: Ann is not Joanna. Without `names` or `types`, any will do.
        """

    def get(self, scope: Scope, id: str) -> Entity | None:
        """The entity with this id, with aliases and number of mentions as in `list`, or
        None. Inside a transaction its mentions are not counted.
        """

    def mentioning(
        self,
        scope: Scope,
        entity: str,
        *,
        limit: int | None = None,
        statuses: Sequence[Status] | None = ("active",),
    ) -> Memories:
        """The memories of these statuses, or of any, that mention an entity, the latest stored
        first.
        """

    def mentions_of(self, scope: Scope, memories: Sequence[str]) -> dict[str, Names]:
        """The ids of the entities that each of these memories mentions, in order; those without any
        are left out.
        """


class EntityTable(EntityReads, Protocol):
    """The same inside a transaction."""

    def named(
        self,
        scope: Scope,
        folded_name: str,
        type: str,
    ) -> Entity | None:
        """The entity of a type that goes by a folded name, or None. Its mentions are not counted.

        Whose own name it is comes before whose alias it is, and the oldest before the others.
        """

    def put(self, entity: Entity) -> None:
        """Adds an entity with its names, or makes the stored one equal to this."""

    def remove(self, entity: Entity) -> None:
        """Takes an entity out, with its names and mentions; the journal keeps them. NotFound when
        it is not there.
        """

    def mention(
        self,
        scope: Scope,
        *,
        entity: str,
        memory: str,
    ) -> None:
        """Notes that a memory mentions an entity; noting it twice equals once. NotFound when one is
        not there.
        """

    def unmention(
        self,
        scope: Scope,
        *,
        entity: str,
        memory: str,
    ) -> None:
        """Takes back that a memory mentions an entity; where it does not, nothing happens."""


class SessionReads(Protocol):
    """Sessions, and the messages that an agent logged in them."""

    def get(self, scope: Scope, id: str) -> Session | None:
        """The session with this id, or None."""

    def list(
        self,
        scopes: Sequence[Scope],
        *,
        open_only: bool = False,
        active_since: Micros | None = None,
    ) -> Sessions:
        """Sessions, the most recently active first; with `active_since`, those that were active
        then or later.
        """

    def messages(
        self,
        scope: Scope,
        session: str,
        *,
        last: int | None = None,
    ) -> Messages:
        """The messages of a session in order; with `last`, only that many from its end."""

    def message_counts(self, scope: Scope, sessions: Sequence[str]) -> dict[str, int]:
        """How many messages these sessions have; those without any are left out."""


class StoreSessions(SessionReads, Protocol):
    """The same in a store."""

    def unread(self, scopes: Sequence[Scope] | None = None) -> Sessions:
        """Sessions that have ended, hold turns, and went on since the sink `summary` has read them,
        oldest activity first. None: of all scopes, which needs rights of upkeep.
        """


class SessionTable(SessionReads, Protocol):
    """The same inside a transaction."""

    def put(self, session: Session) -> None:
        """Adds a session, or makes the stored one equal to this."""

    def go_on(
        self,
        scope: Scope,
        session: str,
        *,
        at: Micros,
    ) -> int | None:
        """Notes that a session is active and says the position of its next turn; None unless it is
        there and open.
        """

    def next_position(self, scope: Scope, session: str) -> int:
        """The position of the next turn of a session, from 0."""

    def memories(
        self,
        scope: Scope,
        session: str,
        *,
        named: bool = False,
    ) -> Memories:
        """The memories that stand under a session's id, in any status, by position; quick at any
        size.

        With `named` also those that name the session in their metadata, oldest first. A record
        names it as the session of its source.
        """

    def add_messages(
        self,
        scope: Scope,
        session: str,
        bodies: Sequence[Mapping[str, Any]],
    ) -> int:
        """Appends messages to a session, in order, at the author's time; says how many it has now.

        Each is a JSON object: InvalidInput otherwise. NotFound when there is no such session. Not
        journalled, and so not undone: messages are a log that only grows.
        """


class VectorTable(Protocol):
    """Vectors of memories, by model."""

    def get(
        self,
        scopes: Sequence[Scope],
        model: str,
        seqs: Sequence[int],
    ) -> dict[int, Vector]:
        """The stored vectors of these memories; those without one, or of another scope, are left
        out.
        """

    def similarities(
        self,
        scopes: Sequence[Scope],
        model: str,
        vector: Vector,
        seqs: Sequence[int],
    ) -> dict[int, float]:
        """How near these memories are to `vector`, by cosine; those without a vector of `model`, or
        of another scope, are left out."""

    def add(
        self,
        scopes: Sequence[Scope],
        model: str,
        vectors: Mapping[int, Vector],
    ) -> None:
        """Stores vectors by `seq`; those of memories that are not in these scopes are dropped.

        One model has one length.
        """

    def drop(self, model: str, scopes: Sequence[Scope] | None = None) -> int:
        """Forgets a model's vectors, everywhere or in some scopes, and returns how many there
        were.
        """

    def missing(
        self,
        model: str,
        limit: int,
        scopes: Sequence[Scope] | None = None,
        *,
        after: Memory | None = None,
    ) -> Memories:
        """Memories that have no vector of `model` yet: durable kinds first, then newest first.

        `after` is the last one of the batch before: whoever goes on behind it reads no memory
        twice, so that all of a scope cost as many reads as it has memories, whatever the size of a
        batch.
        """

    def behind(self, model: str, scopes: Sequence[Scope] | None = None) -> dict[Scope, int]:
        """The scopes with memories that have no vector of `model` yet, each with its highest `seq`.

        Quick for any number of scopes, as long as few are behind. None: all scopes, which needs
        rights of upkeep.
        """

    def models(self, scopes: Sequence[Scope]) -> dict[str, bool]:
        """The models that have vectors in these scopes, and whether every memory there has one.
        Quick at any size.
        """

    def dimensions(self, scopes: Sequence[Scope]) -> dict[str, int]:
        """The models that have vectors in these scopes, and how long their vectors are."""

    def coverage(self, scopes: Sequence[Scope] | None = None) -> dict[str, int]:
        """How many active memories have a vector, by model."""


class Erasure(Protocol):
    """What removes for good. The journal's entries stay, without a word in them, so that nothing
    that was erased comes back by an undo.
    """

    erased: Counter[str]
    """What this transaction has erased so far, by kind of row."""

    def memory(self, memory: Memory) -> None:
        """Removes a memory for good: its row, its links, and every word of it in the journal.

        So does it to one that was removed and that only the journal still knows. Whom nobody
        mentions any more goes with it, and so does the note of its file. NotFound when there is no
        such memory.
        """

    def session(self, scope: Scope, session: str) -> int:
        """Removes a session, its messages and its jobs for good, and every word of it in the
        journal.

        Its turns are memories and stay. Says how many messages it had. NotFound when there is no
        such session.
        """

    def entity(self, entity: Entity, names: Sequence[str]) -> None:
        """Erases these folded names of an entity, and all that the journal says of it; without
        names left, itself.
        """

    def scope(self, scope: Scope) -> None:
        """Removes everything of a scope for good, its journal too, of which one entry remains that
        says so.
        """

    def redact(self, scope: Scope, instead: Mapping[str, str]) -> int:
        """Writes something else in the place of each of these texts, where they are quoted outside
        memories' own words.

        That is in messages, metadata, reasons, summaries, errors of jobs and the journal. They are
        given as JSON writes them, with their quotes if they must be a whole string. Says how many
        rows that were.
        """

    def entities_of(self, scope: Scope, memory: str) -> Entities:
        """Whom a memory mentions, or mentioned before they were merged or split, with their
        names.
        """

    def removed(self, scope: Scope, id: str) -> Memory | None:
        """A memory that is no longer in its table, as the journal keeps it; None when it keeps no
        word of it.
        """

    def contents(self, scope: Scope, session: str | None = None) -> Iterator[tuple[str, str, str]]:
        """Everything that a scope says: noun, id and text of each memory, session, message and
        entity. With `session`, only the messages of that one.

        The id is empty where it is itself something that was said.
        """


class Replication(Protocol):
    """What keeps two stores equal: rows travel with all that the journal tells of them."""

    def is_sound(self, memory: Memory) -> bool:
        """Whether a memory's text is the one that was stored, as its hash says."""

    def purges(self, scope: Scope, *, after: int) -> list[tuple[str, str]]:
        """Noun and target of what was erased for good, as the journal names it behind an entry."""

    def lineages(self, scope: Scope, things: Iterable[tuple[str, str]]) -> list[Lineage]:
        """The rows with these nouns and targets, or their absence, with all that the journal tells
        of them.
        """

    def pending(self, scope: Scope, theirs: Sequence[Lineage]) -> list[Lineage]:
        """What `apply` would make of those lineages that say something new here."""

    def apply(self, scope: Scope, theirs: Sequence[Lineage]) -> Adopted:
        """Takes in what another store knows, so that this one knows the same; see merge.py for
        what that is.

        Their journal entries come along word for word, and nothing that they say is journalled a
        second time. Whatever a row points to must be here, or among the lineages.
        """

    def take_messages(
        self,
        scope: Scope,
        session: str,
        theirs: Sequence[Message],
        *,
        journal: bool,
    ) -> bool:
        """Puts another store's record of a session together with ours; whether ours has changed.
        None is lost.

        With `journal` an entry says that there are more, for whoever follows the journal.
        """

    def note_error(
        self,
        scope: Scope,
        place: str,
        error: str,
    ) -> None:
        """Notes why keeping equal with a place failed, for people to see; no error, no note."""

    def replica_id(self, scope: Scope) -> str:
        """By which name other stores know this one's journal of a scope; empty as long as it has
        met none.
        """

    def position(self, scope: Scope, peer: str) -> Met:
        """How far the journal of another store was read."""

    def set_position(
        self,
        scope: Scope,
        peer: str,
        met: Met,
        *,
        own: str,
    ) -> None:
        """Notes how far the journal of another store was read, and under which name it knows this
        one.
        """


class ProgressReads(Protocol):
    """How far the sinks of extraction have read the sessions."""

    def get(
        self,
        scope: Scope,
        session: str,
        sink: str,
    ) -> Progress | None:
        """How far a sink has read a session, or None where it has not."""

    def list(self, scope: Scope, session: str | None = None) -> ProgressMarks:
        """How far each sink has read a session, or each session of a scope."""


class ProgressTable(ProgressReads, Protocol):
    """The same inside a transaction."""

    def put(self, progress: Progress) -> None:
        """Records how far a sink has read a session; one that came no further keeps its mark.

        Journalled and exported, so that an undo takes it back and no other store reads the session
        again; but not for the sinks of this store alone.
        """

    def drop(
        self,
        scope: Scope,
        session: str,
        sink: str,
    ) -> None:
        """Takes back how far a sink has read a session: it reads all of it again."""


class ProfileReads(Protocol):
    """What is set for each scope."""

    def get(self, scope: Scope) -> Mapping[str, Any]:
        """What is set for a scope: a JSON object, empty where nothing was ever set."""


class ProfileTable(ProfileReads, Protocol):
    """The same inside a transaction."""

    def put(self, scope: Scope, settings: Mapping[str, Any]) -> None:
        """Makes these, which JSON must be able to hold, all that is set for a scope."""


class FileReads(Protocol):
    """Notes of how files were when they were last read."""

    def list(self, scope: Scope, root: str) -> KnownFiles:
        """The files that are known in a folder, in the order of their paths."""

    def stats(self, scope: Scope, root: str) -> dict[str, tuple[int, int]]:
        """Size and time of change of each of them, by its path: all that tells whether anything is
        different.
        """


class FileTable(FileReads, Protocol):
    """The same inside a transaction."""

    def put(self, scope: Scope, files: Sequence[KnownFile]) -> None:
        """Notes how files were when they were read, instead of what was known of them.

        Not journalled, and so not undone, exported or kept equal elsewhere: another disk has other
        files.
        """

    def drop(
        self,
        scope: Scope,
        root: str,
        paths: Sequence[str],
    ) -> None:
        """Forgets files of a folder; those that are not known are passed over."""


class JobTable(Protocol):
    """Background jobs. Each is held by one worker at a time, by a lease that runs out by itself."""

    def enqueue(
        self,
        scope: Scope,
        kind: str,
        key: str,
        *,
        watermark: int,
    ) -> None:
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

        `scopes` and `keys` narrow it to jobs that have one of them; without `scopes` it needs
        rights of upkeep. A lease that ran out counts as a try; after the last one the job is an
        error that says so.
        """

    def heartbeat(
        self,
        job: Job,
        *,
        now: Micros,
        lease: Micros,
    ) -> bool:
        """Extends a lease; False when it was lost."""

    def fail(
        self,
        job: Job,
        *,
        error: str,
        retry_at: Micros,
        tried: bool = True,
    ) -> bool:
        """Gives a job back with a reason; False when the lease was lost.

        One that was not `tried`, but put off, uses up no try.
        """

    def release(self, job: Job) -> bool:
        """Gives a job back unfinished: it is due at once, and no try is used up; False when the
        lease was lost.
        """

    def forget_done(
        self,
        kind: str,
        *,
        before: int,
        scopes: Sequence[Scope] | None = None,
    ) -> int:
        """Takes out the jobs of a kind that are done up to a watermark below `before`, and says how
        many.
        """

    def list(self, scopes: Sequence[Scope] | None = None) -> Jobs:
        """The jobs there are, done ones too, scope by scope. None: of all scopes, which needs
        rights of upkeep.
        """


class JobWrites(Protocol):
    """What a transaction does to jobs, together with all else that it does."""

    def enqueue(
        self,
        scope: Scope,
        kind: str,
        key: str,
        *,
        watermark: int,
    ) -> None:
        """Adds a job, or renews it, as `JobTable.enqueue` does, together with all else this
        transaction does.
        """

    def finish(self, job: Job) -> None:
        """Marks a leased job done in the same transaction as its outputs; Conflict if the lease was
        lost.
        """

    def drop(self, scope: Scope, kinds: Sequence[str]) -> int:
        """Takes out the jobs of these kinds, whoever holds them, and says how many: nobody has done
        or tried them.
        """


class SpendTable(Protocol):
    """What language models were asked, by owner and day. Not journalled, exported or synced."""

    def add(
        self,
        scope: Scope,
        day: int,
        used: Spent,
        *,
        most: int | None = None,
    ) -> bool:
        """Books what a language model is asked for an owner on a day, counted in days since 1970.

        With `most`, nothing is booked, and False comes back, if the day's tokens would be more than
        that; others who book at the same time are counted. Not journalled, exported or kept equal
        elsewhere.
        """

    def total(self, scopes: Sequence[Scope], day: int) -> Spent:
        """What was booked for these owners on a day."""


class Transaction(Protocol):
    """Changes inside one transaction. Each call is journalled; reads see the changes made so
    far.
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
        """The memory with this id or `seq`, in any status, or None."""

    def touched(self, source: str | None = None) -> Iterator[tuple[Scope, str, Memory | None]]:
        """Scope and id of the memories, all or of a `source`, that this transaction added, changed
        or removed.

        Each comes as it was when the transaction began, but for its `seq`; None where it was not
        there.
        """

    def same_words(self, memories: Sequence[Memory]) -> dict[str, Memories]:
        """For the ids of these memories, all that have the same normalised text in their scope, in
        any status.

        Oldest first, whatever their kind, category and author; turns are left out.
        """

    def add(self, memory: Memory) -> Memory:
        """Stores a new memory and returns it with its `seq`. Its id must be new in its scope."""

    def add_many(self, memories: Sequence[Memory]) -> Memories:
        """Like `add` for many at once, in order; much quicker than one by one."""

    def change(self, memory: Memory, **fields: Any) -> Memory:
        """Sets fields of a stored memory and returns it as it is now. The text itself never
        changes.
        """

    def remove(self, memory: Memory) -> None:
        """Takes a memory out of its table; the journal keeps it, so that it can come back."""

    def surplus(
        self,
        scope: Scope,
        kinds: Sequence[Kind],
        keep: int,
        *,
        spare_unconsolidated: bool,
    ) -> Memories:
        """The active memories of these kinds that have to go so that only `keep` of them stay,
        oldest first.

        Oldest by `created_at`, then by `seq`. Protected ones count but never go, and with
        `spare_unconsolidated` neither do those that consolidation has not been over; so more than
        `keep` may stay.
        """

    def link(self, edge: Edge) -> None:
        """Adds an edge; adding it twice equals once. NotFound when one of its ends is not there."""

    def events(
        self,
        scopes: Sequence[Scope],
        *,
        run: str | None = None,
        target: str | None = None,
        after: int | None = None,
        limit: int | None = None,
        order: EventOrder = "newest",
    ) -> Events:
        """Journal entries as in `Store.events`, without those that this transaction is about to
        write.
        """

    def undo(self, scopes: Sequence[Scope], run: str) -> Events:
        """Takes back every change of a run, newest first, exactly. Conflict if a later run changed
        the same thing.

        What is only observed is no part of that, see `rows.promised`; a session whose latest turns
        went is as active as what is left of it says.
        """

    def edges(self, scope: Scope, memory: str) -> Edges:
        """The edges from or to a memory, oldest first."""

    def restore_row(
        self,
        noun: str,
        row: Mapping[str, Any],
        *,
        journal: bool,
        seq: int | None = None,
    ) -> bool:
        """Puts back one exported row verbatim; False if an equal one is already there, Conflict if
        another is.

        `journal` says whether the row is new to the journal too, or comes with its own entries.
        `seq` is a number that a memory should keep. A file keeps it, Conflict if another memory has
        it; a server, whose numbers are shared by all scopes, gives a new one.
        """

    def restore_many(
        self,
        noun: str,
        scope: Scope,
        rows: Sequence[Mapping[str, Any]],
    ) -> None:
        """Puts exported rows of one table into a scope verbatim, in order; much quicker than one by
        one.

        They must be new there, and come with their own journal entries.
        """


class Store(Protocol):
    """Memories, their journal and their indexes, in one place. Safe for many threads and
    processes.
    """

    @property
    def location(self) -> str:
        """Where it is, for people: a path or a URL without password."""

    @property
    def entities(self) -> EntityReads:
        """People, places and things."""

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
    def spend(self) -> SpendTable:
        """Use of language models."""

    def write(self, author: Author, work: Callable[[Transaction], T]) -> T:
        """Runs `work` in one transaction: all of it is there afterwards, or none of it.

        `work` may run again if another writer got in the way, so it must do nothing but use its
        transaction.
        """

    def reading(self, scopes: Sequence[Scope]) -> AbstractContextManager[None]:
        """Reads of these scopes by this thread inside the block belong together, and may be quicker
        for it.
        """

    def short_busy_timeout(self) -> AbstractContextManager[None]:
        """Inside the block, this thread waits for other writers no longer than a moment: StoreBusy
        then.

        For what is noted on the way while somebody waits for an answer. Where writers do not wait
        for each other, it changes nothing.
        """

    def damaged(self, scopes: Sequence[Scope] | None) -> list[Damage]:
        """The rows of these scopes, or of all, that reads have met and left out, because they
        cannot be read any more.

        A damaged row never hides the others: every read leaves it out and notes it here.
        """

    def get(self, scopes: Sequence[Scope], refs: Sequence[str | int]) -> Memories:
        """The memories with these ids or `seq`s, in the order asked, in any status; unknown ones
        are left out.
        """

    def list(
        self,
        where: Filter,
        *,
        limit: int | None = None,
        after: int | None = None,
        order: Order = "newest",
    ) -> Memories:
        """Memories in insertion order (`oldest`) or its reverse; `after` is the `seq` to go on
        behind.

        `earliest` and `latest` go by `created_at`, then `seq`: what was imported came late but may
        be old. They know no `after`.
        """

    def by_text(
        self,
        where: Filter,
        terms: Sequence[str],
        limit: int,
    ) -> Ranked:
        """Memories that contain at least one of `terms`, best BM25 first."""

    def corpus(self, scopes: Sequence[Scope], terms: Sequence[str]) -> Corpus:
        """How many active memories there are, how long, and how many contain each term."""

    def by_vector(
        self,
        where: Filter,
        model: str,
        vector: Vector,
        limit: int,
    ) -> Ranked:
        """Memories nearest to `vector` among those with a vector of `model`, by cosine, squeezed
        into [0, 1].

        The search is exact, unless the backend has built an approximate index for a very large
        scope.
        """

    def by_entity(
        self,
        where: Filter,
        folded_names: Sequence[str],
        limit: int,
    ) -> Ranked:
        """Memories that mention an entity with one of these names: more of the names first, then
        the newest.
        """

    def neighbours(self, memories: Sequence[Memory], reach: int) -> dict[int, Memories]:
        """For each memory's `seq`, the active turns of its session at most `reach` positions away,
        itself left out.
        """

    def namespaces(self, where: Filter) -> Sequence[tuple[str, ...]]:
        """The namespaces of the items of LangGraph's store that pass `where`, each once, in no
        order.

        `where` says below which namespace they are; with no labels, anywhere.
        """

    def authors(self, scopes: Sequence[Scope]) -> Names:
        """The distinct authors of memories, in alphabetical order, at most 200."""

    def touch(
        self,
        scopes: Sequence[Scope],
        uses: Mapping[int, int],
        at: Micros,
    ) -> None:
        """Adds to the use counts of memories, by `seq`. Not journalled: reading is not a change."""

    def settle(
        self,
        scopes: Sequence[Scope],
        confidences: Mapping[int, float],
        at: Micros,
    ) -> None:
        """Brings the confidence of memories up to date, by `seq`; what it was when last said is
        kept as `strength`.

        Not journalled: that time goes by is not a change, and how sure a memory is can be worked
        out at any time.
        """

    def edges(self, scope: Scope, memory: str) -> Edges:
        """The edges from or to a memory, oldest first."""

    def events(
        self,
        scopes: Sequence[Scope],
        *,
        run: str | None = None,
        target: str | None = None,
        after: int | None = None,
        limit: int | None = None,
        order: EventOrder = "newest",
    ) -> Events:
        """Journal entries, newest first unless `order` says otherwise: of a run, of a memory
        (`target`), or behind the entry with the number `after`.
        """

    def snapshot(self) -> AbstractContextManager[Callable[[str, Scope], Iterator[dict[str, Any]]]]:
        """Gives a function like `rows` whose rows all show this moment, whatever is written or read
        meanwhile.
        """

    def rows(self, noun: str, scope: Scope) -> Iterator[dict[str, Any]]:
        """Every row of one table in one scope, in insertion order, in the shape of an export;
        constant memory.
        """

    def scopes(self) -> Scopes:
        """The scopes that hold anything, in the order they were first used."""

    def counts(self, scopes: Sequence[Scope]) -> dict[str, dict[str, int]]:
        """Number of memories by kind and status."""

    def check(self) -> Iterable[Finding]:
        """Everything that is not as promised; empty when all is well."""

    def repair(self) -> None:
        """Rebuilds every projection from truth."""

    def tend(self) -> Names:
        """Does the upkeep that keeps reads quick, such as indexes for scopes that have grown, and
        says what it did.
        """

    def scrub(self, *, wait: float = WAIT) -> Places:
        """Overwrites what purged rows left behind in files, and says of each place whether it is
        clean now.

        Others are waited for up to so many seconds at each step. It may be repeated at any time.
        """

    def close(self) -> None:
        """Ends all connections. Closing twice equals once; later calls raise StoreClosed."""


def rests_on(place: Store | Transaction, memory: Memory) -> list[str]:
    """The ids of the memories that one was derived from, in the order in which they were linked."""
    edges = place.edges(memory.scope, memory.id)
    return [
        edge.target
        for edge in edges
        if edge.source == memory.id and edge.relation == "derived_from"
    ]
