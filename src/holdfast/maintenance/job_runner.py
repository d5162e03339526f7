"""Maintenance jobs: planned, claimed, done, finished or failed. Any number of workers may share
those of a store.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from ..erasure.cleanup import JOB as SCRUB
from ..errors import CapReached, Conflict, HoldfastError, InvalidInput
from ..extraction.job_types import Due, Kind, LeaseLost, Output, Stopping, Task, Terms, Worker
from ..extraction.session_extraction import LEARN, end_silent
from ..models.embeddings.tiers import Tiers
from ..projects.build import BUILD
from ..projects.stage1 import EXTRACT
from ..storage.protocol import Author, Store, Transaction
from ..types import DAY, Clock, Job, Micros, Scope, new_id, system_clock
from .decay import DECAY
from .embedding_jobs import EMBED
from .entity_jobs import ENRICH
from .reflection import REFLECT

log = logging.getLogger(__name__)

KINDS: Mapping[str, Kind] = {
    kind.name: kind for kind in (SCRUB, EMBED, LEARN, ENRICH, DECAY, REFLECT, EXTRACT, BUILD)
}
"""Every kind of job there is, the most urgent first."""
# What is due when it is there to be done; the rest has its time of the day or week.
ALWAYS = (SCRUB.name, EMBED.name, LEARN.name)
TASKS: Mapping[str, str] = {
    "enrich": ENRICH.name,
    "consolidate": LEARN.name,
    "decay": DECAY.name,
    "reflect": REFLECT.name,
}
"""What a person calls upkeep of memories, and the kind of job that it is; in the order in which it
is best done.
"""

# As many as a new job has.
TRIES = 3
# After the first failure; doubled after each further one.
BACKOFF: Micros = 30_000_000
# How long jobs that are done are listed, where there may be any number of them.
KEPT_FOR = 30 * DAY
# Seconds: short scripts end before and never pay for loading a model.
DELAY = 1.0
# Scopes that the background looks at in one go.
TOGETHER = 100

JobListener = Callable[[Job], None]


def plan(worker: Worker, kinds: Sequence[str] = ALWAYS) -> int:
    """Enqueues whatever is to be done, and says how many of those jobs can be claimed now."""
    claimable = 0
    for kind in kinds:
        if next(iter(KINDS[kind].due(worker)), None) is not None:
            known = {
                (job.scope, job.key): job
                for job in worker.store.jobs.list(worker.scopes)
                if job.kind == kind
            }
            # Asked again after the jobs were read: what another worker has done by now must not
            # look undone.
            due = list(KINDS[kind].due(worker))
            claimable += sum(
                _planned(worker, kind, one, known.get((one.scope, one.key))) for one in due
            )
    return claimable


def _planned(worker: Worker, kind: str, due: Due, job: Job | None) -> bool:
    now = worker.clock()
    watermark = due.watermark if job is None else _renewal(due, job, now, KINDS[kind].terms(worker))
    if watermark:
        worker.store.jobs.enqueue(due.scope, kind, due.key, watermark=watermark)
    return bool(watermark) or (job is not None and _claimable(job, now))


def _renewal(due: Due, job: Job, now: Micros, terms: Terms) -> int:
    """The watermark that gives a known job more to do; 0 when it has that already, or is to
    rest.
    """
    grown = due.watermark > job.watermark
    if job.status == "running":
        return due.watermark if grown else 0
    if job.status == "done":
        # Also when nothing is new: vectors may have been dropped, or a memory may have come back.
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
    """Does one job that is due, or returns None when there is none.

    The job comes back as it is now: done; error, with its reason and the time of the next try;
    pending, when the worker was stopped and gave it back; running, when the lease was lost and
    another worker may have it.
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
            )
            if job is not None:
                return _done(Task(worker, job, lease))
    return None


def _done(task: Task) -> Job:
    job = task.job
    try:
        _finish(task, KINDS[job.kind].run(task))
    except Stopping:
        return replace(job, status="pending") if task.worker.store.jobs.release(job) else job
    except KeyboardInterrupt:
        # Whoever comes next need not wait for the lease to run out.
        task.worker.store.jobs.release(job)
        raise
    except LeaseLost:
        log.info("%s %s of %s was lost to another worker", job.kind, job.key, job.scope)
        return job
    except CapReached as error:
        return _put_off(task, error)
    except HoldfastError as error:
        return _failed(task, str(error))
    except (
        Exception
    ) as error:  # a fault in one kind of job must not keep the others from being done
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
        job, status="error", error=reason, retry_at=retry_at, retries_left=job.retries_left - 1
    )


def _put_off(task: Task, error: CapReached) -> Job:
    """Gives a job back until the language model may be asked again; that is no failure, and uses up
    no try.
    """
    job = task.job
    retry_at = error.until or task.worker.clock() + BACKOFF
    if not task.worker.store.jobs.fail(job, error=str(error), retry_at=retry_at, tried=False):
        return job
    return replace(job, status="error", error=str(error), retry_at=retry_at)


def drain(
    worker: Worker, told: JobListener = lambda job: None, kinds: Sequence[str] = ALWAYS
) -> int:
    """Plans, then does jobs until none is due or the worker is stopped, and says how many. `told`
    hears of each.
    """
    if worker.meter is not None:
        worker = replace(worker, meter=worker.meter.anew())
    if LEARN.name in kinds:
        end_silent(worker)
    plan(worker, kinds)
    count = 0
    while not worker.stop.is_set() and (job := work_once(worker, kinds)) is not None:
        told(job)
        count += 1
    return count


def once(worker: Worker, tasks: Sequence[str], told: JobListener = lambda job: None) -> int:
    """Does what is due of these tasks now, whatever the time, and says how many jobs that were."""
    for task in tasks:
        if task not in TASKS:
            raise InvalidInput(f"There is no task {task!r}. Use: {', '.join(TASKS)}.")
    if "consolidate" in tasks:
        # One for each conversation there ever was; their watermark is when it was last active.
        worker.store.jobs.forget_done(
            LEARN.name, before=worker.clock() - KEPT_FOR, scopes=worker.scopes
        )
    return drain(worker, told, [TASKS[task] for task in tasks])


class Upgrader:
    """A thread that embeds in the background while the program lives. It starts at the first nudge.

    It does the jobs of the scopes it was nudged for and no others, so that it needs no rights of
    upkeep, and two programs on one scope share the work instead of doubling it.
    """

    def __init__(
        self, store: Store, tiers: Tiers, *, clock: Clock = system_clock, delay: float = DELAY
    ) -> None:
        self._worker = Worker(store, tiers, clock)
        self._delay = delay
        self._wake = threading.Event()
        self._stop = self._worker.stop
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._scopes: dict[Scope, None] = {}

    def nudge(self, scopes: Iterable[Scope]) -> None:
        """Says that there may be something to embed in these scopes."""
        with self._lock:
            self._scopes.update(dict.fromkeys(scopes))
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(
                    target=self._work, name="holdfast-embed", daemon=True
                )
                self._thread.start()
        self._wake.set()

    def stop(self) -> None:
        """Ends the thread after the step it is in; what it has not finished, another may take at
        once.
        """
        self._stop.set()
        self._wake.set()
        # A memory that nobody closed is collected in whichever thread does that, and it may be this
        # one itself.
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _work(self) -> None:
        self._stop.wait(self._delay)
        while self._wake.wait():
            # Cleared before looking at `stop`, which is set before `wake`: so neither can be
            # missed.
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
            # Planning only reads when there is nothing to do, which is how nearly every nudge ends.
            waiting = plan(worker, kinds)
            while (
                waiting
                and not self._stop.is_set()
                and (job := work_once(worker, kinds)) is not None
            ):
                if job.status == "error":
                    log.warning("embedding %s in the background: %s", job.scope, job.error)
        except HoldfastError as error:
            log.warning("embedding in the background paused: %s", error)
