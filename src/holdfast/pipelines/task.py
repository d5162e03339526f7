"""What a maintenance job is to the code that does it: a task at hand, and a kind that says what is due and how it goes.

A pipeline describes its kind of job here and nothing else; `work.py` plans, claims, finishes and fails them all.
"""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..models.tiers import Tiers
from ..store.base import Store, Writer
from ..types import Clock, Job, Micros, Scope, system_clock

LEASE: Micros = 300_000_000  # longer than the longest step: a remote model that is asked again after a timeout


class Stopping(Exception):
    """No further step: the worker is to end, and gives the job back."""


class LeaseLost(Exception):
    """No further step: another worker may have the job by now."""


def worker_name() -> str:
    """This process among all that work on a store, as host:pid."""
    return f"{platform.node() or 'localhost'}:{os.getpid()}"


@dataclass(frozen=True)
class Worker:
    """Who works, with what, and for which scopes; None stands for all of them, which needs rights of upkeep."""

    store: Store
    tiers: Tiers
    clock: Clock = system_clock
    scopes: Sequence[Scope] | None = None
    name: str = field(default_factory=worker_name)
    stop: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Task:
    """One job that a worker holds."""

    worker: Worker
    job: Job

    def heartbeat(self) -> None:
        """Keeps the job; to be called between steps. Raises Stopping or LeaseLost when there must be no other step."""
        if self.worker.stop.is_set():
            raise Stopping
        if not self.worker.store.heartbeat(self.job, now=self.worker.clock(), lease=LEASE):
            raise LeaseLost


class Due(NamedTuple):
    """Something to be done: the job's scope and key, and a number that has grown when there is more to do."""

    scope: Scope
    key: str
    watermark: int


Output = Callable[[Writer], object]
"""What a job has to write; it is committed together with the job's end, or not at all."""


@dataclass(frozen=True)
class Kind:
    """One kind of job.

    `due` finds what is to be done in the worker's scopes. `run` does one job, in steps with a heartbeat between them;
    an error it raises fails the job. `keys` names the jobs that a worker is able to do, the most urgent first; without
    it any worker can do any of them.
    """

    name: str
    due: Callable[[Worker], Iterable[Due]]
    run: Callable[[Task], Output | None]
    keys: Callable[[Worker], Sequence[str]] | None = None
