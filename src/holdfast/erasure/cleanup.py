"""Cleanup: what erased rows leave behind in a store's own files, after the commit.

It can be repeated at any time. The transaction that erases leaves a job for it, so that after a
crash any worker does it.
"""

from __future__ import annotations

from contextlib import suppress

from ..errors import HoldfastError, StoreBusy, StoreError
from ..extraction.job_types import LEASE, Kind, Output, Task, worker_name
from ..storage.protocol import WAIT, Author, ErasureTarget, Places, Store, Transaction
from ..types import Micros, Scope

KIND = "scrub"
KEY = "files"
# Microseconds until another try.
RETRY = 60_000_000


def enqueue_cleanup(tx: Transaction, scope: Scope, at: Micros) -> None:
    """Leave the job; part of the transaction that erases."""
    tx.jobs.enqueue(scope, KIND, KEY, watermark=at)


def finish(store: Store, scope: Scope, author: Author, *, wait: float = WAIT) -> Places:
    """Clean up now, and say of each place whether it is clean; the job is done when all are."""
    job = store.jobs.claim(
        [KIND], keys=[KEY], scopes=[scope], worker=worker_name(), now=author.at, lease=LEASE
    )
    try:
        places = store.scrub(wait=wait)
    except StoreError as error:
        # The rows are gone; that cleaning up failed must not look as if they were not.
        places = [ErasureTarget("files", "pending", f"{error} Run `holdfast purge --finish`.")]
    waiting = [place for place in places if place.state == "pending"]
    if job is not None:
        # The receipt says it, and whoever works next tries again.
        with suppress(HoldfastError):
            if waiting:
                store.jobs.fail(job, error=waiting[0].detail, retry_at=author.at + RETRY)
            else:
                store.write(author, lambda tx: tx.jobs.finish(job))
    return places


def _run(task: Task) -> Output | None:
    waiting = [place for place in task.worker.store.scrub() if place.state == "pending"]
    if waiting:
        raise StoreBusy(waiting[0].detail)
    return None


JOB = Kind(KIND, due=lambda worker: (), run=_run)
"""One job for each scope in which something was erased and files may still hold it. Nobody plans
it: the erasure itself leaves it.
"""
