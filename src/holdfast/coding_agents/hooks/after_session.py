"""After an execution: its transcript is indexed and read for what is worth keeping, when nobody
waits any more.

A hook only starts this (`starting.py`). It goes on in a process of its own, which outlives the
host, has no terminal, and leaves nothing but memories. In one project there is one at a time, by a
job's lease in the store: whoever comes while another works leaves a note of the transcript, and the
other reads that too before it ends. Files of records that changed are followed on the way.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InvalidInput
from ...records.roots import places_here
from .events import OVER
from .project_memory import build

if TYPE_CHECKING:
    from ...client import Holdfast
    from ...storage.protocol import Store
    from ...types import Job, Micros, Scope

TURN = "hook"
TRANSCRIPT = "transcript"
"""The jobs: whose turn it is in a project, and what is to be read; the key of the second is a
path.
"""
# A model may take minutes for a long session.
LEASE: Micros = 600_000_000
RETRY: Micros = 60_000_000


def last_turn(store: Store, scope: Scope) -> Micros:
    """When such a process last had its turn in a scope; 0 when none ever had."""
    return max(
        (job.done_watermark for job in store.jobs.list((scope,)) if job.kind == TURN), default=0
    )


def finish_here(
    folder: Path,
    transcript: str,
    *,
    event: str,
) -> None:
    """Reads a transcript, or only follows files, in the project around a folder. What happens is in
    the log.
    """
    from .log import describe_error, note  # noqa: PLC0415

    facts: dict[str, Any] = {}
    try:
        outcome = _finished(folder, transcript, facts, event=event)
    except Exception as error:
        # Nobody is there to be told.
        outcome, facts["error"] = "failed", describe_error(error)
    note(event="finish", after=event, outcome=outcome, **facts)


def _finished(
    folder: Path,
    transcript: str,
    facts: dict[str, Any],
    *,
    event: str,
) -> str:
    with open_here(folder) as hf:
        on = [scope for scope in hf.scopes if hf.scoped(scope).sessions.profile()["enabled"]]
        if hf.mode == "incognito" or not on:
            return "off"
        project = on[0].kind == "project"
        facts["project"] = on[0].key if project else None
        # A host stops after every turn. Rules read a session in no time; a model is asked when it
        # is over, or cut down.
        extract = event != "Stop" or not hf.settings.model
        facts |= finish(hf.scoped(*on), transcript if project else "", extract=extract)
        if project and event == OVER:
            facts |= build(hf, folder)
    return "failed" if "error" in facts else "done"


def open_here(folder: Path) -> Holdfast:
    """The memory of the project around a folder, if there is one, and of the person; of nobody
    else.
    """
    from ...client import Holdfast  # noqa: PLC0415

    places = places_here(folder)
    scopes = [place.scope for place in places]
    return Holdfast.open(scope=scopes, actor="hook", background=False, places=places)


def finish(
    hf: Holdfast,
    transcript: str = "",
    *,
    extract: bool = True,
) -> dict[str, Any]:
    """Reads a transcript, and those that others left for us, into the first scope; how much came of
    it.

    Nothing is done when another process has its turn: it will do this too.
    """
    scope = hf.scopes[0]
    at = hf.clock()
    facts: dict[str, Any] = {"files": 0, "chunks": 0, "records": 0}
    if transcript:
        hf.store.jobs.enqueue(scope, TRANSCRIPT, transcript, watermark=at)
    hf.store.jobs.enqueue(scope, TURN, TURN, watermark=at)
    # Asked again after each turn: what was left meanwhile has raised the watermark of the turn.
    while turn := _claim(hf, scope, TURN):
        hf.records.sync_files()
        while job := _claim(hf, scope, TRANSCRIPT):
            _read(hf, job, facts, extract=extract)
            hf.store.jobs.heartbeat(turn, now=hf.clock(), lease=LEASE)
        _done(hf, turn)
    return facts


def _claim(
    hf: Holdfast,
    scope: Scope,
    kind: str,
) -> Job | None:
    # Heavy, and hooks that recall load this file.
    from ...extraction.job_types import worker_name  # noqa: PLC0415

    return hf.store.jobs.claim(
        [kind], scopes=(scope,), worker=worker_name(), now=hf.clock(), lease=LEASE
    )


def _read(
    hf: Holdfast,
    job: Job,
    facts: dict[str, Any],
    *,
    extract: bool,
) -> None:
    from .log import describe_error  # noqa: PLC0415

    try:
        indexed = hf.projects.index([job.key])
        facts["files"] += indexed.files
        facts["chunks"] += indexed.chunks
        if extract:
            facts["records"] += len(hf.records.extract().records)
        # The reason may repeat what was said, which is not for a log.
        if indexed.failed:
            raise InvalidInput(
                f"A session could not be stored. `holdfast project index {job.key}` says why."
            )
        _done(hf, job)
    except Exception as error:
        # One transcript that cannot be read must not keep the others from being read.
        facts["error"] = describe_error(error)
        hf.store.jobs.fail(job, error=describe_error(error), retry_at=hf.clock() + RETRY)


def _done(hf: Holdfast, job: Job) -> None:
    hf.admin.write("hook", lambda tx: tx.jobs.finish(job))
