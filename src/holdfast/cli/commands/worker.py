"""Commands for maintenance jobs: a worker that does them, and a look at how they stand."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from ...text.terminal import plain
from ...types import Job, Micros
from .. import output
from ..app import UPKEEP, Json, Store, app, complete_scopes, json_time, open_memory, when

if TYPE_CHECKING:
    from ...client import Holdfast
    from ...extraction.job_types import Worker

T = TypeVar("T")
Scopes = Annotated[
    list[str] | None,
    typer.Option(
        "--scope",
        metavar="KIND:KEY",
        help="Only this scope; may be given several times. Default: every scope.",
        autocompletion=complete_scopes,
    ),
]


@app.command(rich_help_panel=UPKEEP)
def work(
    once: Annotated[bool, typer.Option("--once", help="Do what is due now, then stop.")] = False,
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
    """Do maintenance jobs until stopped; workers on several machines share them."""
    from ...maintenance.job_runner import drain
    from ...maintenance.job_runner import work as keep_working

    stop = threading.Event()
    told = json_line if as_json else tell
    with open_memory(store, scope) as hf, ended_by_signals(stop):
        worker = worker_here(hf, everywhere=not scope, stop=stop)
        if once:
            if not aside(partial(drain, worker, told)) and not as_json:
                print("Nothing is due.")
            return
        print(
            f"Working on {hf.store.location} as {worker.name}. Ctrl-C ends it.",
            file=sys.stderr,
            flush=True,
        )
        aside(partial(keep_working, worker, interval=interval, told=told))
        print("Stopped.", file=sys.stderr)


@contextmanager
def ended_by_signals(stop: threading.Event) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the work after the step it is in."""
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def aside(run: Callable[[], T]) -> T:
    """Runs it in a thread of its own: a signal that arrives in this one can then set an event the
    other waits for.
    """
    with ThreadPoolExecutor(1, "holdfast-work") as thread:
        result = thread.submit(run)
        # In short waits: a signal that arrives just before one is noticed only after it.
        while not result.done():
            wait([result], timeout=0.5)
        return result.result()


def json_line(job: Job) -> None:
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


@app.command(rich_help_panel=UPKEEP)
def jobs(store: Store = None, scope: Scopes = None, as_json: Json = False) -> None:
    """List maintenance jobs: what waits, who works on what, what failed and why."""
    with open_memory(store, scope, make=False) as hf:
        found = [
            _as_it_stands(job, hf.clock()) for job in hf.store.jobs(hf.scopes if scope else None)
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
    """A job whose lease ran out says so, even before another worker has come across it."""
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


def worker_here(hf: Holdfast, *, everywhere: bool, stop: threading.Event) -> Worker:
    """A worker with the language model of the settings, if there is one, for these scopes or for
    all there are.
    """
    from ...model_access import model_of, worker_of

    return worker_of(hf, None if everywhere else hf.scopes, complete=model_of(hf), stop=stop)
