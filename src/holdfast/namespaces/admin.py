"""What keeps a memory in order over time: erasing, maintenance, moving, syncing, check-ups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .. import erasure, extraction, ingest, maintenance, records, replication
from ..base_client import BaseClient, author_of, who_of
from ..errors import InvalidInput
from ..model_access import meter_of, metered, worker_of
from ..storage import Filter, Findings
from ..storage.protocol import WAIT, Jobs, Places
from ..types import STATUSES, Memory, Scope
from ..validation import Ref, ScopeLike, check_limit, ref_of

if TYPE_CHECKING:
    from ..erasure.receipt import Receipt
    from ..models.llm.chat import Complete


class Keeping(BaseClient):
    """What keeps a memory in order over time: erasing, maintenance, moving, syncing, check-ups."""

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
            ", ".join(map(str, refs)) or (f"session {session}" if session else str(self.scopes[0]))
        )
        target = erasure.purge.Target(tuple(map(ref_of, refs)), session, owner, sources)
        return erasure.purge.erase(
            self._files, self.scopes, target, author_of(self, "purge"), wait=wait
        )

    def plan_purge(
        self, *refs: Ref, session: str | None = None, owner: bool = False, sources: bool = False
    ) -> erasure.purge.Plan:
        """What `purge` would erase, make again, and leave; nothing is changed."""
        target = erasure.purge.Target(tuple(map(ref_of, refs)), session, owner, sources)
        return erasure.purge.plan(self.store, self.scopes, target, author_of(self, "purge"))

    def _check_purger(self, what: str) -> None:
        who = who_of(self, "purge")
        if not ingest.permissions.ruling(who.kind, "purge", "free").allowed:
            raise extraction.permission_checks.refused("purge", "free", what)

    def finish_purge(self, *, wait: float = WAIT) -> Places:
        """Cleans up files that a purge could not finish with, because others were reading; says
        what is clean now.
        """
        return erasure.purge.finish(self.store, self.scopes[0], author_of(self, "purge"), wait=wait)

    def maintain(self, *tasks: str, complete: Complete | None = None) -> Jobs:
        """Does what is due now of enrich, consolidate, decay and reflect, or of `tasks` only; the
        jobs come back.

        `complete` is a language model as a function from prompt to answer; without one, rules do. A
        job that failed says why, and is tried again later.
        """
        worker = worker_of(self, self.scopes, complete=complete)
        self._write_uses()
        done: Jobs = []
        maintenance.job_runner.once(
            worker, tasks or tuple(maintenance.job_runner.TASKS), done.append
        )
        return done

    def decay(self, *, threshold: float | None = None) -> maintenance.decay.Decayed:
        """Lets facts that nobody uses become less sure; those below the threshold fade. Twice a day
        equals once.
        """
        below = self.settings.decay_threshold if threshold is None else threshold
        if not 0 <= below <= 1:
            raise InvalidInput(f"threshold must lie between 0 and 1, not {below!r}.")
        self._write_uses()
        return maintenance.decay.decay(
            self.store, self.scopes, self.clock(), actor=self.actor, threshold=below
        )

    def reflect(self, complete: Complete | None = None) -> Memory | None:
        """Looks back on the last week, if it is time to: by a model, or as a digest. None when it
        is not.
        """
        return maintenance.reflection.reflect(
            self.store,
            self.scopes[0],
            self.clock(),
            complete=metered(self, complete),
            max_bytes=self.settings.max_content_bytes,
        )

    def consolidate(
        self, complete: Complete, *, limit: int = 20
    ) -> extraction.episodes.Consolidated:
        """Lets a model, given as a function from prompt to answer, turn up to `limit` unread
        episodes into facts.
        """
        return extraction.episodes.consolidate(
            self.store,
            self.scopes[0],
            meter_of(self).through(complete, self.scopes[0]),
            limit=check_limit(limit),
            clock=self.clock,
            actor=self.actor,
            max_bytes=self.settings.max_content_bytes,
        )

    def export(self, *, history: bool = True, vectors: bool = False) -> Iterator[str]:
        """The lines of a lossless bundle of these scopes, in constant memory."""
        self._write_uses()
        return replication.bundle.export(self.store, self.scopes, history=history, vectors=vectors)

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
        author = author_of(self, "import")
        return replication.bundle.import_bundle(
            self.store, author, lines, into=scope, kept=self._filed(), progress=progress
        )

    def _filed(self) -> set[tuple[str, str]]:
        """Scope and id of each memory that is a file in the places that are open here."""
        if not self.places:
            return set()
        where = Filter(tuple(place.scope for place in self.places), statuses=STATUSES)
        return {
            (str(one.scope), one.id)
            for one in self.store.list(where)
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
            self.store, self.tiers, scopes=self.scopes, fresh=fresh, progress=progress
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
        if self.mode == "incognito":
            raise InvalidInput("This memory is incognito: it keeps nothing that could be synced.")
        run = replication.sync.Run(self.actor, self.clock, progress)
        return replication.sync.sync_with(
            self.store, place or self.settings.sync_with, self.scopes, run, only_plan=plan
        )

    def doctor(self, *, repair: bool = False) -> Findings:
        """What is not as promised in the whole store; with `repair`, every projection is rebuilt
        first.
        """
        if repair:
            self.store.repair()
        return list(self.store.check())
