"""Commands for what a project's past sessions taught: build, inspect, read by URL."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...text.terminal import counted, plain
from .. import output
from ..app import Json, Store, open_memory, when
from ..open_store import working_folder
from .project import project_app

if TYPE_CHECKING:
    from ...maintenance.project_jobs import Built, Plan
    from ...namespaces.project_view import Project


@contextmanager
def project_here(store: str | None) -> Iterator[Project]:
    """Open the memory of the project around this folder."""
    from ...namespaces.project_view import project_at

    with open_memory(store, None, project=True) as hf:
        yield project_at(hf, working_folder())


@project_app.command()
def build(
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Show which sessions would be read and the estimated cost."),
    ] = False,
    all_: Annotated[
        bool, typer.Option("--all", help="Read sessions of any age, without a limit.")
    ] = False,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Read past sessions that are due, then write MEMORY.md, memory_summary.md and skills. --plan
    shows what it would read and cost.

    Example: holdfast project build --plan
    """
    with project_here(store) as here:
        project = here.of_any_age() if all_ else here
        planned = project.plan()
        if plan:
            output.emit(_plan_json(planned)) if as_json else _tell_plan(planned)
            return
        if planned.cost.calls:
            print(output.cost(planned.cost), file=sys.stderr)
        with output.progress("reading sessions") as bar:
            # One step per session, and one for writing the files.
            bar.update(bar.tasks[0].id, total=len(planned.read) + 1)
            built = project.build(lambda job: bar.advance(bar.tasks[0].id))
        if as_json:
            output.emit({**asdict(built), "folder": str(project.folder)})
        else:
            _tell_built(built, project)
        if built.failed:
            raise typer.Exit(1)


def _plan_json(planned: Plan) -> dict[str, Any]:
    return {
        "read": [session.id for session in planned.read],
        "passed": {one.session.id: one.reason for one in planned.passed},
        "build": planned.build or bool(planned.read),
        "cost": planned.cost._asdict(),
    }


def _tell_plan(planned: Plan) -> None:
    rows = [(session.id, when(session.last_activity), "would be read") for session in planned.read]
    rows += [
        (one.session.id, when(one.session.last_activity), one.reason) for one in planned.passed
    ]
    output.table(
        ("session", "last active", "text"),
        rows,
        empty="No session of this project has been imported.",
    )
    if not planned.idle:
        print(output.cost(planned.cost))


def _tell_built(built: Built, project: Project) -> None:
    for job in built.failed:
        print(f"Failed: {plain(job.key)}: {plain(job.error)}", file=sys.stderr)
    if built.files:
        print(f"Read {counted(built.read, 'session')} and wrote {project.folder}.")
    elif built.read:
        print(f"Read {counted(built.read, 'session')}; they taught nothing new.")
    elif not built.failed:
        print("Nothing to do. `holdfast project diagnose` says why.")


@project_app.command()
def context(store: Store = None) -> None:
    """Print the Memory Guidance block that an agent gets at session start. It is empty if the
    project has no memory.

    Example: holdfast project context
    """
    with project_here(store) as project:
        if told := project.guidance():
            print(told)


@project_app.command()
def view(store: Store = None) -> None:
    """Show the memory injection payload. If there is none, say why.

    Example: holdfast project view
    """
    from ...namespaces.project_view import NO_GUIDANCE

    with project_here(store) as project:
        print(project.guidance() or NO_GUIDANCE)


@project_app.command()
def enqueue(store: Store = None) -> None:
    """Make the next build write the files again, even if nothing changed. Nothing is built now.

    Example: holdfast project enqueue
    """
    with project_here(store) as project:
        project.enqueue()
        print("Memory consolidation enqueued.")


@project_app.command()
def rebuild(store: Store = None, as_json: Json = False) -> None:
    """Write the files of this project's memory again now. Sessions that were read are not read
    again.

    Example: holdfast project rebuild
    """
    with project_here(store) as project:
        project.enqueue()
        built = project.build()
        if as_json:
            output.emit({**asdict(built), "folder": str(project.folder)})
        else:
            _tell_built(built, project)
        if built.failed:
            raise typer.Exit(1)


@project_app.command()
def stats(store: Store = None, as_json: Json = False) -> None:
    """Show how many sessions were read and which files were built. Failures are listed with their
    reason.

    Example: holdfast project stats --json
    """
    with project_here(store) as project:
        stands = project.standing()
        if as_json:
            output.emit(
                {**asdict(stands), "folder": str(stands.folder), "scope": str(project.scope)}
            )
            return
        output.fields([("project", project.scope), *stands.told()])


@project_app.command()
def diagnose(store: Store = None, as_json: Json = False) -> None:
    """Say why nothing was built, or why the files are not up to date. If all is well, say so.

    Example: holdfast project diagnose
    """
    with project_here(store) as project:
        told = project.diagnose()
        if as_json:
            output.emit(told)
            return
        print("\n".join(map(plain, told)) or f"All is well: {project.folder}")


@project_app.command()
def read(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="memory://root, memory://root/MEMORY.md, …")
    ],
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Print a file of this project's memory by its URL. The root URL is the summary.

    Example: holdfast project read memory://root/MEMORY.md
    """
    with project_here(store) as project:
        found = project.read(url)
        if as_json:
            output.emit({**asdict(found), "path": str(found.path)})
        else:
            print(plain(found.text), end="")
