"""The import command: bundles, past sessions of coding agents, chat exports, other memory files."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ... import config
from ...errors import InvalidInput, reason
from ...text.terminal import counted, plain
from .. import output
from ..app import UPKEEP, Json, Scope, Store, app, confirmed, open_memory, undo_command, when
from ..exit_codes import PARTLY
from ..open_store import is_meant_here

if TYPE_CHECKING:
    from ...client import Holdfast
    from ...importers import MemoryFile
    from ...ingest.documents import Indexed
    from ...projects.past_sessions import AgentOutcome, PastProject, Survey
    from ...transcripts import Importer
    from ...transcripts.discovery import UnreadableFile

# Projects or warnings shown on a terminal; --json lists all.
MOST_SHOWN = 30


def complete_formats(incomplete: str) -> list[str]:
    """Formats of other memory systems, for shell completion."""
    from ...importers import FORMATS

    return [name for name in FORMATS if name.startswith(incomplete)]


def complete_agents(incomplete: str) -> list[str]:
    """Agents whose sessions can be found, for shell completion."""
    from ...projects.past_sessions import agents

    return [name for name in agents() if name.startswith(incomplete)]


@app.command("import", rich_help_panel=UPKEEP)
def import_(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FORMAT] [FILE]",
            help="A bundle, a transcript, or an export of ChatGPT or Claude; '-' is a bundle "
            "piped in. With a FORMAT, a file of another memory: mem0, langgraph, mcp-memory, "
            "letta, zep, hindsight, cognee, mempalace, chatgpt-memory, claude-memory.",
            autocompletion=complete_formats,
        ),
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Past sessions of every coding agent on this machine.")
    ] = False,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            help="Only this agent's sessions (repeatable).",
            autocompletion=complete_agents,
        ),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what was found. Import nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    into: Annotated[
        str | None,
        typer.Option("--into", metavar="KIND:KEY", help="Import into this scope instead."),
    ] = None,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Import a bundle, a transcript, a chat export, another memory's file, or all past sessions on
    this machine. Imports are idempotent, and a bundle or session is imported atomically.

    Example: holdfast import --all --plan
    """
    from ...importers import BUNDLE, MemoryFile

    format_, file = _format_and_file(words or [])
    if all_ == (file is not None):
        raise InvalidInput("Name a file, or say --all for the past sessions on this machine.")
    with open_memory(store, scope) as hf:
        if all_:
            _import_all(hf, agent or (), plan=plan, yes=yes, as_json=as_json)
            return
        importer = _importer(format_, file or "-")
        if isinstance(importer, MemoryFile):
            _import_memories(hf, importer, file or "-", into=into, as_json=as_json)
        elif importer is None or importer is BUNDLE:
            _check_into(scope, into)
            # A file that no importer recognises is treated as a bundle, and refused as such.
            _import_bundle(hf, file or "-", into=into, as_json=as_json)
        else:
            target = into or (str(hf.scopes[0]) if scope else None)
            _import_sessions(hf, Path(file or ""), into=target, as_json=as_json)


# A file of another memory


def _format_and_file(words: Sequence[str]) -> tuple[str | None, str | None]:
    """Return format and file from the command's words; None for what is missing."""
    from ...importers import FORMATS, format_named

    match words:
        case []:
            return None, None
        # A file may have the name of a format, so an existing path wins.
        case [str(one)] if one in FORMATS and not Path(one).exists():
            raise InvalidInput(f"Name the file too: holdfast import {one} FILE")
        case [str(file)]:
            return None, file
        case [str(name), str(file)]:
            _refuse_if_sessions(name, file)
            return format_named(name).name, file
    raise InvalidInput("Name one file. To import several, call it once for each.")


def _refuse_if_sessions(name: str, file: str) -> None:
    """Raise InvalidInput where the name of an agent or of a chat is given as a format."""
    from ...importers import FORMATS
    from ...projects import past_sessions

    # People say Claude of both.
    if name in (*past_sessions.agents(), "claude") and name not in FORMATS:
        command = shlex.join(["holdfast", "import", file])
        raise InvalidInput(f"Conversations of {name} need no format: {command}")


def _other_ways() -> str:
    from ...importers import FORMATS

    return (
        "Files of other memories are imported by `holdfast import FORMAT FILE`, where FORMAT is "
        "one of "
        f"{', '.join(FORMATS)}; bundles and past sessions by `holdfast import FILE`."
    )


def _importer(name: str | None, file: str) -> Importer[Any] | None:
    """Return the importer that a person named, or the one that recognises the file."""
    from ...importers import format_named, importer_for

    if name:
        return format_named(name)
    if file == "-":
        return None
    importer = importer_for(Path(file))
    if importer is None:
        _refuse_initrunner(Path(file))
    return importer


def _refuse_initrunner(file: Path) -> None:
    from ...agents.initrunner import command, is_database

    if file.is_file() and is_database(file):
        raise InvalidInput(
            f"{file} is an InitRunner database, which belongs to an agent. Nothing was imported. "
            f"Name the agent's role file: {command(file, Path('role.yaml'))}"
        )


def _import_memories(
    hf: Holdfast,
    importer: MemoryFile,
    file: str,
    *,
    into: str | None,
    as_json: bool,
) -> None:
    from ...importers import take_in
    from ...types import Scope as ScopeType

    name = importer.name
    with _readable(file):
        items = importer.parse(sys.stdin.read()) if file == "-" else importer.read(Path(file))
    with output.progress("importing") as bar:
        target = ScopeType.parse(into) if into else None
        done = take_in(hf, importer, items, into=target, progress=output.follow(bar))
    scopes = sorted({str(one.scope) for one in done.added})
    if as_json:
        problems = [{"line": one.line, "reason": one.reason} for one in done.problems]
        output.emit(
            {"added": len(done.added), "known": done.known, "scopes": scopes, "problems": problems}
        )
        return
    if done.problems and not done.added and not done.known:
        why = f"{plain(done.problems[0].reason)} (line {done.problems[0].line})"
        raise InvalidInput(
            f"Nothing in {file} is a memory of {name}: {why}. Nothing was imported. {_other_ways()}"
        )
    for one in done.problems[:MOST_SHOWN]:
        print(f"Warning: line {one.line} was left out: {plain(one.reason)}.", file=sys.stderr)
    where = f" into {', '.join(scopes)}" if 0 < len(scopes) <= 3 else ""
    left = f"; {counted(len(done.problems), 'record')} left out" if done.problems else ""
    told = counted(len(done.added), "memory")
    # `undo` works on one scope, so several scopes have no single command.
    undo = f" Undo with: {undo_command(hf, scopes[0])}" if len(scopes) == 1 else ""
    print(f"Imported {told}{where}; {done.known:,} already there{left}.{undo}")


# A bundle


def _check_into(scope: str | None, into: str | None) -> None:
    """Raise InvalidInput for --scope, which would be passed over."""
    if scope and not into:
        raise InvalidInput(
            "A bundle says itself whose memories it holds. Nothing was imported. For another "
            f"scope say: --into {scope}"
        )


def _import_bundle(
    hf: Holdfast,
    file: str,
    *,
    into: str | None,
    as_json: bool,
) -> None:
    from ...importers import BUNDLE

    with _readable(file), output.progress("importing", _count_lines(file)) as bar:
        lines = sys.stdin if file == "-" else BUNDLE.read(Path(file))
        done = hf.admin.import_(lines, into=into, progress=lambda steps: output.advance(bar, steps))
    if as_json:
        output.emit({"added": dict(done.added), "skipped": done.skipped, "vectors": done.vectors})
    else:
        were = "row was" if done.skipped == 1 else "rows were"
        told = counted(done.added["memory"], "memory")
        print(f"Imported {told}; {done.skipped:,} {were} already there.")


def _count_lines(file: str) -> int | None:
    """Number of lines of a file, for the estimate of the time left; None for what is piped in."""
    if file == "-" or not Path(file).is_file():
        return None
    with Path(file).open("rb") as lines:
        return sum(1 for _ in lines)


@contextmanager
def _readable(file: str) -> Iterator[None]:
    """Report a file that cannot be read, in this context, as InvalidInput."""
    if Path(file).is_dir():
        raise InvalidInput(
            f"Cannot read {file}: it is a folder, not a file. Nothing was imported. Name a file "
            "in it, or say --all "
            "for the past sessions on this machine; in a project, `holdfast project index` takes "
            "whole "
            "folders."
        )
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"Cannot read {file}: {reason(error)}. Nothing was imported.") from error


# One file of sessions


def _import_sessions(
    hf: Holdfast,
    file: Path,
    *,
    into: str | None,
    as_json: bool,
) -> None:
    """Import each session where `import --all` would; one without a folder goes to the person."""
    from ...projects import past_sessions

    file = file.expanduser().resolve()
    found = past_sessions.survey_file(file)
    done: list[tuple[str, Indexed]] = []
    undo: dict[str, str] = {}
    projects = [] if into else found.projects
    whole = bool(into or found.homeless or not projects)
    steps = sum(len(project.sessions) for project in projects)
    with output.progress("importing", steps + whole * _sessions_in(found)) as bar:
        step = partial(output.advance, bar)
        for project in projects:
            scope = str(project.place.scope)
            done.append((scope, hf.projects.import_sessions(project, progress=step)))
            undo[scope] = undo_command(hf, scope)
        if whole:
            scope = into or str(hf.scopes[0])
            indexed = hf.projects.import_sessions(
                file, into=scope, homeless=not into, progress=step
            )
            done.append((scope, indexed))
            undo[scope] = undo_command(hf, scope)
    if as_json:
        told = [_done_json(*one) for one in done]
        output.emit(told[0] if len(told) == 1 else told)
    else:
        for scope, indexed in done:
            _tell_sessions(hf, file, scope, indexed, undo[scope])
    _end([indexed for _, indexed in done])


def _sessions_in(found: Survey) -> int:
    """Number of sessions that were found, whatever their project."""
    return len(found.homeless) + sum(len(project.sessions) for project in found.projects)


def _tell_sessions(
    hf: Holdfast,
    file: Path,
    scope: str,
    done: Indexed,
    undo: str,
) -> None:
    _warn(done)
    if done.sessions:
        told = f"{counted(len(done.sessions), 'session')} with {counted(done.chunks, 'turn')}"
        print(f"Imported {told} into {scope}. Undo with: {undo}")
        if not is_meant_here(scope):
            print(f'Find it with: holdfast recall "…" --scope {scope}', file=sys.stderr)
    elif not done.failed:
        understood = _is_known(hf, scope, file)
        known = "every session is known already" if understood else "no session was found"
        print(f"Nothing new for {scope} in {plain(str(file))}: {known}.")
        if not understood:
            print(_other_ways(), file=sys.stderr)


def _is_known(hf: Holdfast, scope: str, file: Path) -> bool:
    """Whether a session of this file is stored. In its project a file goes by its relative path."""
    sessions = hf.scoped(scope).sessions.list()
    for path in {session.metadata.get("path") for session in sessions}:
        if path and (path == str(file) or file.match(path)):
            return True
    return False


def _end(done: Sequence[Indexed], unreadable: Sequence[UnreadableFile] = ()) -> None:
    """Exit with PARTLY if something failed, and with 1 if everything did."""
    if unreadable or any(indexed.failed for indexed in done):
        some = any(indexed.files or indexed.unchanged for indexed in done)
        raise typer.Exit(PARTLY if some else 1)


# All past sessions on this machine


def _import_all(
    hf: Holdfast,
    agents: Sequence[str],
    *,
    plan: bool,
    yes: bool,
    as_json: bool,
) -> None:
    from ...projects import past_sessions

    if unknown := [name for name in agents if name not in past_sessions.agents()]:
        raise InvalidInput(
            f"There is no agent {unknown[0]!r}. There are: {', '.join(past_sessions.agents())}."
        )
    found = past_sessions.survey(Path.home(), config.environment(), agents)
    if plan:
        output.emit(_survey_json(found)) if as_json else _tell_survey(found)
        return
    if not as_json:
        _tell_survey(found)
    if not found.projects:
        return
    sessions = sum(len(project.sessions) for project in found.projects)
    if not as_json and not confirmed(f"Take in {counted(sessions, 'session')}?", yes=yes):
        print("Nothing was imported.", file=sys.stderr)
        raise typer.Exit(1)
    with output.progress("importing", sessions) as bar:
        step = partial(output.advance, bar)
        done = [
            (project, hf.projects.import_sessions(project, progress=step))
            for project in found.projects
        ]
    if not as_json:
        _tell_agents(past_sessions.outcomes(found, done))
    _tell_all(done, as_json=as_json)
    _end([indexed for _, indexed in done], found.unreadable)


def _survey_json(found: Survey) -> dict[str, Any]:
    return {
        "projects": [
            {
                "scope": str(project.place.scope),
                "folder": str(project.place.folder),
                "sessions": len(project.sessions),
                "private": project.private,
                "agents": project.agents,
            }
            for project in found.projects
        ],
        "without_folder": len(found.homeless),
        "unreadable": [str(file) for file in found.unreadable],
    }


def _tell_survey(found: Survey) -> None:
    rows = [
        (_near(project), str(len(project.sessions)), _by_agent(project), when(project.changed_at))
        for project in found.projects[:MOST_SHOWN]
    ]
    output.table(
        ("project", "sessions", "agents", "last"),
        rows,
        empty="No past sessions were found on this machine.",
    )
    if len(found.projects) > MOST_SHOWN:
        print(f"… and {counted(len(found.projects) - MOST_SHOWN, 'more project')}.")
    if found.homeless:
        print(
            f"{counted(len(found.homeless), 'session')} without a folder: import their files "
            "by "
            "name."
        )
    for problem in found.unreadable[:MOST_SHOWN]:
        print(f"Warning: {plain(str(problem))}", file=sys.stderr)


def _near(project: PastProject) -> str:
    folder = project.place.folder
    home = Path.home()
    return f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)


def _by_agent(project: PastProject) -> str:
    return ", ".join(f"{name} {count}" for name, count in project.agents.items())


def _tell_agents(outcomes: Sequence[AgentOutcome]) -> None:
    output.table(
        ("agent", "found", "new", "failed", "why"),
        [
            (one.agent, str(one.found), str(one.new), str(one.failed), one.reason)
            for one in outcomes
        ],
        empty="",
        headed=True,
    )


def _tell_all(done: Sequence[tuple[PastProject, Indexed]], *, as_json: bool) -> None:
    if as_json:
        output.emit([_done_json(str(project.place.scope), indexed) for project, indexed in done])
        return
    for _, indexed in done:
        _warn(indexed)
    sessions = sum(len(indexed.sessions) for _, indexed in done)
    turns = sum(indexed.chunks for _, indexed in done)
    failed = sum(len(indexed.failed) for _, indexed in done)
    if not sessions:
        unread = failed or any(indexed.warnings for _, indexed in done)
        known = "every other session" if unread else "every session"
        print(f"Nothing new: {known} is known already.")
        return
    projects = sum(bool(indexed.sessions) for _, indexed in done)
    left = (
        f" {counted(failed, 'failure')}, named above; the next import tries again."
        if failed
        else ""
    )
    told = (
        f"{counted(sessions, 'session')} with {counted(turns, 'turn')} of "
        f"{counted(projects, 'project')}"
    )
    print(f"Imported {told}.{left}")
    print(
        "In its folder, `holdfast recall` finds what was said, and `holdfast project build` "
        "makes "
        "a memory of it."
    )


def _done_json(scope: str, done: Indexed) -> dict[str, Any]:
    return {
        "scope": scope,
        "sessions": len(done.sessions),
        "turns": done.chunks,
        "unchanged": done.unchanged,
        "warnings": [{"path": warned.path, "reason": warned.reason} for warned in done.warnings],
        "failed": [{"path": failed.path, "reason": failed.reason} for failed in done.failed],
    }


def _warn(done: Indexed) -> None:
    for warned in done.warnings[:MOST_SHOWN]:
        print(f"Warning: {plain(warned.path)}: {plain(warned.reason)}.", file=sys.stderr)
    # Not shortened: each failure is data that is missing.
    for failed in done.failed:
        print(f"Failed: {plain(failed.path)}: {plain(failed.reason)}.", file=sys.stderr)
