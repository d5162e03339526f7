"""`export`: write memories to a file."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import NotFound
from ...text.terminal import counted, escaped
from ...types import Scope as ScopeType
from .. import output as show
from ..app import UPKEEP, Json, Scopes, Store, app, open_memory, output_file, write_lines
from ..open_store import doctor_of
from .store import row_counts

if TYPE_CHECKING:
    from ...client import Holdfast


@app.command(rich_help_panel=UPKEEP)
def export(
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="Output file; '-' is standard output."),
    ] = "-",
    all_: Annotated[bool, typer.Option("--all", help="Every scope in the store.")] = False,
    history: Annotated[bool, typer.Option(help="Include the journal.")] = True,
    vectors: Annotated[bool, typer.Option("--vectors", help="Include the vectors.")] = False,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="Write another memory system's format: mem0, mcp-memory.",
        ),
    ] = None,
    store: Store = None,
    scope: Scopes = None,
    as_json: Json = False,
) -> None:
    """Write memories and their history as a lossless bundle, one JSON object per line. With
    --format, write a file that another memory system reads.

    Example: holdfast export --all -o backup.jsonl
    """
    with open_memory(store, scope, make=False, quiet=True) as hf:
        view = hf.scoped(*_every_scope(hf.store.scopes())) if all_ else hf
        if format_:
            from ...importers import written

            # Such a file is made in memory anyway, and so its length is known.
            lines: Iterable[str] = [*written(view, format_)]
        else:
            lines = view.admin.export(history=history, vectors=vectors)
        if output == "-":
            # A terminal gets escaped control characters; a pipe gets the exact bytes that the
            # hash in the last line covers.
            sys.stdout.writelines(map(escaped, lines) if sys.stdout.isatty() else lines)
        else:
            total = (
                len(lines)
                if isinstance(lines, list)
                else line_count(view, store, history=history, vectors=vectors)
            )
            with show.progress("exporting", total) as bar:
                count = write_lines(
                    output_file(output), lines, progress=lambda: show.advance(bar, 1)
                )
        # Asked after the export, which is what finds unreadable rows.
        left_out = view.store.damaged(None if all_ else view.scopes)
        if output != "-" and as_json:
            show.emit({"file": output, "lines": count, "left_out": [str(one) for one in left_out]})
        elif output != "-":
            print(f"Exported {counted(count, 'line')} to {output}.")
        show.left_out(left_out, doctor_of(view))


def line_count(
    hf: Holdfast,
    store: str | None,
    *,
    history: bool,
    vectors: bool,
) -> int | None:
    """Number of lines of a bundle, or None if it cannot be known beforehand."""
    rows = None if hf.store.location == ":memory:" else row_counts(store, hf.scopes)
    if rows is None:
        return None
    left_out = {noun for noun, is_in in (("event", history), ("vector", vectors)) if not is_in}
    # Besides the rows, a header and an end.
    return 2 + sum(count for noun, count in rows.items() if noun not in left_out)


def _every_scope(scopes: list[ScopeType]) -> list[ScopeType]:
    if not scopes:
        raise NotFound("There is nothing to export yet.")
    return scopes
