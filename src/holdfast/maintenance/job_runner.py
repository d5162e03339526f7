"""Job runner: plan, claim, run, finish or fail maintenance jobs. Any number of workers can share a
store.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..erasure.cleanup import JOB as SCRUB
from ..errors import CapReached, Conflict, HoldfastError, InvalidInput
from ..extraction.job_types import (
    REVIVAL,
    Due,
    Kind,
    LeaseLost,
    Output,
    Stopping,
    Task,
    Terms,
    Worker,
    due_looks,
)
from ..extraction.session_extraction import LEARN, end_silent
from ..models.embeddings.tiers import Tiers
from ..projects.build import BUILD
from ..projects.stage1 import EXTRACT
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Author, Enqueued, Look
from ..types import DAY, Clock, Job, Micros, Scope, new_id, system_clock
from .decay import DECAY
from .embedding_jobs import EMBED
from .entity_jobs import ENRICH
from .reflection import REFLECT

log = logging.getLogger(__name__)

KINDS: Mapping[str, Kind] = {
    kind.name: kind for kind in (SCRUB, EMBED, LEARN, ENRICH, DECAY, REFLECT, EXTRACT, BUILD)
}
"""All job types, most urgent first."""
# These run as soon as they are due; the others have a schedule.
ALWAYS = (SCRUB.name, EMBED.name, LEARN.name)
TASKS: Mapping[str, str] = {
    "enrich": ENRICH.name,
    "consolidate": LEARN.name,
    "decay": DECAY.name,
    "reflect": REFLECT.name,
}
"""Maintenance tasks by name, with their job types, in the order that works best."""

# The limit for a new job.
TRIES = 3
# After the first failure; doubled after each further one.
BACKOFF: Micros = 30_000_000
# How long finished jobs stay listed, for job types without a fixed number of them.
KEPT_FOR = 30 * DAY
# Seconds. Short scripts end before and never load a model.
DELAY = 1.0
# Scopes per round of the background thread.
TOGETHER = 100

JobListener = Callable[[Job], None]


def plan(worker: Worker, kinds: Sequence[str] = ALWAYS) -> int:
    """Enqueue the jobs that are due; return how many can be claimed now, or as soon as their worker
    has finished with what it knows of.
    """
    found = enqueue_due(worker, kinds)
    return found if worker.scopes is not None else found + _waiting(worker, kinds)


def enqueue_due(worker: Worker, kinds: Sequence[str] = ALWAYS) -> int:
    """Enqueue the jobs that are due; return how many of these can be claimed now or, for all
    scopes, how many are held.

    For all scopes, it looks only at those that have changed and those whose time has come.
    """
    if worker.scopes is not None:
        return sum(_plan_scopes(worker, kind) for kind in kinds)
    watched = [kind for kind in kinds if KINDS[kind].looks is not None]
    for kind in watched:
        worker.store.looks.watch(kind, _looked_for(worker, kind))
    if watched:
        worker.store.looks.gather()
    for kind in kinds:
        if kind not in watched:
            _plan_scopes(worker, kind)
    return sum(_plan_looks(worker, kind) for kind in watched)


def _waiting(worker: Worker, kinds: Sequence[str]) -> int:
    """Return how many jobs of these kinds can be claimed now."""
    now, jobs = worker.clock(), worker.store.jobs
    able = {kind: KINDS[kind].keys for kind in kinds}
    return sum(
        jobs.waiting(kind, now=now, keys=None if keys is None else keys(worker))
        for kind, keys in able.items()
    )


def _looked_for(worker: Worker, kind: str) -> Sequence[str]:
    looks = KINDS[kind].looks
    return looks(worker) if looks is not None else ()


def _plan_scopes(worker: Worker, kind: str) -> int:
    """Plan by deriving what is due from the data of all of the worker's scopes."""
    if next(iter(KINDS[kind].due(worker)), None) is None:
        return 0
    found = _found(worker, kind)
    worker.store.jobs.enqueue_all([one.job for one in found if one.job is not None])
    return sum(one.job is not None or one.claimable for one in found)


def _plan_looks(worker: Worker, kind: str) -> int:
    """Plan by looking at the scopes that have changed or whose time has come; return how many jobs
    have more to do that a worker holds.
    """
    store = worker.store
    renewed = 0
    for looks in due_looks(worker, kind, _looked_for(worker, kind)):
        scopes = list(dict.fromkeys(look.scope for look in looks))
        found = _found(replace(worker, scopes=scopes), kind)
        enqueued = [one.job for one in found if one.job is not None]
        store.looks.settle([(look, _again(worker, look, found)) for look in looks], enqueued)
        renewed += sum(one.job is not None and one.held for one in found)
    return renewed


def _again(worker: Worker, look: Look, found: Sequence[Found]) -> Micros | None:
    """When a scope has to be looked at again, though nothing changes there.

    As long as something is due, after a while: its job may have used up its tries.
    """
    kind = KINDS[look.kind]
    mine = [
        one
        for one in found
        if one.due.scope == look.scope and (kind.keys is None or one.due.key == look.key)
    ]
    if not mine:
        return kind.again(worker, look.scope)
    return min(one.revives_at or worker.clock() + REVIVAL for one in mine)


class Found(NamedTuple):
    """Something that is due, and what has to be done for its job."""

    due: Due
    job: Enqueued | None
    """What has to be enqueued; None if its job is up to date or rests."""
    claimable: bool
    held: bool
    """Whether a worker is at it."""
    revives_at: Micros | None
    """When it gets new tries; None if it has some."""


def _found(worker: Worker, kind: str) -> list[Found]:
    """What is due in the worker's scopes."""
    known = {(job.scope, job.key): job for job in worker.store.jobs.list(worker.scopes, kind=kind)}
    now, terms = worker.clock(), KINDS[kind].terms(worker)
    found = []
    # Derived after the jobs were read: another worker may have finished one meanwhile.
    for due in KINDS[kind].due(worker):
        job = known.get((due.scope, due.key))
        watermark = due.watermark if job is None else _renewal(due, job, now, terms)
        tired = job is not None and not watermark and job.retries_left <= 0
        found.append(
            Found(
                due,
                Enqueued(due.scope, kind, due.key, watermark) if watermark else None,
                claimable=job is not None and _claimable(job, now),
                held=job is not None and job.status == "running" and not _claimable(job, now),
                revives_at=(job.retry_at or 0) + terms.revival
                if job is not None and tired and terms.revival is not None
                else None,
            )
        )
    return found


def _renewal(
    due: Due,
    job: Job,
    now: Micros,
    terms: Terms,
) -> int:
    """Watermark that gives a known job more to do; 0 if it has that already or is paused."""
    grown = due.watermark > job.watermark
    if job.status == "running":
        return due.watermark if grown else 0
    if job.status == "done":
        # Also without new memories: vectors may have been dropped, or a memory restored.
        return max(due.watermark, job.watermark + 1)
    if not grown and terms.revival is None:
        return 0
    rested = (job.retry_at or 0) + (0 if grown else terms.revival or 0) <= now
    return max(due.watermark, job.watermark + 1) if job.retries_left <= 0 and rested else 0


def _claimable(job: Job, now: Micros) -> bool:
    if job.status == "running":
        return (job.lease_until or 0) <= now
    return job.retries_left > 0 and (job.retry_at or 0) <= now


def work_once(worker: Worker, kinds: Sequence[str] = ALWAYS) -> Job | None:
    """Run one job that is due; return None if there is none.

    The returned job has its new status: done; error, with the reason and the time of the next
    attempt; pending, if the worker was stopped and released it; running, if the lease was lost to
    another worker.
    """
    for kind in kinds:
        able = KINDS[kind].keys
        lease = KINDS[kind].terms(worker).lease
        for keys in [None] if able is None else [[key] for key in able(worker)]:
            job = worker.store.jobs.claim(
                [kind],
                keys=keys,
                scopes=worker.scopes,
                worker=worker.name,
                now=worker.clock(),
                lease=lease,
                after=worker.rounds.served.get(kind),
            )
            if job is not None:
                # The owners take turns, so that none waits for all the jobs of another.
                worker.rounds.served[kind] = job.scope
                return _done(Task(worker, job, lease))
    return None


def _done(task: Task) -> Job:
    job = task.job
    try:
        _finish(task, KINDS[job.kind].run(task))
    except Stopping:
        return replace(job, status="pending") if task.worker.store.jobs.release(job) else job
    except KeyboardInterrupt:
        # The next worker need not wait for the lease to expire.
        task.worker.store.jobs.release(job)
        raise
    except LeaseLost:
        log.info(
            "lost %s %s of %s to another worker",
            job.kind,
            job.key,
            job.scope,
        )
        return job
    except CapReached as error:
        return _put_off(task, error)
    except HoldfastError as error:
        return _failed(task, str(error))
    except Exception as error:  # a bug in one job type must not block the others
        log.exception("%s %s of %s", job.kind, job.key, job.scope)
        return _failed(task, f"{type(error).__name__}: {error}")
    return replace(job, status="done", error="", done_watermark=job.watermark)


def _finish(task: Task, output: Output | None) -> None:
    at = task.worker.clock()

    def work(tx: Transaction) -> None:
        last = output(tx) if output is not None else None
        try:
            tx.jobs.finish(task.job)
        except Conflict as error:
            raise LeaseLost from error
        if callable(last):
            last()

    task.worker.store.write(
        Author(f"worker:{task.worker.name}", new_id("run", at), at, task.job.kind), work
    )


def _failed(task: Task, reason: str) -> Job:
    job = task.job
    rest = KINDS[job.kind].terms(task.worker).retry
    retry_at = task.worker.clock() + (
        BACKOFF * 2 ** max(0, TRIES - job.retries_left) if rest is None else rest
    )
    if not task.worker.store.jobs.fail(job, error=reason, retry_at=retry_at):
        return job
    return replace(
        job,
        status="error",
        error=reason,
        retry_at=retry_at,
        retries_left=job.retries_left - 1,
    )


def _put_off(task: Task, error: CapReached) -> Job:
    """Release a job until the token budget allows it. This is not a failure and does not count as
    an attempt.
    """
    job = task.job
    retry_at = error.until or task.worker.clock() + BACKOFF
    if not task.worker.store.jobs.fail(job, error=str(error), retry_at=retry_at, tried=False):
        return job
    return replace(job, status="error", error=str(error), retry_at=retry_at)


def drain(
    worker: Worker,
    report: JobListener = lambda job: None,
    kinds: Sequence[str] = ALWAYS,
    *,
    planned: Callable[[int], None] | None = None,
) -> int:
    """Plan, then run jobs until none is due or the worker is stopped; return their number. `report`
    is called with each, and `planned` once with the number that is due at first.
    """
    if worker.meter is not None:
        worker = replace(worker, meter=worker.meter.anew())
    if LEARN.name in kinds:
        end_silent(worker)
    if planned is None:
        # Nobody wants to know, so that they are not counted either.
        enqueue_due(worker, kinds)
    else:
        planned(plan(worker, kinds))
    count = 0
    while not worker.stop.is_set() and (job := work_once(worker, kinds)) is not None:
        report(job)
        count += 1
    return count


def once(
    worker: Worker,
    tasks: Sequence[str],
    report: JobListener = lambda job: None,
    *,
    planned: Callable[[int], None] | None = None,
) -> int:
    """Run the due jobs of these tasks now, regardless of the schedule; return their number."""
    for task in tasks:
        if task not in TASKS:
            raise InvalidInput(f"Unknown task {task!r}. Use: {', '.join(TASKS)}.")
    if "consolidate" in tasks:
        # There is one job per session, forever; its watermark is the session's last activity.
        worker.store.jobs.forget_done(
            LEARN.name,
            before=worker.clock() - KEPT_FOR,
            scopes=worker.scopes,
        )
    return drain(worker, report, [TASKS[task] for task in tasks], planned=planned)


class Upgrader:
    """Background thread that embeds while the program runs. It starts at the first nudge.

    It runs jobs only for the scopes it was nudged for. So it needs no maintenance rights, and two
    programs on one scope share the work instead of doubling it.
    """

    def __init__(
        self,
        store: Store,
        tiers: Tiers,
        *,
        clock: Clock = system_clock,
        delay: float = DELAY,
    ) -> None:
        self._worker = Worker(store, tiers, clock)
        self._delay = delay
        self._wake = threading.Event()
        self._stop = self._worker.stop
        # Guards the set of scopes and the start of the thread: any thread may nudge.
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._scopes: dict[Scope, None] = {}

    def nudge(self, scopes: Iterable[Scope]) -> None:
        """Signal that these scopes may have memories to embed."""
        with self._lock:
            self._scopes.update(dict.fromkeys(scopes))
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(
                    target=self._work,
                    name="holdfast-embed",
                    daemon=True,
                )
                self._thread.start()
        self._wake.set()

    def stop(self) -> None:
        """Stop the thread after its current step; other workers can claim unfinished jobs at
        once.
        """
        self._stop.set()
        self._wake.set()
        # The garbage collector may run this in any thread, including this thread itself, which
        # cannot join itself.
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _work(self) -> None:
        self._stop.wait(self._delay)
        while self._wake.wait():
            # Clear before checking `stop`, which is set before `wake`: so no signal is lost.
            self._wake.clear()
            if self._stop.is_set():
                return
            while not self._stop.is_set() and (scopes := self._nudged()):
                self._embed(scopes)

    def _nudged(self) -> Sequence[Scope]:
        with self._lock:
            taken = list(self._scopes)[:TOGETHER]
            for scope in taken:
                del self._scopes[scope]
        return taken

    def _embed(self, scopes: Sequence[Scope]) -> None:
        worker = replace(self._worker, scopes=scopes)
        kinds = (EMBED.name,)
        try:
            # Planning only reads if there is nothing to do, the result of nearly every nudge.
            waiting = plan(worker, kinds)
            while (
                waiting
                and not self._stop.is_set()
                and (job := work_once(worker, kinds)) is not None
            ):
                if job.status == "error":
                    log.warning(
                        "background embedding of %s failed: %s",
                        job.scope,
                        job.error,
                    )
        except HoldfastError as error:
            log.warning("background embedding paused: %s", error)
