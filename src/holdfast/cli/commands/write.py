"""Commands that change memory."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import InvalidInput
from ...text.terminal import counted
from ...types import KINDS, Memory
from .. import output
from ..app import (
    WRITING,
    Id,
    Ids,
    Json,
    Scope,
    Store,
    app,
    open_memory,
    parse_time,
    text_or_stdin,
    undo_command,
)

if TYPE_CHECKING:
    from ...client import Holdfast

Text = Annotated[
    str | None,
    typer.Argument(
        metavar="TEXT", help="The text to remember. Default, or '-': read it from a pipe."
    ),
]


def _told(
    hf: Holdfast,
    memory: Memory,
    said: str,
    *,
    as_json: bool,
) -> None:
    if as_json:
        output.emit(output.memory_json(memory, run=hf.last_run))
    else:
        print(f"{said} {memory.id}. {_undoing(hf)}")


def _undoing(hf: Holdfast) -> str:
    """Return how to undo the last run; a run without changes has nothing to undo."""
    if hf.mode == "incognito":
        return "Memory is incognito: it ends with this command."
    if hf.store.events(hf.scopes, run=hf.last_run, limit=1):
        return f"Undo with: {undo_command(hf)}"
    return "It was so already: nothing was changed."


@app.command(rich_help_panel=WRITING)
def remember(
    text: Text = None,
    kind: Annotated[str, typer.Option(help=f"One of: {', '.join(KINDS)}.")] = "fact",
    category: Annotated[str, typer.Option(help="Any word, e.g. preferences.")] = "general",
    title: Annotated[str, typer.Option(help="A short name for it.")] = "",
    tag: Annotated[list[str] | None, typer.Option(help="A tag (repeatable).")] = None,
    author: Annotated[str, typer.Option(help="Who said it.")] = "",
    event_time: Annotated[str | None, typer.Option("--at", help="When it happened.")] = None,
    valid_from: Annotated[str | None, typer.Option(help="True from this time on.")] = None,
    valid_until: Annotated[str | None, typer.Option(help="True until this time.")] = None,
    confidence: Annotated[float, typer.Option(help="From 0 to 1.")] = 1.0,
    metadata: Annotated[str, typer.Option(help="A JSON object.")] = "{}",
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Store a memory. Without a text, read it from a pipe.

    Example: holdfast remember "I take my coffee black" --tag coffee
    """
    with open_memory(store, scope) as hf:
        memory = hf.remember(
            text_or_stdin(text, what="text"),
            kind=kind,
            category=category,
            title=title,
            tags=tuple(tag or ()),
            author=author,
            event_time=parse_time(event_time),
            valid_from=parse_time(valid_from),
            valid_until=parse_time(valid_until, end=True),
            confidence=confidence,
            metadata=_object(metadata),
            source="cli",
        )
        _told(hf, memory, "Remembered", as_json=as_json)


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"--metadata is not JSON: {error}. Write it like '{{\"ticket\": 12}}'."
        ) from error
    if not isinstance(value, dict):
        raise InvalidInput("--metadata must be a JSON object, like '{\"ticket\": 12}'.")
    return value


@app.command(rich_help_panel=WRITING)
def capture(
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="One turn. Default: JSON lines from a pipe."),
    ] = None,
    session: Annotated[str | None, typer.Option(help="Id of the session.")] = None,
    role: Annotated[str, typer.Option(help="user, assistant, tool…")] = "user",
    author: Annotated[str, typer.Option(help="Who said it.")] = "",
    event_time: Annotated[str | None, typer.Option("--at", help="When it was said.")] = None,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Store turns of a conversation verbatim. Without a text, read JSON lines with session, role
    and text from a pipe.

    Example: holdfast capture --session monday --role user "I moved to Lisbon"
    """
    with open_memory(store, scope) as hf:
        if text is None and not sys.stdin.isatty():
            turns = list(_lines(session))
        elif text is None or session is None:
            raise InvalidInput("Give --session and the text of a turn, or pipe JSON lines in.")
        else:
            at = parse_time(event_time)
            turns = [
                {"session": session, "role": role, "text": text, "author": author, "event_time": at}
            ]
        stored = hf.capture_many(turns)
        if as_json:
            output.emit([output.memory_json(memory, run=hf.last_run) for memory in stored])
        else:
            undo_hint = f" {_undoing(hf)}" if stored else ""
            print(f"Captured {len(stored)} of {counted(len(turns), 'turn')}.{undo_hint}")


def _lines(session: str | None) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(sys.stdin, start=1):
        if not line.strip():
            continue
        try:
            turn = json.loads(line)
        except json.JSONDecodeError as error:
            raise InvalidInput(
                f"Line {number} is not JSON ({error}). Nothing was stored."
            ) from error
        if not isinstance(turn, dict):
            raise InvalidInput(f"Line {number} is not a JSON object. Nothing was stored.")
        if isinstance(turn.get("event_time"), str):
            turn["event_time"] = parse_time(turn["event_time"])
        # A session in the line itself wins over the option.
        yield ({"session": session} if session else {}) | turn


@app.command(rich_help_panel=WRITING)
def correct(
    id_: Id,
    text: Text = None,
    reason: Annotated[str, typer.Option(help="Why it was wrong.")] = "",
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Replace the text of a memory. The old text stays in its history.

    Example: holdfast correct 3 "I take my coffee with milk" --reason "changed my mind"
    """
    with open_memory(store, scope, make=False) as hf:
        memory = hf.correct(id_, text_or_stdin(text, what="new text"), reason=reason)
        _told(hf, memory, f"Corrected {id_}; it is now", as_json=as_json)


@app.command(rich_help_panel=WRITING)
def confirm(
    id_: Id,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Confirm a memory. It gets full confidence and does not decay.

    Example: holdfast confirm 3
    """
    with open_memory(store, scope, make=False) as hf:
        _told(hf, hf.confirm(id_), "Confirmed", as_json=as_json)


@app.command(rich_help_panel=WRITING)
def archive(
    id_: Id,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Archive a memory. It stays in the store but is no longer recalled.

    Example: holdfast archive 3
    """
    with open_memory(store, scope, make=False) as hf:
        _told(hf, hf.archive(id_), "Archived", as_json=as_json)


@app.command(rich_help_panel=WRITING)
def restore(
    id_: Id,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Make an archived, faded, forgotten or superseded memory active again. Its text and history
    stay the same.

    Example: holdfast restore 3
    """
    with open_memory(store, scope, make=False) as hf:
        _told(hf, hf.restore(id_), "Restored", as_json=as_json)


@app.command(rich_help_panel=WRITING)
def forget(
    ids: Ids,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Forget memories. `undo` brings them back, `purge` erases them for good.

    Example: holdfast forget 3 4
    """
    with open_memory(store, scope, make=False) as hf:
        forgotten = hf.forget(*ids)
        if as_json:
            output.emit([output.memory_json(memory, run=hf.last_run) for memory in forgotten])
        else:
            # A set: the same memory may be named by id and by number.
            print(f"Forgot {len({memory.id for memory in forgotten})}. {_undoing(hf)}")


@app.command(rich_help_panel=WRITING)
def undo(
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="The run to undo. Default: the latest that stands."),
    ] = None,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Undo everything that one run changed. Without a run, undo the latest; again, the one before.

    Example: holdfast undo run_01m7k84jyz3dr5dxc1
    """
    with open_memory(store, scope, make=False) as hf:
        events = hf.undo(run)
        if as_json:
            output.emit({"run": hf.last_run, "undone": events[0].run, "changes": len(events)})
        else:
            undone = f"{events[0].verb} ({events[0].run}): {counted(len(events), 'change')}"
            print(f"Undid {undone}. Redo with: {undo_command(hf)}")
