"""Namespace `admin`: erasure, maintenance, export, import, sync, the journal and health checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from .. import erasure, extraction, ingest, maintenance, records, replication
from ..base_client import (
    Namespace,
    author_of,
    embedding_problems_of,
    files_of,
    find,
    warnings_of,
    who_of,
    write,
    write_uses,
)
from ..errors import InvalidInput
from ..model_access import meter_of, metered, worker_of
from ..storage import Filter, Findings, Transaction
from ..storage.protocol import WAIT, Jobs, Places
from ..telemetry import traced
from ..types import STATUSES, Edges, Events, Memories, Memory, Names, Scope, check_kind
from ..validation import Ref, ScopeLike, check_limit, most_of, ref_of, str_tuple

if TYPE_CHECKING:
    from ..erasure.receipt import Receipt
    from ..models.llm.chat import Complete

T = TypeVar("T")


class Admin(Namespace):
    """Erasure, maintenance, export, import, sync, the journal and health checks."""

    @traced("delete_memory")
    def purge(
        self,
        *refs: Ref,
        session: str | None = None,
        owner: bool = False,
        sources: bool = False,
        wait: float = WAIT,
    ) -> Receipt:
        """Erases for good, from every place: memories, a whole `session`, or all that is kept of
        the `owner`.

        What was made of it goes along, and with `sources` what it was made of. The owner is the
        first of the scopes. Others that read or write are waited for, up to `wait` seconds at each
        step. There is no way back, so that nobody but people may: NeedsPerson for an agent.
        """
        self._check_purger(
            ", ".join(map(str, refs))
            or (f"session {session}" if session else str(self.client.scopes[0]))
        )
        target = erasure.purge.Target(tuple(map(ref_of, refs)), session, owner, sources)
        return erasure.purge.erase(
            files_of(self.client),
            self.client.scopes,
            target,
            author_of(self.client, "purge"),
            wait=wait,
        )

    def plan_purge(
        self,
        *refs: Ref,
        session: str | None = None,
        owner: bool = False,
        sources: bool = False,
    ) -> erasure.purge.Plan:
        """What `purge` would erase, make again, and leave; nothing is changed."""
        target = erasure.purge.Target(tuple(map(ref_of, refs)), session, owner, sources)
        return erasure.purge.plan(
            self.client.store, self.client.scopes, target, author_of(self.client, "purge")
        )

    def _check_purger(self, what: str) -> None:
        who = who_of(self.client, "purge")
        if not ingest.permissions.ruling(who.kind, "purge", "free").allowed:
            raise extraction.permission_checks.refused("purge", "free", what)

    def finish_purge(self, *, wait: float = WAIT) -> Places:
        """Cleans up files that a purge could not finish with, because others were reading; says
        what is clean now.
        """
        return erasure.purge.finish(
            self.client.store, self.client.scopes[0], author_of(self.client, "purge"), wait=wait
        )

    def maintain(self, *tasks: str, complete: Complete | None = None) -> Jobs:
        """Does what is due now of enrich, consolidate, decay and reflect, or of `tasks` only; the
        jobs come back.

        `complete` is a language model as a function from prompt to answer; without one, rules do. A
        job that failed says why, and is tried again later.
        """
        worker = worker_of(self.client, self.client.scopes, complete=complete)
        write_uses(self.client)
        done: Jobs = []
        maintenance.job_runner.once(
            worker, tasks or tuple(maintenance.job_runner.TASKS), done.append
        )
        return done

    def decay(self, *, threshold: float | None = None) -> maintenance.decay.Decayed:
        """Lets facts that nobody uses become less sure; those below the threshold fade. Twice a day
        equals once.
        """
        below = self.client.settings.decay_threshold if threshold is None else threshold
        if not 0 <= below <= 1:
            raise InvalidInput(f"threshold must lie between 0 and 1, not {below!r}.")
        write_uses(self.client)
        return maintenance.decay.decay(
            self.client.store,
            self.client.scopes,
            self.client.clock(),
            actor=self.client.actor,
            threshold=below,
        )

    def reflect(self, complete: Complete | None = None) -> Memory | None:
        """Looks back on the last week, if it is time to: by a model, or as a digest. None when it
        is not.
        """
        return maintenance.reflection.reflect(
            self.client.store,
            self.client.scopes[0],
            self.client.clock(),
            complete=metered(self.client, complete),
            max_bytes=self.client.settings.max_content_bytes,
        )

    def consolidate(
        self, complete: Complete, *, limit: int = 20
    ) -> extraction.episodes.Consolidated:
        """Lets a model, given as a function from prompt to answer, turn up to `limit` unread
        episodes into facts.
        """
        return extraction.episodes.consolidate(
            self.client.store,
            self.client.scopes[0],
            meter_of(self.client).through(complete, self.client.scopes[0]),
            limit=check_limit(limit),
            clock=self.client.clock,
            actor=self.client.actor,
            max_bytes=self.client.settings.max_content_bytes,
        )

    def export(self, *, history: bool = True, vectors: bool = False) -> Iterator[str]:
        """The lines of a lossless bundle of these scopes, in constant memory."""
        write_uses(self.client)
        return replication.bundle.export(
            self.client.store, self.client.scopes, history=history, vectors=vectors
        )

    @traced("upsert_memory")
    def import_(
        self,
        lines: Iterable[str],
        *,
        into: ScopeLike | None = None,
        progress: Callable[[int], None] = lambda n: None,
    ) -> replication.bundle.Imported:
        """Takes a bundle in, all or nothing. Importing twice equals once. A record stays what its
        file here says.
        """
        scope = Scope.parse(into) if into is not None else None
        author = author_of(self.client, "import")
        return replication.bundle.import_bundle(
            self.client.store, author, lines, into=scope, kept=self._filed(), progress=progress
        )

    def _filed(self) -> set[tuple[str, str]]:
        """Scope and id of each memory that is a file in the places that are open here."""
        if not files_of(self.client).places:
            return set()
        where = Filter(
            tuple(place.scope for place in files_of(self.client).places), statuses=STATUSES
        )
        return {
            (str(one.scope), one.id)
            for one in self.client.store.list(where)
            if records.roots.is_record(one)
        }

    def reembed(
        self,
        *,
        fresh: bool = False,
        progress: Callable[[str, int], None] = lambda model, done: None,
    ) -> dict[str, int]:
        """Gives every memory of these scopes a vector of every model in use; can be stopped and
        repeated.
        """
        return maintenance.embedding_jobs.reembed(
            self.client.store,
            self.client.tiers,
            scopes=self.client.scopes,
            fresh=fresh,
            progress=progress,
        )

    def sync(
        self,
        place: str | Path | None = None,
        *,
        plan: bool = False,
        progress: Callable[[int], None] = lambda entries: None,
    ) -> replication.sync.Synced:
        """Makes these scopes equal here and in another store: a path, a postgresql:// URL, or the
        setting sync_with.

        Both take in what the other's journal says since they last met. Stopped anywhere, it goes on
        when it is called again. With `plan` nothing is changed, and what comes back is what would
        be done.
        """
        if self.client.mode == "incognito":
            raise InvalidInput("This memory is incognito: it keeps nothing that could be synced.")
        run = replication.sync.Run(self.client.actor, self.client.clock, progress)
        return replication.sync.sync_with(
            self.client.store,
            place or self.client.settings.sync_with,
            self.client.scopes,
            run,
            only_plan=plan,
        )

    def check(self, *, repair: bool = False) -> Findings:
        """What is not as promised in the whole store; with `repair`, every projection is rebuilt
        first.
        """
        if repair:
            self.client.store.repair()
        return list(self.client.store.check())

    @traced("delete_memory")
    def evict(
        self,
        *,
        kinds: Sequence[str],
        keep: int,
        spare_unconsolidated: bool = True,
    ) -> Memories:
        """Puts away the oldest memories of these kinds so that `keep` stay active; `restore` brings
        one back.

        Never one that is protected, nor, unless told otherwise, one that consolidation has yet to
        read.
        """
        wanted = tuple(map(check_kind, str_tuple(kinds, "kinds")))
        at = self.client.clock()
        keep = check_limit(keep, "keep")

        def work(tx: Transaction) -> Memories:
            found = tx.surplus(
                self.client.scopes[0], wanted, keep, spare_unconsolidated=spare_unconsolidated
            )
            why = f"more than {keep} kept"
            return [
                ingest.commit.set_status(tx, memory, "evicted", at=at, reason=why)
                for memory in found
            ]

        return write(self.client, "evict", work)

    def links(self, ref: Ref) -> Edges:
        """What a memory was derived from, supersedes or conflicts with, and the other way round."""
        memory = find(self.client, ref)
        return self.client.store.edges(memory.scope, memory.id)

    def log(self, *, limit: int | None = 50) -> Events:
        """The journal of these scopes, newest first."""
        return self.client.store.events(self.client.scopes, limit=most_of(limit))

    def warnings(self, *, commands: bool = True) -> Names:
        """What whoever was answered should know: rows that were left out because they cannot be
        read, and why recall went without a model.

        It tells what has been noticed so far in these scopes, and asks nobody. Without `commands`
        it does not say what to do about it: who is told may not be who runs the store, and a
        command names where it is.
        """
        return warnings_of(self.client, commands=commands)

    def embedding_problems(self, *, ask: bool = False) -> dict[str, str]:
        """Why embedding models cannot serve a recall here, by model: no answer, or vectors that
        cannot be compared.

        With `ask`, one that has not answered yet is asked for a vector; otherwise only what was
        noticed is told.
        """
        return embedding_problems_of(self.client, ask=ask)

    def write(self, verb: str, work: Callable[[Transaction], T]) -> T:
        """Runs changes of your own in one transaction, journalled under `verb`, so that `undo`
        takes them back.

        `work` may run again if another writer got in the way, so it must do nothing but use its
        transaction. NeedsPerson, and nothing is changed, when it does what this memory's actor may
        not do (`ingest/permissions.py`).
        """
        return write(self.client, verb, work)
