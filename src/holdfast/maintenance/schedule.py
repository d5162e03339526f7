"""Maintenance by the clock: which kind of work is due at which times, and a worker that keeps to
them.

Every worker keeps the same times; leases see to it that one of them does a job and the others do
the next.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from croniter import croniter  # type: ignore[import-untyped]

from ..errors import HoldfastError, InvalidInput, StoreClosed
from ..extraction.job_types import Worker
from ..types import Micros, from_datetime, to_datetime
from .job_runner import ALWAYS, TASKS, JobListener, drain, once

log = logging.getLogger(__name__)


class Entry(NamedTuple):
    """One line of the schedule."""

    task: str
    times: str


def schedule(text: str) -> list[Entry]:
    """The entries of a setting such as `decay 0 4 * * *; reflect 0 3 * * 0`; InvalidInput names
    what is wrong.
    """
    entries = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        task, _, times = part.partition(" ")
        if task not in TASKS:
            raise InvalidInput(
                f"The setting maintenance names {task!r}, which is no task. Use: "
                f"{', '.join(TASKS)}."
            )
        if len(times.split()) != 5 or not croniter.is_valid(times):
            raise InvalidInput(
                f"The setting maintenance has {times!r} as the time of {task}. Write five "
                "fields, "
                "such as 0 3 * * *."
            )
        entries.append(Entry(task, times))
    return entries


def next_time(entry: Entry, after: Micros) -> Micros:
    """When an entry is due next, after a moment."""
    return from_datetime(croniter(entry.times, to_datetime(after)).get_next(datetime))


def maintain(
    worker: Worker,
    entries: Sequence[Entry] = (),
    *,
    interval: float,
    told: JobListener = lambda job: None,
) -> None:
    """Run what is always due every `interval` seconds, and scheduled tasks at their times, until
    the worker is stopped. A time that was missed, because the machine slept, is made up for once.

    Errors of the first round are raised: a missing store, a missing right. Later, once it is known
    to work, a store that is away is retried; a store that was closed ends the worker.
    """
    coming = {entry: next_time(entry, worker.clock()) for entry in entries}
    drain(worker, told, ALWAYS)
    while not worker.stop.wait(interval):
        now = worker.clock()
        due = [entry for entry, at in coming.items() if at <= now]
        coming |= {entry: next_time(entry, now) for entry in due}
        try:
            drain(worker, told, ALWAYS)
            if due:
                once(worker, list(dict.fromkeys(entry.task for entry in due)), told)
        except StoreClosed:
            raise
        except HoldfastError as error:
            log.warning("no work was done, trying again in %g seconds: %s", interval, error)
