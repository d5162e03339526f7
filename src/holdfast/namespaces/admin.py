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
from ..storage.store_types import WAIT, Jobs, Places
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
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Receipt:
        """Erase memories, a whole `session` or everything of the `owner` permanently, from every
        place.

        Derived memories are erased too, and with `sources` also the source turns. The owner is the
        first scope. Each step waits up to `wait` seconds for other readers and writers. `progress`
        is called with the number of memories erased so far, and of all; for an owner with rows
        sealed or erased. A purge cannot be undone. Raises NotFound; NeedsPerson for an agent.
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
            progress=progress,
        )

    def plan_purge(
        self,
        *refs: Ref,
        session: str | None = None,
        owner: bool = False,
        sources: bool = False,
    ) -> erasure.purge.Plan:
        """Return what `purge` would erase, derive again and leave. Nothing is changed."""
        target = erasure.purge.Target(tuple(map(ref_of, refs)), session, owner, sources)
        return erasure.purge.plan(
            self.client.store, self.client.scopes, target, author_of(self.client, "purge")
        )

    def _check_purger(self, what: str) -> None:
        who = who_of(self.client, "purge")
        if not ingest.permissions.ruling(who.kind, "purge", "free").allowed:
            raise extraction.permission_checks.refused("purge", "free", what)

    def finish_purge(self, *, wait: float = WAIT) -> Places:
        """Clean the files that a purge could not finish while others were reading; return each
        place's state.
        """
        return erasure.purge.finish(
            self.client.store, self.client.scopes[0], author_of(self.client, "purge"), wait=wait
        )

    def maintain(self, *tasks: str, complete: Complete | None = None) -> Jobs:
        """Run the due jobs of enrich, consolidate, decay and reflect, or only of `tasks`; return
        the jobs.

        `complete` is a language model as a function from prompt to answer; without one, rules are
        used. A failed job carries the reason and is retried later.
        """
        worker = worker_of(self.client, self.client.scopes, complete=complete)
        # Decay depends on the last use, so the buffered use counts must be in the store.
        write_uses(self.client)
        done: Jobs = []
        maintenance.job_runner.once(
            worker, tasks or tuple(maintenance.job_runner.TASKS), done.append
        )
        return done

    def decay(self, *, threshold: float | None = None) -> maintenance.decay.Decayed:
        """Lower the confidence of unused facts and retire those below the threshold. Idempotent.

        Raises InvalidInput for a threshold outside [0, 1].
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
        """Summarise the last week with a model, or as a digest; return None if no reflection is
        due.
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
        """Turn up to `limit` unread episodes into facts with a model, a function from prompt to
        answer.
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
        """Return the lines of a lossless bundle of these scopes, in constant memory."""
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
        """Import a bundle atomically. Idempotent. Records keep the text of their local files."""
        scope = Scope.parse(into) if into is not None else None
        author = author_of(self.client, "import")
        return replication.bundle.import_bundle(
            self.client.store, author, lines, into=scope, kept=self._filed(), progress=progress
        )

    def _filed(self) -> set[tuple[str, str]]:
        """Scope and id of every memory that is a file in an open place."""
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
        """Embed every memory of these scopes with every configured model. Can be interrupted and
        resumed.
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
        progress: Callable[[int, int], None] = lambda read, total: None,
    ) -> replication.sync.Synced:
        """Sync these scopes with another store: a path, a postgresql:// URL, or the setting
        sync_with.

        Each store applies the other's journal entries since their last sync. An interrupted sync
        resumes with the next call. With `plan`, return what would be done and change nothing.
        `progress` is called with the journal entries read so far, and about how many there are.
        Raises InvalidInput for an incognito memory.
        """
        if self.client.mode == "incognito":
            raise InvalidInput("This memory is incognito: it keeps nothing that could be synced.")
        run = replication.sync.Run(
            self.client.actor,
            self.client.clock,
            progress,
            key_file=self.client.settings.key_file,
        )
        return replication.sync.sync_with(
            self.client.store,
            place or self.client.settings.sync_with,
            self.client.scopes,
            run,
            only_plan=plan,
        )

    def check(
        self,
        *,
        repair: bool = False,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Findings:
        """Check the integrity of the whole store; with `repair`, rebuild every projection first.

        `progress` is called with the rows checked so far, and about how many there are to check.
        """
        if repair:
            self.client.store.repair()
        return list(self.client.store.check(progress=progress))

    @traced("delete_memory")
    def evict(
        self,
        *,
        kinds: Sequence[str],
        keep: int,
        spare_unconsolidated: bool = True,
    ) -> Memories:
        """Evict the oldest memories of these kinds so that `keep` stay active; `restore` brings one
        back.

        Protected memories are never evicted; unread episodes only without `spare_unconsolidated`.
        """
        wanted = tuple(map(check_kind, str_tuple(kinds, "kinds")))
        at = self.client.clock()
        keep = check_limit(keep, "keep")

        def work(tx: Transaction) -> Memories:
            # Counted inside the transaction: two writers at the cap must not both evict.
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
        """Return the links of a memory in both directions: derived from, supersedes, conflicts
        with.
        """
        memory = find(self.client, ref)
        return self.client.store.edges(memory.scope, memory.id)

    def log(self, *, limit: int | None = 50) -> Events:
        """Return the journal of these scopes, newest first."""
        return self.client.store.events(self.client.scopes, limit=most_of(limit))

    def warnings(self, *, commands: bool = True) -> Names:
        """Return warnings for the reader of an answer: skipped damaged rows, and models that recall
        lacked.

        Reports what was noticed so far in these scopes and calls no model. `commands=False` leaves
        out advice, for readers who do not operate the store: a command names its location.
        """
        return warnings_of(self.client, commands=commands)

    def embedding_problems(self, *, ask: bool = False) -> dict[str, str]:
        """Return why embedding models cannot serve a recall, by model: no answer, or incompatible
        vectors.

        With `ask`, models that have not answered yet are called once; otherwise only known problems
        are reported.
        """
        return embedding_problems_of(self.client, ask=ask)

    def write(self, verb: str, work: Callable[[Transaction], T]) -> T:
        """Run your own changes in one transaction, journalled under `verb`, so that `undo` reverts
        them.

        `work` may be retried after a conflict, so it must have no effect outside its transaction.
        Raises NeedsPerson, and rolls back, if it does what this actor may not
        (`ingest/permissions.py`).
        """
        return write(self.client, verb, work)
