"""Builds of a project's memory, by command or in the background: plan, run and status."""

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
from ..storage.protocol import Store
from ..storage.store_types import Spent
from ..text.terminal import counted
from ..types import Job, Micros, Scope, Session
from . import job_runner
from .job_runner import JobListener


@dataclass(frozen=True, slots=True)
class Plan:
    """What a build would do now."""

    read: list[Session]
    """Sessions to read."""
    passed: list[Passed]
    """Sessions to skip, with the reasons."""
    build: bool
    """Whether the files would be rebuilt even if the sessions add nothing."""
    cost: Spent = field(default_factory=Spent)
    """Estimate of the model's tokens."""

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do."""
        return not self.read and not self.build


@dataclass(slots=True)
class Built:
    """Result of a build."""

    read: int = 0
    """Sessions read."""
    failed: list[Job] = field(default_factory=list)
    """Failed jobs with their reasons."""
    files: bool = False
    """Whether the files were rebuilt."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Status of a project's memory."""

    sessions: int
    outputs: int
    folder: Path
    files: list[str]
    waiting: bool
    """Whether the files need a rebuild."""
    failures: dict[str, str]
    """Errors by session; `memory` for the files."""

    def told(self) -> list[tuple[str, str]]:
        """Readable labels with values; empty ones are left out."""
        shown = [name for name in self.files if "/" not in name or name.endswith("SKILL.md")]
        return [
            ("folder", str(self.folder)),
            ("sessions", str(self.sessions)),
            ("that taught", str(self.outputs)),
            ("files", ", ".join(shown)),
            ("waiting", "the files need a rebuild" if self.waiting else ""),
            *(("failed", f"{key}: {error}") for key, error in self.failures.items()),
        ]


def plan(
    store: Store,
    scope: Scope,
    building: Building,
    now: Micros,
) -> Plan:
    """Return what `build_memory` would do. Read-only."""
    found = list(candidates(store, scope, building, now))
    to_read = [one for one in found if isinstance(one, Session)]
    build_due = _build_due(store, scope, now)
    passed = [one for one in found if isinstance(one, Passed)]
    return Plan(
        to_read,
        passed,
        build_due,
        _cost(store, scope, building, to_read, build_due=build_due),
    )


def _cost(
    store: Store,
    scope: Scope,
    building: Building,
    to_read: list[Session],
    *,
    build_due: bool,
) -> Spent:
    """Estimate the model's tokens: each session once, and once for the combined memory."""
    reads = Estimate()
    builds = Estimate()
    if building.default is not None:
        rehearsed = replace(building, default=reads)
        for session in to_read:
            # The estimator needs no answer.
            with suppress(ModelFailed):
                stage1.teaches(session, turns_of(store, session), rehearsed)
    if (building.smol or building.default) is not None and (to_read or build_due):
        with suppress(ModelFailed):
            build.by_model(stage1_outputs.outputs(store, scope), replace(building, smol=builds))
        # The second stage also reads the output of the first.
        builds.tokens += reads.calls * ANSWER
    return Spent(reads.calls + builds.calls, reads.tokens + builds.tokens)


def _build_due(
    store: Store,
    scope: Scope,
    now: Micros,
) -> bool:
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


def build_memory(worker: Worker, report: JobListener = lambda job: None) -> Built:
    """Read the sessions that are due, then rebuild the files if anything changed.

    The worker's scopes are the projects; other builders may run at the same time. A failed session
    is recorded with its job, and the build continues.
    """
    done = Built()

    def note(job: Job) -> None:
        done.failed += [job] if job.status == "error" else []
        done.read += job.kind == stage1.NAME and job.status == "done"
        done.files |= job.kind == build.NAME and job.status == "done"
        report(job)

    job_runner.plan(worker, [stage1.NAME])
    _read_all(worker, note)
    while (
        not worker.stop.is_set() and (job := job_runner.work_once(worker, [build.NAME])) is not None
    ):
        note(job)
    return done


def _read_all(worker: Worker, note: JobListener) -> None:
    """Read sessions until none is due. With a model several run in parallel, because each mostly
    waits for it.
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
            # The other threads release their jobs instead of finishing them.
            worker.stop.set()
            raise


def standing(
    store: Store,
    scope: Scope,
    building: Building,
) -> Standing:
    """Return the status of a project's memory."""
    folder = building.folder(scope)
    job = _job(store, scope)
    failures = {
        one.key: one.error
        for one in store.jobs.list([scope])
        if one.kind in (stage1.NAME, build.NAME) and one.status == "error"
    }
    files = []
    if folder.is_dir():
        for path in folder.rglob("*"):
            if path.is_file():
                files.append(str(path.relative_to(folder)))
    return Standing(
        sessions=len(store.sessions.list([scope])),
        outputs=len(stage1_outputs.outputs(store, scope)),
        folder=folder,
        files=sorted(files),
        waiting=job is not None and job.watermark > job.done_watermark,
        failures=failures,
    )


def diagnose(
    store: Store,
    scope: Scope,
    building: Building,
    now: Micros,
) -> list[str]:
    """Explain in sentences why a project has no current memory; empty if all is well."""
    stands = standing(store, scope, building)
    planned = plan(store, scope, building, now)
    reasons = []
    if not store.profiles.get(scope).get("enabled", True):
        reasons.append(
            "Memory is disabled for this project. `holdfast project enable` turns it on."
        )
    if not building.settings.enabled:
        reasons.append(
            "Nothing is built in the background, only by command. `memories: {enabled: true}` in "
            "holdfast.yaml changes that."
        )
    if not stands.sessions:
        reasons.append(
            "No session of this project has been imported. `holdfast import --all` finds past "
            "sessions."
        )
    if planned.read:
        reasons.append(
            f"{counted(len(planned.read), 'session')} to read. Run `holdfast project build`."
        )
    reasons += [f"{session}: {error}" for session, error in stands.failures.items()]
    if stands.sessions and not stands.outputs and not planned.read:
        causes = "; ".join(sorted({one.reason for one in planned.passed}))
        reasons.append(
            f"No session taught anything that lasts, or none could be read: {causes}. "
            "`holdfast project build --all` reads old and recent ones too."
        )
    if stands.waiting:
        reasons.append("The files need a rebuild. Run `holdfast project build`.")
    elif stands.outputs and not {MEMORY, SUMMARY} <= set(stands.files):
        reasons.append("The files are missing. Run `holdfast project rebuild`.")
    return reasons
