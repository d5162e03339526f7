"""Dry run of maintenance: which jobs would run, and an estimate of the language model's tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..extraction.job_types import Due, Output, Task, Worker
from ..models.llm.budget import Estimate
from ..storage.store_types import Spent
from ..types import Job
from .job_runner import KINDS, TASKS

ASKING = ("learn", "enrich", "reflect")
"""Job types that use a language model and write only through their task."""


class Foreseen(NamedTuple):
    """A job that would run, with its estimated tokens."""

    task: str
    due: Due
    cost: Spent


class _Rehearsal(Task):
    """Stand-in for a job, run only to record its prompts."""

    def heartbeat(self) -> None:
        """No other worker competes for it."""

    def write(self, work: Output) -> None:
        """Nothing is changed."""


def outlook(worker: Worker, tasks: Sequence[str]) -> Iterator[Foreseen]:
    """Due jobs of these tasks, in the order in which they would run.

    The cost of sessions that are idle but not yet ended is unknown until they end.
    """
    for task in tasks:
        for due in KINDS[TASKS[task]].due(worker):
            yield Foreseen(task, due, _cost(worker, TASKS[task], due))


def _cost(
    worker: Worker,
    kind: str,
    due: Due,
) -> Spent:
    if worker.complete is None or kind not in ASKING:
        return Spent()
    estimate = Estimate()
    job = Job(due.scope, kind, due.key, "running", watermark=due.watermark)
    KINDS[kind].run(_Rehearsal(replace(worker, complete=estimate, meter=None), job))
    return estimate.spent
