"""Job types: the task a worker holds, and the kind that says what is due and how to run it.

A pipeline describes its kind of job here; `work.py` plans, claims, finishes and fails all jobs.
"""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ..errors import StoreError
from ..models.embeddings.tiers import Tiers
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Author, Look, Looks
from ..types import Clock, Job, Micros, Scope, new_id, system_clock

if TYPE_CHECKING:
    from ..models.entities.select import Recognition
    from ..models.llm.budget import Meter
    from ..models.llm.chat import Complete
    from .candidate import Extractor
    from .coding.project_settings import Building
    from .policy import Policy

LEASE: Micros = (
    300_000_000  # longer than the longest step: a remote model that is asked again after a timeout
)
# scopes that are looked at together
LOOKS = 100
# when a job that used up its tries gets new ones, though nothing else has changed
REVIVAL: Micros = 3_600_000_000


class Stopping(Exception):
    """Raised between steps: the worker is shutting down and gives the job back."""


class LeaseLost(Exception):
    """Raised between steps: the lease is lost, and another worker may hold the job."""


def worker_name() -> str:
    """Name of this process among all workers of a store, as host:pid."""
    return f"{platform.node() or 'localhost'}:{os.getpid()}"


@dataclass
class Rounds:
    """What a worker remembers from one round to the next."""

    served: dict[str, Scope] = field(default_factory=dict)
    """The scope whose turn was last, for each kind of job: the next one follows."""
    orphans_at: Micros | None = None
    """When it last looked for sessions whose server is gone."""


@dataclass(frozen=True)
class Worker:
    """A worker, its resources and its scopes; None means all scopes and needs upkeep rights."""

    store: Store
    tiers: Tiers
    clock: Clock = system_clock
    scopes: Sequence[Scope] | None = None
    name: str = field(default_factory=worker_name)
    extractor: Extractor | None = None
    """What finds facts in conversations; None stands for the model, or for rules where there is
    none.
    """
    complete: Complete | None = None
    """The language model; None where there is none. A job asks the `complete` of its task, which
    keeps to the caps.
    """
    meter: Meter | None = None
    """What holds models to the caps; None where whoever gives the models sees to that."""
    policy: Policy | None = None
    """What of it is kept, and when; None stands for the usual one."""
    recognition: Recognition | None = None
    """What finds people, places and projects; None stands for ours, spaCy where it is installed,
    and the model.
    """
    threshold: float | None = None
    """Below which confidence a fact fades; None stands for the usual one."""
    building: Building | None = None
    """How a project's memory is built out of its sessions; None where that is nobody's wish."""
    max_bytes: int = 100_000
    stop: threading.Event = field(default_factory=threading.Event)
    rounds: Rounds = field(default_factory=Rounds)


@dataclass(frozen=True)
class Task:
    """One job that a worker holds."""

    worker: Worker
    job: Job

    lease: Micros = LEASE

    @property
    def complete(self) -> Complete | None:
        """The worker's language model, metered for the job's owner; None if there is none."""
        complete = self.worker.complete
        meter = self.worker.meter
        if meter is None:
            return complete
        return meter.through(complete, self.job.scope)

    def heartbeat(self) -> None:
        """Renew the lease; call between steps.

        Raises Stopping or LeaseLost if no further step may run.
        """
        if self.worker.stop.is_set():
            raise Stopping
        if not self.worker.store.jobs.heartbeat(
            self.job, now=self.worker.clock(), lease=self.lease
        ):
            raise LeaseLost

    def write(self, work: Output) -> None:
        """Write a step's result in its own transaction while the job goes on."""
        at = self.worker.clock()
        self.worker.store.write(
            Author(f"worker:{self.worker.name}", new_id("run", at), at, self.job.kind), work
        )

    @contextmanager
    def beating(self, every: float) -> Iterator[None]:
        """Renew the lease every few seconds during a step that may outlast it."""
        over = threading.Event()

        def beat() -> None:
            with suppress(
                Stopping, LeaseLost, StoreError
            ):  # what became of it shows when the step is over
                while not over.wait(every):
                    self.heartbeat()

        thread = threading.Thread(
            target=beat,
            name="holdfast-heartbeat",
            daemon=True,
        )
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def due_looks(worker: Worker, kind: str, keys: Sequence[str]) -> Iterator[Looks]:
    """Yield the looks that are due, some at a time; the caller settles them before the next."""
    seen: set[Look] = set()
    while not worker.stop.is_set():
        looks = worker.store.looks.due(kind, keys, now=worker.clock(), limit=LOOKS)
        # What stays due though it was settled waits for the next round.
        if seen.issuperset(looks):
            return
        seen.update(looks)
        yield looks


class Due(NamedTuple):
    """Work to do: the job's scope and key, and a number that grows when there is more to do."""

    scope: Scope
    key: str
    watermark: int


Output = Callable[[Transaction], object]
"""What a job has to write; it is committed together with the job's end, or not at all.

What comes back, if it can be called, is called last of all, while the job is still held: for files
that must not change under somebody else's hands. If it raises, nothing is committed.
"""


@dataclass(frozen=True, slots=True)
class Terms:
    """Lease length of a kind of job, and its retry policy."""

    lease: Micros = LEASE
    retry: Micros | None = None
    """Until the next try; None: a while that doubles with each."""
    revival: Micros | None = REVIVAL
    """Until a job that used up its tries gets new ones; None: when there is more to do, not
    before.
    """


@dataclass(frozen=True)
class Kind:
    """One kind of job.

    `due` finds what is to be done in the worker's scopes. `run` does one job, in steps with a
    heartbeat between them; an error it raises fails the job. `keys` names the jobs that a worker is
    able to do, the most urgent first; without it any worker can do any of them.

    `looks` says under which keys this worker looks for them, none if it is not able to: with it,
    only scopes that have changed are looked at, or whose time has come. `again` is that time, for a
    scope where nothing is due; None if only a change can make it so.
    """

    name: str
    due: Callable[[Worker], Iterable[Due]]
    run: Callable[[Task], Output | None]
    keys: Callable[[Worker], Sequence[str]] | None = None
    terms: Callable[[Worker], Terms] = lambda worker: Terms()
    looks: Callable[[Worker], Sequence[str]] | None = None
    again: Callable[[Worker, Scope], Micros | None] = lambda worker, scope: None
