"""Building a project's memory by command or in the background: what would be done, what was done,
how it stands.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import ModelFailed
from ..extraction.coding.project_settings import MEMORY, SUMMARY, Building
from ..extraction.job_types import Worker
from ..extraction.runner import turns_of
from ..models.llm.budget import ANSWER, Estimate
from ..projects import build, stage1, stage1_outputs
from ..projects.stage1 import Passed, candidates
from ..storage.protocol import Spent, Store
from ..text.terminal import counted
from ..types import Job, Micros, Scope, Session
from . import job_runner
from .job_runner import JobListener


@dataclass(frozen=True, slots=True)
class Plan:
    """What building would do now."""

    read: list[Session]
    """Sessions that would be read."""
    passed: list[Passed]
    """Those that would not, and why."""
    build: bool
    """Whether the files would be made again, whatever the sessions teach."""
    cost: Spent = field(default_factory=Spent)
    """About how much models would be asked."""

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do."""
        return not self.read and not self.build


@dataclass(slots=True)
class Built:
    """What building did."""

    read: int = 0
    """Sessions that were read."""
    failed: list[Job] = field(default_factory=list)
    """Jobs that failed, each with its reason."""
    files: bool = False
    """Whether the files were made again."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a project's memory stands."""

    sessions: int
    outputs: int
    folder: Path
    files: list[str]
    waiting: bool
    """Whether the files are to be made again."""
    failures: dict[str, str]
    """What went wrong, by session, or `memory` for the files."""

    def told(self) -> list[tuple[str, str]]:
        """The same for people: each thing with its name, and nothing where there is none."""
        shown = [name for name in self.files if "/" not in name or name.endswith("SKILL.md")]
        return [
            ("folder", str(self.folder)),
            ("sessions", str(self.sessions)),
            ("that taught", str(self.outputs)),
            ("files", ", ".join(shown)),
            ("waiting", "the files are to be made again" if self.waiting else ""),
            *(("failed", f"{key}: {error}") for key, error in self.failures.items()),
        ]


def plan(store: Store, scope: Scope, building: Building, now: Micros) -> Plan:
    """What `build_memory` would do; nothing is changed."""
    found = list(candidates(store, scope, building, now))
    to_read = [one for one in found if isinstance(one, Session)]
    build_due = _build_due(store, scope, now)
    passed = [one for one in found if isinstance(one, Passed)]
    return Plan(
        to_read, passed, build_due, _cost(store, scope, building, to_read, build_due=build_due)
    )


def _cost(
    store: Store, scope: Scope, building: Building, to_read: list[Session], *, build_due: bool
) -> Spent:
    """About how much models would be asked: each session once, and once for what all of them
    taught.
    """
    reads = Estimate()
    builds = Estimate()
    if building.default is not None:
        rehearsed = replace(building, default=reads)
        for session in to_read:
            # The estimate has nothing to say.
            with suppress(ModelFailed):
                stage1.teaches(session, turns_of(store, session), rehearsed)
    if (building.smol or building.default) is not None and (to_read or build_due):
        with suppress(ModelFailed):
            build.by_model(stage1_outputs.outputs(store, scope), replace(building, smol=builds))
        # What the sessions teach is read along.
        builds.tokens += reads.calls * ANSWER
    return Spent(reads.calls + builds.calls, reads.tokens + builds.tokens)


def _build_due(store: Store, scope: Scope, now: Micros) -> bool:
    job = _job(store, scope)
    return (
        job is not None
        and job.watermark > job.done_watermark
        and job.retries_left > 0
        and (job.retry_at or 0) <= now
        and not (job.status == "running" and (job.lease_until or 0) > now)
    )


def _job(store: Store, scope: Scope) -> Job | None:
    return next(
        (job for job in store.jobs.list([scope]) if (job.kind, job.key) == (build.NAME, build.KEY)),
        None,
    )


def build_memory(worker: Worker, told: JobListener = lambda job: None) -> Built:
    """Reads the sessions that are to be read, then makes the files, if there is more to say.

    The worker's scopes are the projects; other builders may be at it. Whatever goes wrong with a
    session is noted with its job, and the rest is done.
    """
    done = Built()

    def note(job: Job) -> None:
        done.failed += [job] if job.status == "error" else []
        done.read += job.kind == stage1.NAME and job.status == "done"
        done.files |= job.kind == build.NAME and job.status == "done"
        told(job)

    job_runner.plan(worker, [stage1.NAME])
    _read_all(worker, note)
    while (
        not worker.stop.is_set() and (job := job_runner.work_once(worker, [build.NAME])) is not None
    ):
        note(job)
    return done


def _read_all(worker: Worker, note: JobListener) -> None:
    """Reads sessions until none is due: with a model several at a time, since each mostly waits for
    it.
    """
    building = worker.building
    at_a_time = building.settings.stage1_concurrency if building and building.default else 1
    left = [building.settings.max_rollouts_per_startup if building else 0]

    def keep_reading() -> None:
        while not worker.stop.is_set() and left[0] > 0:
            left[0] -= 1
            job = job_runner.work_once(worker, [stage1.NAME])
            if job is None:
                return
            note(job)

    if at_a_time <= 1:
        keep_reading()
        return
    with ThreadPoolExecutor(at_a_time, thread_name_prefix="holdfast-read") as pool:
        try:
            for one in [pool.submit(keep_reading) for _ in range(at_a_time)]:
                one.result()
        except BaseException:
            # The others give back what they read, instead of being waited for.
            worker.stop.set()
            raise


def standing(store: Store, scope: Scope, building: Building) -> Standing:
    """How a project's memory stands."""
    folder = building.folder(scope)
    job = _job(store, scope)
    failures = {
        one.key: one.error
        for one in store.jobs.list([scope])
        if one.kind in (stage1.NAME, build.NAME) and one.status == "error"
    }
    files = (
        [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
        if folder.is_dir()
        else []
    )
    return Standing(
        sessions=len(store.sessions.list([scope])),
        outputs=len(stage1_outputs.outputs(store, scope)),
        folder=folder,
        files=sorted(files),
        waiting=job is not None and job.watermark > job.done_watermark,
        failures=failures,
    )


def diagnose(store: Store, scope: Scope, building: Building, now: Micros) -> list[str]:
    """Why a project has no memory, or not the latest, in sentences; none when all is well."""
    stands = standing(store, scope, building)
    planned = plan(store, scope, building, now)
    told = []
    if not store.profiles.get(scope).get("enabled", True):
        told.append(
            "The memory of this project is switched off. `holdfast project enable` turns it on."
        )
    if not building.settings.enabled:
        told.append(
            "Memories are not enabled, so nothing is built by itself. Set memories.enabled, or "
            "build by command."
        )
    if not stands.sessions:
        told.append(
            "No session of this project has been read in. `holdfast import --all` finds past "
            "sessions."
        )
    if planned.read:
        told.append(
            f"To be read: {counted(len(planned.read), 'session')}. `holdfast project build` "
            "does "
            "it."
        )
    told += [f"{session}: {error}" for session, error in stands.failures.items()]
    if stands.sessions and not stands.outputs and not planned.read:
        reasons = sorted({one.reason for one in planned.passed})
        told.append(
            f"No session taught anything that lasts, or none could be read: {'; '.join(reasons)}."
        )
    if stands.waiting:
        told.append("The files are to be made again. `holdfast project build` does it.")
    elif stands.outputs and not {MEMORY, SUMMARY} <= set(stands.files):
        told.append("The files are gone. `holdfast project rebuild` makes them again.")
    return told
