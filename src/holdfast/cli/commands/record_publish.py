"""`record publish`: the most useful records in a file that agents read."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...text.terminal import counted, plain
from .. import output
from ..app import Json, Store
from ..record_roots import WHERE, Where, open_records, place_name
from .record import record_app

if TYPE_CHECKING:
    from ...records.publish import Published

File = Annotated[
    str,
    typer.Argument(
        metavar="AGENTS.md|CLAUDE.md|PATH", help="The file. It is created if it does not exist."
    ),
]


@record_app.command()
def publish(
    path: File,
    where: Annotated[
        Where, typer.Option("--in", metavar=WHERE, help="The project's records, or your own.")
    ] = "project",
    plan: Annotated[bool, typer.Option("--plan", help="Show the diff. Write nothing.")] = False,
    max_bytes: Annotated[
        int | None, typer.Option(min=1, help="How large the region may be. Default: 8000.")
    ] = None,
    tokens: Annotated[int | None, typer.Option(min=1, help="The same limit in tokens.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the region.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite manual edits in the region.")
    ] = False,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Write the most useful records into a managed region of a file that agents read. Nothing
    outside the region changes.

    Example: holdfast record publish AGENTS.md
    """
    with open_records(store) as hf:
        if remove:
            done = hf.records.withdraw(path, force=force, plan=plan)
        else:
            place = place_name(where) or "project"
            done = hf.records.publish(
                path, place=place, max_bytes=max_bytes, tokens=tokens, force=force, plan=plan
            )
    if as_json:
        output.emit(_json(done))
    elif plan:
        print(_diff(done), end="")
    else:
        print(_told(done, removed=remove))


def _json(done: Published) -> dict[str, object]:
    return {
        "path": str(done.path),
        "changed": done.changed,
        "records": [record.id for record in done.records],
        "left_out": done.left_out,
        "bytes": len(done.after or b""),
    }


def _told(done: Published, *, removed: bool) -> str:
    path = plain(str(done.path))
    if removed:
        gone = (
            f"{path} held nothing else and is gone."
            if done.after is None
            else f"{path} is as it was before."
        )
        return (
            f"The region was taken out: {gone}"
            if done.changed
            else f"{path} has no region. Nothing was changed."
        )
    if not done.records and not done.changed:
        return (
            "There are no records to publish yet. Nothing was written. Add one with: holdfast "
            "record add"
        )
    count = counted(len(done.records), "record")
    more = f", {done.left_out} more did not fit" if done.left_out else ""
    return (
        f"{path} tells {count} now{more}."
        if done.changed
        else f"{path} is up to date: {count}{more}."
    )


def _diff(done: Published) -> str:
    """Return the change as a unified diff; empty if there is none."""
    before, after = ((data or b"").decode("utf-8", "replace") for data in (done.before, done.after))
    name = Path(done.path).as_posix()
    lines = unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="")
    return "".join(f"{plain(line)}\n" for line in lines)
