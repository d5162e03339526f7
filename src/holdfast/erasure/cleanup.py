"""Cleanup of what erased rows leave in the store's own files, after the commit.

Idempotent. The erasing transaction enqueues a job for it, so that after a crash any worker finishes
it.
"""

from __future__ import annotations

from contextlib import suppress

from ..errors import HoldfastError, StoreBusy, StoreError
from ..extraction.job_types import LEASE, Kind, Output, Task, worker_name
from ..storage.protocol import Store, Transaction
from ..storage.store_types import WAIT, Author, ErasureTarget, Places
from ..types import Micros, Scope

KIND = "scrub"
KEY = "files"
# Microseconds until the next attempt.
RETRY = 60_000_000


def enqueue_cleanup(
    tx: Transaction,
    scope: Scope,
    at: Micros,
) -> None:
    """Enqueue the cleanup job, in the erasing transaction."""
    tx.jobs.enqueue(scope, KIND, KEY, watermark=at)


def finish(
    store: Store,
    scope: Scope,
    author: Author,
    *,
    wait: float = WAIT,
) -> Places:
    """Clean up now and report for each place whether it is clean. Finishes the job if all are."""
    job = store.jobs.claim(
        [KIND],
        keys=[KEY],
        scopes=[scope],
        worker=worker_name(),
        now=author.at,
        lease=LEASE,
    )
    try:
        places = store.scrub(wait=wait)
    except StoreError as error:
        # The rows are gone. A failed cleanup must not look as if the erasure had failed.
        places = [ErasureTarget("files", "pending", f"{error} Run `holdfast purge --finish`.")]
    waiting = [place for place in places if place.state == "pending"]
    if job is not None:
        # The receipt reports the failure, and the next worker retries.
        with suppress(HoldfastError):
            if waiting:
                store.jobs.fail(
                    job,
                    error=waiting[0].detail,
                    retry_at=author.at + RETRY,
                )
            else:
                store.write(author, lambda tx: tx.jobs.finish(job))
    return places


def _run(task: Task) -> Output | None:
    waiting = [place for place in task.worker.store.scrub() if place.state == "pending"]
    if waiting:
        raise StoreBusy(waiting[0].detail)
    return None


JOB = Kind(KIND, due=lambda worker: (), run=_run)
"""One job per scope whose files may still hold erased data. The erasure enqueues it; no planner
does.
"""
