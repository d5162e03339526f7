"""Maintenance schedule: which job type is due when, and the worker loop.

Every worker follows the same schedule; leases ensure that each job runs once.
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
    """Parse a setting such as `decay 0 4 * * *; reflect 0 3 * * 0`; raises InvalidInput."""
    entries = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        task, _, times = part.partition(" ")
        if task not in TASKS:
            raise InvalidInput(
                f"Unknown task {task!r} in the setting maintenance. Use: {', '.join(TASKS)}."
            )
        if len(times.split()) != 5 or not croniter.is_valid(times):
            raise InvalidInput(
                f"Invalid time {times!r} for {task} in the setting maintenance. Write five cron "
                "fields, such as 0 3 * * *."
            )
        entries.append(Entry(task, times))
    return entries


def next_time(entry: Entry, after: Micros) -> Micros:
    """Next time an entry is due after `after`."""
    return from_datetime(croniter(entry.times, to_datetime(after)).get_next(datetime))


def maintain(
    worker: Worker,
    entries: Sequence[Entry] = (),
    *,
    interval: float,
    report: JobListener = lambda job: None,
) -> None:
    """Run unscheduled jobs every `interval` seconds and scheduled tasks at their times, until
    stopped. A time missed while the machine slept is made up for once.

    Errors of the first round, such as a missing store or right, are raised. Later, an unreachable
    store is retried; a closed store ends the worker.
    """
    coming = {entry: next_time(entry, worker.clock()) for entry in entries}
    drain(worker, report, ALWAYS)
    while not worker.stop.wait(interval):
        now = worker.clock()
        due = [entry for entry, at in coming.items() if at <= now]
        coming |= {entry: next_time(entry, now) for entry in due}
        try:
            drain(worker, report, ALWAYS)
            if due:
                once(
                    worker,
                    list(dict.fromkeys(entry.task for entry in due)),
                    report,
                )
        except StoreClosed:
            raise
        except HoldfastError as error:
            log.warning(
                "maintenance failed, retrying in %g seconds: %s",
                interval,
                error,
            )
