"""A store some of whose memories are files as well.

Files are read at named points only: a method that reads memories calls `refresh` first, and so does
`write`, which also writes the files of the records that changed. Looking up an attribute or a table
touches no file. Sessions, jobs, spend, progress and profiles are not in files and need no refresh.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .. import records
from ..errors import Conflict
from ..floats import Vector
from ..storage.protocol import (
    EntityReads,
    FileReads,
    JobTable,
    LookTable,
    ProfileReads,
    ProgressReads,
    SpendTable,
    Store,
    StoreSessions,
    TimelineReads,
    Transaction,
    VectorTable,
)
from ..storage.store_types import (
    WAIT,
    Author,
    Axis,
    Candidates,
    Corpus,
    DayCounts,
    Entities,
    EventOrder,
    Filter,
    Finding,
    KnownFiles,
    Order,
    Pairs,
    Places,
    Ranked,
    Sizes,
)
from ..types import (
    Edges,
    Entity,
    Events,
    Kind,
    Memories,
    Memory,
    Micros,
    Names,
    Scope,
    Scopes,
    Status,
)
from ..values import replace
from .atomic_files import Changes
from .file_sync import Followed, Follower, Progress, follow
from .roots import RecordRoot

if TYPE_CHECKING:
    from ..storage.damage import Damage

T = TypeVar("T")
# These verbs apply another store's changes as they come, including those to files that are not on
# this machine.
GIVEN = (
    "sync",
    "import",
)


class FileBackedStore:
    """A store that is opened together with folders of records; see `Store` in protocol.py."""

    def __init__(
        self,
        store: Store,
        places: Sequence[RecordRoot],
        author: Callable[[str], Author],
        max_bytes: int,
    ) -> None:
        self.bare = store
        self._follower = Follower(store, author, max_bytes)
        self.places = tuple(places)
        self.followed = Followed()
        """What following brought before the first read or write."""
        self.deleted: Sequence[Path] = ()
        """The files that were deleted because their records were."""
        self._lock = threading.RLock()
        self._current = not places

    # Files

    def refresh(self) -> None:
        """Read changed files before the first read or write, and again after a conflict."""
        if not self._current:
            # Checked again under the lock: a second thread waits for the first, then has nothing
            # to do.
            with self._lock:
                if not self._current:
                    self.followed = self.follow()

    def follow(self, progress: Progress = lambda done, total: None) -> Followed:
        """Update the memories of all roots from their files."""
        whole = Followed()
        with self._lock:
            for place in self.places:
                one = follow(replace(self._follower, progress=progress), place)
                for name in ("added", "changed", "removed", "warnings"):
                    getattr(whole, name).extend(getattr(one, name))
                whole.read += one.read
            self._current = True
        return whole

    def write(self, author: Author, work: Callable[[Transaction], T]) -> T:
        """Run a transaction and write the files of the records that it changes.

        Raises InvalidInput for a record whose files are kept elsewhere.
        """
        self.refresh()
        changes = Changes()

        def whole(tx: Transaction) -> T:
            # The store may retry `whole`; a retry must start from the original files.
            changes.take_back()
            result = work(tx)
            records.write_back.Mirror(
                tx, self.bare, self._by_scope, changes, self._follower.max_bytes
            ).write(strict=author.verb not in GIVEN)
            return result

        try:
            result = self.bare.write(author, whole)
        except BaseException as error:
            changes.take_back()
            # After a conflict the files have changed under us, so the next access reads them
            # again.
            self._current = self._current and not (isinstance(error, Conflict) and self.places)
            raise
        self.deleted = (*self.deleted, *changes.deleted)
        return result

    @property
    def _by_scope(self) -> dict[Scope, RecordRoot]:
        return {place.scope: place for place in self.places}

    # Tables

    @property
    def entities(self) -> EntityReads:
        return RefreshedEntities(self.bare, self.refresh)

    @property
    def timeline(self) -> TimelineReads:
        return RefreshedTimeline(self.bare, self.refresh)

    @property
    def vectors(self) -> VectorTable:
        return RefreshedVectors(self.bare, self.refresh)

    @property
    def files(self) -> FileReads:
        return RefreshedFiles(self.bare, self.refresh)

    @property
    def sessions(self) -> StoreSessions:
        return self.bare.sessions

    @property
    def progress(self) -> ProgressReads:
        return self.bare.progress

    @property
    def profiles(self) -> ProfileReads:
        return self.bare.profiles

    @property
    def jobs(self) -> JobTable:
        return self.bare.jobs

    @property
    def looks(self) -> LookTable:
        return self.bare.looks

    @property
    def spend(self) -> SpendTable:
        return self.bare.spend

    # Upkeep, which knows nothing of files

    @property
    def location(self) -> str:
        return self.bare.location

    def short_busy_timeout(self) -> AbstractContextManager[None]:
        return self.bare.short_busy_timeout()

    def repair(self) -> None:
        self.bare.repair()

    def tend(self) -> Names:
        return self.bare.tend()

    def scrub(self, *, wait: float = WAIT) -> Places:
        return self.bare.scrub(wait=wait)

    def close(self) -> None:
        self.bare.close()

    # Memories

    def reading(self, scopes: Sequence[Scope]) -> AbstractContextManager[None]:
        self.refresh()
        return self.bare.reading(scopes)

    def damaged(self, scopes: Sequence[Scope] | None) -> list[Damage]:
        self.refresh()
        return self.bare.damaged(scopes)

    def get(self, scopes: Sequence[Scope], refs: Sequence[str | int]) -> Memories:
        self.refresh()
        return self.bare.get(scopes, refs)

    def list(
        self,
        where: Filter,
        *,
        limit: int | None = None,
        after: int | None = None,
        order: Order = "newest",
    ) -> Memories:
        self.refresh()
        return self.bare.list(where, limit=limit, after=after, order=order)

    def by_text(
        self,
        where: Filter,
        terms: Sequence[str],
        limit: int,
    ) -> Ranked:
        self.refresh()
        return self.bare.by_text(where, terms, limit)

    def corpus(self, scopes: Sequence[Scope], terms: Sequence[str]) -> Corpus:
        self.refresh()
        return self.bare.corpus(scopes, terms)

    def by_vector(
        self,
        where: Filter,
        model: str,
        vector: Vector,
        limit: int,
    ) -> Ranked:
        self.refresh()
        return self.bare.by_vector(where, model, vector, limit)

    def by_entity(
        self,
        where: Filter,
        folded_names: Sequence[str],
        limit: int,
    ) -> Ranked:
        self.refresh()
        return self.bare.by_entity(where, folded_names, limit)

    def candidates(
        self,
        where: Filter,
        seqs: Sequence[int],
        best: Sequence[int] = (),
        reach: int = 0,
    ) -> Candidates:
        self.refresh()
        return self.bare.candidates(where, seqs, best, reach)

    def namespaces(self, where: Filter) -> Sequence[tuple[str, ...]]:
        self.refresh()
        return self.bare.namespaces(where)

    def authors(self, scopes: Sequence[Scope]) -> Names:
        self.refresh()
        return self.bare.authors(scopes)

    def touch(
        self,
        scopes: Sequence[Scope],
        uses: Mapping[int, int],
        at: Micros,
    ) -> None:
        self.refresh()
        self.bare.touch(scopes, uses, at)

    def settle(
        self,
        scopes: Sequence[Scope],
        confidences: Mapping[int, float],
        at: Micros,
    ) -> None:
        self.refresh()
        self.bare.settle(scopes, confidences, at)

    def scopes(self) -> Scopes:
        self.refresh()
        return self.bare.scopes()

    def sizes(self) -> Sizes:
        self.refresh()
        return self.bare.sizes()

    def counts(self, scopes: Sequence[Scope]) -> dict[str, dict[str, int]]:
        self.refresh()
        return self.bare.counts(scopes)

    def check(
        self, *, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> Iterable[Finding]:
        self.refresh()
        return self.bare.check(progress=progress)

    # Edges, journal, export

    def edges(self, scope: Scope, memory: str) -> Edges:
        self.refresh()
        return self.bare.edges(scope, memory)

    def sources(
        self, scopes: Sequence[Scope], memories: Sequence[str]
    ) -> dict[str, frozenset[str]]:
        self.refresh()
        return self.bare.sources(scopes, memories)

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
        self.refresh()
        return self.bare.events(
            scopes, run=run, target=target, after=after, limit=limit, order=order, strict=strict
        )

    def snapshot(self) -> AbstractContextManager[Callable[[str, Scope], Iterator[dict[str, Any]]]]:
        self.refresh()
        return self.bare.snapshot()

    def rows(self, noun: str, scope: Scope) -> Iterator[dict[str, Any]]:
        self.refresh()
        return self.bare.rows(noun, scope)


class RefreshedEntities:
    """Entities; see `EntityReads` in protocol.py."""

    def __init__(self, store: Store, refresh: Callable[[], None]) -> None:
        self._store = store
        self._refresh = refresh

    def list(
        self,
        scopes: Sequence[Scope],
        *,
        names: Sequence[str] | None = None,
        ids: Sequence[str] | None = None,
        types: Sequence[str] = (),
        limit: int | None = None,
    ) -> Entities:
        self._refresh()
        return self._store.entities.list(scopes, names=names, ids=ids, types=types, limit=limit)

    def get(self, scope: Scope, id: str) -> Entity | None:
        self._refresh()
        return self._store.entities.get(scope, id)

    def mentioning(
        self,
        scope: Scope,
        entity: str,
        *,
        limit: int | None = None,
        statuses: Sequence[Status] | None = ("active",),
    ) -> Memories:
        self._refresh()
        return self._store.entities.mentioning(scope, entity, limit=limit, statuses=statuses)

    def mentions_of(self, scope: Scope, memories: Sequence[str]) -> dict[str, Names]:
        self._refresh()
        return self._store.entities.mentions_of(scope, memories)

    def companions(
        self,
        scope: Scope,
        entity: str,
        *,
        limit: int,
        most: int,
    ) -> tuple[dict[str, int], bool]:
        self._refresh()
        return self._store.entities.companions(scope, entity, limit=limit, most=most)

    def pairs(
        self,
        scope: Scope,
        entities: Sequence[str],
        *,
        latest: int,
    ) -> tuple[Pairs, bool]:
        self._refresh()
        return self._store.entities.pairs(scope, entities, latest=latest)

    def recently_mentioned(
        self,
        scopes: Sequence[Scope],
        *,
        latest: int,
        limit: int,
    ) -> dict[str, int]:
        self._refresh()
        return self._store.entities.recently_mentioned(scopes, latest=latest, limit=limit)


class RefreshedTimeline:
    """The timeline; see `TimelineReads` in protocol.py."""

    def __init__(self, store: Store, refresh: Callable[[], None]) -> None:
        self._store = store
        self._refresh = refresh

    def days(
        self,
        scopes: Sequence[Scope],
        *,
        axis: Axis,
        kinds: Sequence[Kind],
        entity: str | None = None,
        ahead: Micros = 0,
    ) -> DayCounts:
        self._refresh()
        return self._store.timeline.days(scopes, axis=axis, kinds=kinds, entity=entity, ahead=ahead)

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
        self._refresh()
        return self._store.timeline.page(
            scopes,
            axis=axis,
            kinds=kinds,
            limit=limit,
            entity=entity,
            since=since,
            until=until,
            before=before,
        )

    def counts(self, scopes: Sequence[Scope]) -> dict[str, dict[str, int]]:
        self._refresh()
        return self._store.timeline.counts(scopes)

    def fading(
        self,
        scopes: Sequence[Scope],
        *,
        now: Micros,
        threshold: float,
        limit: int,
    ) -> Memories:
        self._refresh()
        return self._store.timeline.fading(scopes, now=now, threshold=threshold, limit=limit)

    def waiting(
        self,
        scopes: Sequence[Scope],
        *,
        kinds: Sequence[Kind],
        latest: int,
    ) -> tuple[int, bool]:
        self._refresh()
        return self._store.timeline.waiting(scopes, kinds=kinds, latest=latest)


class RefreshedVectors:
    """Vectors; see `VectorTable` in protocol.py."""

    def __init__(self, store: Store, refresh: Callable[[], None]) -> None:
        self._store = store
        self._refresh = refresh

    def get(
        self,
        scopes: Sequence[Scope],
        model: str,
        seqs: Sequence[int],
    ) -> dict[int, Vector]:
        self._refresh()
        return self._store.vectors.get(scopes, model, seqs)

    def similarities(
        self,
        scopes: Sequence[Scope],
        model: str,
        vector: Vector,
        seqs: Sequence[int],
    ) -> dict[int, float]:
        self._refresh()
        return self._store.vectors.similarities(scopes, model, vector, seqs)

    def add(
        self,
        scopes: Sequence[Scope],
        model: str,
        vectors: Mapping[int, Vector],
    ) -> None:
        self._refresh()
        self._store.vectors.add(scopes, model, vectors)

    def drop(self, model: str, scopes: Sequence[Scope] | None = None) -> int:
        self._refresh()
        return self._store.vectors.drop(model, scopes)

    def missing(
        self,
        model: str,
        limit: int,
        scopes: Sequence[Scope] | None = None,
        *,
        after: Memory | None = None,
    ) -> Memories:
        self._refresh()
        return self._store.vectors.missing(model, limit, scopes, after=after)

    def behind(self, model: str, scopes: Sequence[Scope] | None = None) -> dict[Scope, int]:
        self._refresh()
        return self._store.vectors.behind(model, scopes)

    def models(self, scopes: Sequence[Scope]) -> dict[str, bool]:
        self._refresh()
        return self._store.vectors.models(scopes)

    def dimensions(self, scopes: Sequence[Scope]) -> dict[str, int]:
        self._refresh()
        return self._store.vectors.dimensions(scopes)

    def coverage(self, scopes: Sequence[Scope] | None = None) -> dict[str, int]:
        self._refresh()
        return self._store.vectors.coverage(scopes)


class RefreshedFiles:
    """Known files; see `FileReads` in protocol.py."""

    def __init__(self, store: Store, refresh: Callable[[], None]) -> None:
        self._store = store
        self._refresh = refresh

    def list(self, scope: Scope, root: str) -> KnownFiles:
        self._refresh()
        return self._store.files.list(scope, root)

    def stats(self, scope: Scope, root: str) -> dict[str, tuple[int, int]]:
        self._refresh()
        return self._store.files.stats(scope, root)
