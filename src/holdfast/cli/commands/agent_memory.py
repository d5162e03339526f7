"""Commands that manage the memory of a role."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ... import config
from ...errors import EmbedderError, HoldfastError, InvalidInput, NotFound, reason
from ...text.terminal import counted, plain
from ...types import KINDS, iso
from .. import output as show
from ..app import Json, app, output_file, write_lines
from ..open_agent import agent_packages, role_of
from ..repl import history_file
from .agent import RoleFile, agent_app

if TYPE_CHECKING:
    from ...agents.role_memory import RoleMemory
    from ...models.llm.chat import Complete

memory_app = typer.Typer(
    no_args_is_help=True,
    help="""Manage the memory of a role file's agent. It is stored apart from your own memory.

Example: holdfast agent memory list role.yaml""",
)
agent_app.add_typer(memory_app, name="memory")
# InitRunner's own name for it, which its users type.
app.add_typer(memory_app, name="memory", hidden=True)

NO_STORE = "No memory store found."
NOTHING = "No memories found."
TYPES = ("episodic", "semantic", "procedural")
# Characters of a memory in a list.
SHOWN = 100

Type = Annotated[
    str | None,
    typer.Option(
        "--type",
        metavar="TYPE",
        help="Only episodic, semantic or procedural ones.",
        autocompletion=lambda: TYPES,
    ),
]
Force = Annotated[bool, typer.Option("--force", "--yes", "-y", help="Do not ask.")]


@contextmanager
def _memory(file: Path, *, taking_in: bool = False) -> Iterator[RoleMemory]:
    """Open the memory of a role. Mention a database left by InitRunner, unless importing one."""
    role = role_of(file)
    with agent_packages():
        from ...agents.role_memory import RoleMemory

    # A function, so that the model is loaded only if something is consolidated.
    def complete() -> Complete:
        with agent_packages():
            from ...agents.models import consolidating
            from ...models.llm.chat import completing
        return completing(consolidating(role, config.environment()))

    memory = RoleMemory(role, complete=complete, actor=f"cli:{config.login()}")
    try:
        if not taking_in and (told := memory.left_behind):
            print(told, file=sys.stderr)
        yield memory
    finally:
        memory.close()


def _checked(type_: str | None) -> str | None:
    if type_ is not None and type_ not in (*TYPES, *KINDS):
        raise NotFound(f"Invalid type '{type_}'. Use: {', '.join(TYPES)}")
    return type_


@memory_app.command("list")
def list_(
    file: RoleFile,
    type_: Type = None,
    category: Annotated[str | None, typer.Option("--category", help="Only this category.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of results.")] = 20,
    as_json: Json = False,
) -> None:
    """List what the agent of a role file remembers. The newest memory comes first.

    Example: holdfast agent memory list role.yaml --type semantic
    """
    with _memory(file) as memory:
        wanted = _checked(type_)
        found = memory.listed(type_=wanted, category=category, limit=limit) if memory.exists else []
        if as_json:
            from ...importers.initrunner_json import listed

            show.emit([listed(one) for one in found])
            return
        for one in found:
            print(show.typed(one, SHOWN))
        print(f"{len(found)} memories shown." if found else NOTHING)


@memory_app.command()
def sessions(file: RoleFile, as_json: Json = False) -> None:
    """List the saved sessions of an agent, latest first. `agent run --resume` continues the first
    of them.

    Example: holdfast agent memory sessions role.yaml
    """
    with _memory(file) as memory:
        from ...agents.message_history import of_agent, preview

        found = of_agent(memory.hf, memory.role.name) if memory.exists else []
        counts = (
            memory.hf.store.sessions.message_counts(memory.scope, [one.id for one in found])
            if found
            else {}
        )
        rows = [
            {
                "id": one.id,
                "last_activity": iso(one.last_activity),
                "messages": counts.get(one.id, 0),
                "preview": preview(
                    [message.body for message in memory.hf.sessions.messages(one.id)]
                ),
            }
            for one in found
        ]
        if as_json:
            show.emit(rows)
        else:
            cells = [[str(value) for value in row.values()] for row in rows]
            show.table(
                ("session", "last active", "messages", "text"), cells, empty="No sessions found."
            )


@memory_app.command()
def clear(
    file: RoleFile,
    sessions_only: Annotated[bool, typer.Option("--sessions-only", help="Only sessions.")] = False,
    memories_only: Annotated[bool, typer.Option("--memories-only", help="Only memories.")] = False,
    what: Annotated[
        str | None,
        typer.Option(
            "--what", metavar="WHAT", help="sessions, memories or all: the same as the flags."
        ),
    ] = None,
    type_: Type = None,
    purge: Annotated[
        bool, typer.Option("--purge", help="Erase memories for good instead of forgetting them.")
    ] = False,
    force: Force = False,
) -> None:
    """Clear an agent's sessions, memories or both. `undo` brings memories back unless --purge was
    given.

    Example: holdfast agent memory clear role.yaml --type episodic
    """
    with _memory(file) as memory:
        name = memory.role.name
        wanted = _checked(type_)
        gone = _what(
            sessions_only=sessions_only, memories_only=memories_only, what=what, type_=wanted
        )
        if not memory.exists:
            print(NO_STORE)
            return
        if not force and not _agreed(f"Clear {_label(gone, wanted)} for {name}?"):
            print("Aborted.")
            return
        if "memories" in gone:
            _forget(memory, wanted, purge=purge)
        if "sessions" in gone:
            mine = [one.id for one in memory.hf.sessions.list() if one.agent == name]
            memory.hf.sessions.purge(*mine)
            # The prompt history repeats what was said in the sessions.
            history_file(name).unlink(missing_ok=True)
        print(f"Cleared memory for {name}.")


def _what(
    *,
    sessions_only: bool,
    memories_only: bool,
    what: str | None,
    type_: str | None,
) -> set[str]:
    """Return which of sessions and memories to clear. Raises InvalidInput for contradictory
    options.
    """
    choices = {"sessions": {"sessions"}, "memories": {"memories"}, "all": {"sessions", "memories"}}
    if what is not None and what not in choices:
        raise InvalidInput(f"--what takes sessions, memories or all, not {what!r}.")
    asked = {"sessions": sessions_only, "memories": memories_only}
    named = {name for name, wanted in asked.items() if wanted} | ({what} if what else set())
    if len(named) > 1:
        raise InvalidInput(
            "--sessions-only, --memories-only and --what say different things. Use one of them."
        )
    if type_ and named - {"memories"}:
        raise InvalidInput(
            "--type clears memories of one type and nothing else; leave the other options out."
        )
    return choices[named.pop() if named else "memories" if type_ else "all"]


def _label(gone: set[str], type_: str | None) -> str:
    if len(gone) > 1:
        return "all memory data"
    return f"{type_} memories" if type_ else min(gone)


def _agreed(question: str) -> bool:
    try:
        return typer.confirm(question, default=False)
    except typer.Abort:
        return False


def _forget(
    memory: RoleMemory,
    type_: str | None,
    *,
    purge: bool,
) -> None:
    from ...agents.role_memory import kinds_named
    from ...types import STATUSES

    kinds = kinds_named(type_) if type_ else ()
    if purge:
        # Forgotten memories too: nothing may be left that `undo` could bring back.
        if every := memory.hf.list(kinds=kinds, statuses=STATUSES):
            memory.hf.admin.purge(*(one.seq for one in every))
        return
    if going := memory.hf.list(kinds=kinds):
        memory.hf.forget(*(one.seq for one in going))
        # A role has its own store and scope, so plain `undo` would look elsewhere.
        where = f"--store {shlex.quote(memory.location)} --scope {shlex.quote(str(memory.scope))}"
        print(f"To take it back: holdfast undo {memory.hf.last_run} {where}", file=sys.stderr)


@memory_app.command()
def export(
    file: RoleFile,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="'-' is standard output.")
    ] = "memories.json",
) -> None:
    """Write all memories of an agent to a JSON file. `agent memory import` reads it.

    Example: holdfast agent memory export role.yaml -o memories.json
    """
    with _memory(file) as memory:
        if not memory.exists:
            print(NO_STORE)
            return
        from ...importers.initrunner_json import exported

        records = [exported(one) for one in memory.listed(limit=None)]
        if output == "-":
            show.emit(records)
            return
        write_lines(output_file(output), [json.dumps(records, ensure_ascii=False, indent=2) + "\n"])
        print(f"Exported {len(records)} memories to {output}.")


@memory_app.command("import")
def import_(
    file: RoleFile,
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="An export; '-' is standard input.")
    ],
    as_json: Json = False,
) -> None:
    """Import memories that `agent memory export` wrote. The import is atomic and idempotent.

    Example: holdfast agent memory import role.yaml memories.json
    """
    with _memory(file) as memory:
        memory.check()
        records = _read_json(source)
        from ...importers.initrunner_json import import_memories

        with show.progress("importing", len(records) if isinstance(records, list) else None) as bar:
            taken = import_memories(
                memory, records, progress=lambda steps: show.advance(bar, steps)
            )
        if as_json:
            show.emit(asdict(taken))
            return
        known = counted(taken.known, "was", "were")
        print(
            f"Imported {counted(taken.added, 'memory')}; {known} already there, {taken.blank} "
            "had "
            "no text."
        )
        if taken.put_away:
            over = counted(taken.put_away, "memory is", "memories are")
            print(f"{over} over the caps of the role; put away.", file=sys.stderr)


def _read_json(source: str) -> object:
    try:
        return json.loads(
            sys.stdin.read() if source == "-" else Path(source).expanduser().read_text("utf-8")
        )
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"Cannot read {source} as JSON: {reason(error)}. Nothing was imported."
        ) from error


@memory_app.command()
def consolidate(file: RoleFile, as_json: Json = False) -> None:
    """Turn an agent's episodes into facts now. The role's own schedule does not matter.

    Example: holdfast agent memory consolidate role.yaml
    """
    with _memory(file) as memory:
        if not memory.exists:
            print(NO_STORE)
            return
        memory.check()
        done = memory.consolidate(force=True)
        if as_json:
            show.emit({"created": done.created, "episodes": done.episodes, "reason": done.reason})
        elif done.reason:
            raise HoldfastError(f"Nothing was consolidated: {done.reason}")
        elif done.created:
            print(f"Created {done.created} semantic memories from episodic data.")
        elif done.episodes:
            print(
                f"Read {counted(done.episodes, 'episode')}; there was nothing new to keep from "
                "them."
            )
        else:
            print("No episodic memories to consolidate.")
        if done.reason:
            raise typer.Exit(1)


@memory_app.command()
def reembed(file: RoleFile, as_json: Json = False) -> None:
    """Embed every memory of an agent with the role's current model. It can be interrupted and run
    again.

    Example: holdfast agent memory reembed role.yaml
    """
    with _memory(file) as memory:
        if not memory.exists:
            print(NO_STORE)
            return
        total = len(memory.listed(limit=None)) * len(list(memory.tiers))
        with show.progress("embedding", total) as bar:
            done = memory.reembed(progress=lambda model, steps: show.advance(bar, steps))
        if as_json:
            show.emit(done)
        else:
            for model, count in done.items():
                print(f"{count} embedded by {model}.")


@memory_app.command("import-db")
def import_db(
    database: Annotated[
        Path, typer.Argument(metavar="PATH", help="An InitRunner database. It is only read.")
    ],
    file: RoleFile,
    as_json: Json = False,
) -> None:
    """Import an InitRunner database: memories with ids and times, sessions, vectors. The database
    itself is only read.

    Example: holdfast agent memory import-db old.db role.yaml
    """
    with _memory(file, taking_in=True) as memory:
        with agent_packages():
            from ...importers.initrunner import import_database
        with show.progress("importing") as bar:
            done = import_database(
                database, memory, progress=lambda steps: show.advance(bar, steps)
            )
        if as_json:
            show.emit(asdict(done))
            return
        for warning in done.warnings:
            print(plain(warning), file=sys.stderr)
        print(
            f"Imported {counted(done.memories, 'memory')}, {counted(done.sessions, 'session')} "
            "with "
            f"{counted(done.messages, 'message')} and {counted(done.vectors, 'vector')}; "
            f"{done.skipped} skipped."
        )
        # A warning only: the import is done, whether or not the embedder works.
        try:
            memory.check()
        except EmbedderError as error:
            print(plain(str(error)), file=sys.stderr)
