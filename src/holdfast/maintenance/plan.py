"""What a round of maintenance would do, and about how much a language model would be asked; nothing
is changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..extraction.job_types import Due, Output, Task, Worker
from ..models.llm.budget import Estimate
from ..storage.protocol import Spent
from ..types import Job
from .job_runner import KINDS, TASKS

ASKING = ("learn", "enrich", "reflect")
"""Kinds of jobs that ask a language model, and write nothing before their end but by their task."""


class Foreseen(NamedTuple):
    """A job that would be done, and about what the model would be asked for it."""

    task: str
    due: Due
    cost: Spent


class _Rehearsal(Task):
    """A job that nobody holds, done to see what it asks."""

    def heartbeat(self) -> None:
        """Nobody else wants it."""

    def write(self, work: Output) -> None:
        """Nothing is changed."""


def outlook(worker: Worker, tasks: Sequence[str]) -> Iterator[Foreseen]:
    """The jobs of these tasks that are due, in the order in which they would be done.

    What conversations that are silent, but have not ended, would cost is not known before they
    have.
    """
    for task in tasks:
        for due in KINDS[TASKS[task]].due(worker):
            yield Foreseen(task, due, _cost(worker, TASKS[task], due))


def _cost(worker: Worker, kind: str, due: Due) -> Spent:
    if worker.complete is None or kind not in ASKING:
        return Spent()
    estimate = Estimate()
    job = Job(due.scope, kind, due.key, "running", watermark=due.watermark)
    KINDS[kind].run(_Rehearsal(replace(worker, complete=estimate, meter=None), job))
    return estimate.spent
