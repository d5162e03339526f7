"""`worker`: run maintenance jobs, on a schedule or once, and list them."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import InvalidInput
from ...text.terminal import plain
from ...types import Job, Micros
from .. import output
from ..app import UPKEEP, Json, Store, app, complete_scopes, json_time, open_memory, when
from ..signals import aside, ended_by_signals

if TYPE_CHECKING:
    from ...client import Holdfast
    from ...extraction.job_types import Worker
    from ...maintenance.plan import Foreseen
    from ...storage.store_types import Spent

WHAT_IS_DONE = {
    "enrich": "Look again for people, places and projects in memories that name few.",
    "decay": "Lower the confidence of unused facts.",
    "reflect": "Write a reflection on the week.",
}
"""Description of a maintenance task, where it does not depend on the job."""
worker_app = typer.Typer(
    no_args_is_help=True,
    help="""Run background jobs: embedding, extraction, decay, reflection. Workers on several
machines share the jobs of a store.

Example: holdfast worker run""",
)
app.add_typer(worker_app, name="worker", rich_help_panel=UPKEEP)
Scopes = Annotated[
    list[str] | None,
    typer.Option(
        "--scope",
        metavar="KIND:KEY",
        help="Only this scope (repeatable). Default: every scope.",
        autocompletion=complete_scopes,
    ),
]


@worker_app.command("run")
def run_worker(
    interval: Annotated[
        float,
        typer.Option(
            "--interval", min=0.01, metavar="SECONDS", help="How often to look for new work."
        ),
    ] = 5.0,
    store: Store = None,
    scope: Scopes = None,
    as_json: Json = False,
) -> None:
    """Run jobs as they become due, and the tasks of the schedule, until stopped. The setting
    `maintenance` holds the schedule.

    Example: holdfast worker run --interval 30
    """
    from ...maintenance import schedule

    stop = threading.Event()
    told = json_line if as_json else tell
    with open_memory(store, scope) as hf, ended_by_signals(stop):
        worker = worker_here(hf, everywhere=not scope, stop=stop)
        entries = schedule.schedule(hf.settings.maintenance)
        times = "; ".join(f"{entry.task} {entry.times}" for entry in entries)
        print(
            f"Working on {hf.store.location} as {worker.name}. "
            f"Schedule (UTC): {times or 'none'}. Ctrl-C ends it.",
            file=sys.stderr,
            flush=True,
        )
        aside(partial(schedule.maintain, worker, entries, interval=interval, report=told))
        print("Stopped.", file=sys.stderr)


@worker_app.command("once")
def run_once(
    task: Annotated[
        str | None,
        typer.Argument(
            metavar="[TASK]",
            help="Run this task now: enrich, consolidate, decay, reflect or all.",
        ),
    ] = None,
    store: Store = None,
    scope: Scopes = None,
    as_json: Json = False,
) -> None:
    """Run the jobs that are due, then stop. With a task, run that task whatever the schedule
    says.

    Example: holdfast worker once consolidate
    """
    from ...maintenance.job_runner import drain, once

    stop = threading.Event()
    told = json_line if as_json else tell
    with open_memory(store, scope) as hf, ended_by_signals(stop):
        worker = worker_here(hf, everywhere=not scope, stop=stop)
        with output.progress("working") as bar:

            def planned(jobs: int) -> None:
                bar.update(bar.tasks[0].id, total=jobs)

            def report(job: Job) -> None:
                told(job)
                output.advance(bar, 1)

            if task is None:
                done = aside(partial(drain, worker, report, planned=planned))
            else:
                done = aside(partial(once, worker, _tasks(task), report, planned=planned))
        if not done and not as_json:
            print("Nothing is due.")


@worker_app.command("plan")
def plan_tasks(
    task: Annotated[
        str, typer.Argument(metavar="[TASK]", help="enrich, consolidate, decay, reflect or all.")
    ] = "all",
    store: Store = None,
    scope: Scopes = None,
    as_json: Json = False,
) -> None:
    """Show what each maintenance task would do now, and about what the language model would cost.
    Nothing is run.

    Example: holdfast worker plan consolidate
    """
    with open_memory(store, scope) as hf:
        worker = worker_here(hf, everywhere=not scope, stop=threading.Event())
        _show_outlook(worker, _tasks(task), as_json=as_json)


def _tasks(given: str) -> list[str]:
    """Return the tasks that a name stands for. Raises InvalidInput for an unknown name."""
    from ...maintenance.job_runner import TASKS

    if given not in ("all", *TASKS):
        raise InvalidInput(f"There is no task {given!r}. Use: {', '.join(TASKS)}, all.")
    return list(TASKS) if given == "all" else [given]


def _show_outlook(
    worker: Worker,
    tasks: Sequence[str],
    *,
    as_json: bool,
) -> None:
    from ...maintenance.plan import outlook
    from ...storage.store_types import Spent

    found = list(outlook(worker, tasks))
    if as_json:
        output.emit(
            [
                {
                    "task": one.task,
                    "scope": str(one.due.scope),
                    "key": one.due.key,
                    **one.cost._asdict(),
                }
                for one in found
            ]
        )
        return
    rows = [
        (one.task, str(one.due.scope), _asked_about(one.cost), _what_is_done(one)) for one in found
    ]
    output.table(
        ("task", "scope", "language model", "text"), rows, empty="Nothing is due.", headed=True
    )
    if found:
        print(
            output.cost(
                Spent(sum(one.cost.calls for one in found), sum(one.cost.tokens for one in found))
            )
        )


def _what_is_done(one: Foreseen) -> str:
    """Describe a planned job in words."""
    if one.task == "consolidate":
        return f"Extract memories from session {one.due.key}."
    return WHAT_IS_DONE[one.task]


def _asked_about(cost: Spent) -> str:
    return (
        f"{output.times(cost.calls)}, about {cost.tokens:,} tokens" if cost.calls else "not asked"
    )


def json_line(job: Job) -> None:
    # Flushed, so that the reader of a pipe sees each job at once.
    print(json.dumps(_job_json(job)), flush=True)


def tell(job: Job) -> None:
    what = f"{job.kind} {job.key} for {job.scope}"
    if job.status == "done":
        said = f"Done: {what}."
    elif job.status == "error":
        following = (
            f"Next try after {when(job.retry_at)}."
            if job.retries_left > 0
            else "No try is left for now."
        )
        said = f"Failed: {what}. {job.error} {following}"
    else:
        said = f"{'Given back' if job.status == 'pending' else 'Lost to another worker'}: {what}."
    print(plain(said), flush=True)


@worker_app.command("jobs")
def list_jobs(
    store: Store = None,
    scope: Scopes = None,
    as_json: Json = False,
) -> None:
    """List the jobs of a store: waiting, running, done and failed. A failed job has its reason and
    the time of the next try.

    Example: holdfast worker jobs --scope user:alice
    """
    with open_memory(store, scope, make=False) as hf:
        found = [
            _as_it_stands(job, hf.clock())
            for job in hf.store.jobs.list(hf.scopes if scope else None)
        ]
        if as_json:
            output.emit([_job_json(job) for job in found])
            return
        rows = [
            (
                str(job.scope),
                job.kind,
                job.key,
                job.status,
                str(job.retries_left),
                when(job.lease_until),
                when(job.retry_at),
                job.worker,
                job.error,
            )
            for job in found
        ]
        columns = (
            "scope",
            "kind",
            "key",
            "status",
            "tries left",
            "held until",
            "next try",
            "worker",
            "text",
        )
        output.table(columns, rows, empty="No jobs.")


def _as_it_stands(job: Job, now: Micros) -> Job:
    """Show a job with an expired lease as failed, even if no worker has noticed yet."""
    if job.status == "running" and (job.lease_until or 0) <= now:
        return replace(job, status="error", error=f"Its worker {job.worker} was lost.")
    return job


def _job_json(job: Job) -> dict[str, Any]:
    return {
        "scope": str(job.scope),
        "kind": job.kind,
        "key": job.key,
        "status": job.status,
        "retries_left": job.retries_left,
        "lease_until": json_time(job.lease_until),
        "retry_at": json_time(job.retry_at),
        "worker": job.worker,
        "error": job.error,
    }


def worker_here(
    hf: Holdfast,
    *,
    everywhere: bool,
    stop: threading.Event,
) -> Worker:
    """Return a worker with the configured language model, for these scopes or for all."""
    from ...model_access import model_of, worker_of

    return worker_of(hf, None if everywhere else hf.scopes, complete=model_of(hf), stop=stop)
