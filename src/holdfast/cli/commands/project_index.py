"""`project index`: make past sessions, tickets and notes of a project findable."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ...text.terminal import counted, plain
from .. import output
from ..app import Json, Scope, Store, open_memory
from ..exit_codes import PARTLY
from .project import project_app

if TYPE_CHECKING:
    from ...ingest.documents import Indexed

# Shown on a terminal; --json lists all.
MOST_WARNINGS = 20


@project_app.command()
def index(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH…", help="Files and folders. Default: everything indexed before."
        ),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what would be read. Change nothing.")
    ] = False,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Index past sessions, tickets and notes of a project, so that recall finds them. Only changed
    files are read again.

    Example: holdfast project index notes/
    """
    with (
        open_memory(store, scope, index=False, project=True) as hf,
        output.progress("indexing") as bar,
    ):
        done = hf.projects.index(
            paths or None,
            plan=plan,
            progress=lambda files, total: bar.update(bar.tasks[0].id, completed=files, total=total),
        )
    if as_json:
        output.emit(asdict(done))
    else:
        _tell(done, paths or (), plan=plan)
    if paths and (done.warnings or done.failed) and not done.files and not done.unchanged:
        # Nothing of what was named could be indexed.
        raise typer.Exit(1)
    if done.failed:
        raise typer.Exit(PARTLY)


def _tell(
    done: Indexed,
    paths: Sequence[str],
    *,
    plan: bool,
) -> None:
    for warned in done.warnings[:MOST_WARNINGS]:
        print(f"Warning: {plain(warned.path)}: {plain(warned.reason)}.", file=sys.stderr)
    if len(done.warnings) > MOST_WARNINGS:
        print(
            f"… and {len(done.warnings) - MOST_WARNINGS} more; --json lists all.", file=sys.stderr
        )
    for failed in done.failed:
        print(f"Failed: {plain(failed.path)}: {plain(failed.reason)}.", file=sys.stderr)
    if plan:
        for path, what in done.changes.items():
            print(f"{what:<8} {plain(path)}")
    print(plain(_summary(done, paths, plan=plan)))


def _summary(
    done: Indexed,
    paths: Sequence[str],
    *,
    plan: bool,
) -> str:
    if not (done.files or done.unchanged or done.changes or done.warnings or done.failed):
        if paths:
            what = "no note, no ticket and no session of this project is there"
            return (
                f"Nothing to index in {', '.join(paths)}: {what}. A session of another goes in "
                "by its file's name."
            )
        return "Nothing is indexed yet. Name files and folders: holdfast project index PATH…"
    files = counted(done.files, "file")
    unchanged = done.unchanged
    if plan:
        gone = list(done.changes.values()).count("gone")
        return f"Would index {files} and forget {gone}; {unchanged} unchanged. Nothing was changed."
    return (
        f"Indexed {files}: {counted(done.chunks, 'chunk')} added, {done.removed} removed; "
        f"{unchanged} unchanged."
    )
