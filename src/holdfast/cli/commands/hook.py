"""Commands for hooks of coding agents: install, uninstall, run, inspect."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...text.terminal import counted, plain
from .. import confirm, output
from ..app import UPKEEP, Json, Yes, app
from ..open_store import project_folder_here, working_folder

if TYPE_CHECKING:
    from ...coding_agents.hooks.status import Installed

hook_app = typer.Typer(
    help="""Connect coding agents through their hooks. Holdfast recalls before a prompt, and
indexes and extracts after a session.

Example: holdfast hook install claude-code""",
)
app.add_typer(hook_app, name="hook", rich_help_panel=UPKEEP, no_args_is_help=True)

Tool = Annotated[
    str, typer.Argument(metavar="TOOL", help="claude-code, codex, cursor, gemini-cli or opencode.")
]


@hook_app.command()
def install(
    tool: Tool,
    project: Annotated[
        bool,
        typer.Option(
            "--project/--user",
            help="For this project and all who share it, or for you in all projects.",
        ),
    ] = False,
    yes: Yes = False,
) -> None:
    """Add Holdfast's hooks to a coding agent's configuration. It shows the change and asks first.

    Example: holdfast hook install claude-code --project
    """
    from ...coding_agents.hooks.entries import HOOKS
    from ...coding_agents.programs import hook_target

    where = "this project" if project else "every project of yours"
    target = hook_target(tool, "project" if project else "user", project_folder_here())
    question = f"Install these hooks for {target.program.title}, {where}?"
    if confirm.install(target, HOOKS, question, after=target.program.after_hooks, yes=yes):
        _say_if_no_project()


@hook_app.command()
def uninstall(
    tool: Tool,
    project: Annotated[
        bool | None,
        typer.Option("--project/--user", help="Only this project's, or only yours. Default: both."),
    ] = None,
    yes: Yes = False,
) -> None:
    """Remove Holdfast's hooks from a coding agent's configuration. Everything else in the file
    stays, byte for byte.

    Example: holdfast hook uninstall claude-code
    """
    from ...coding_agents.hooks.entries import HOOKS
    from ...coding_agents.programs import LEVELS, hook_target

    levels = LEVELS if project is None else ("project" if project else "user",)
    targets = [hook_target(tool, level, project_folder_here()) for level in levels]
    missing = f"No hooks of ours are installed for {tool}. Nothing was changed."
    confirm.uninstall(targets, HOOKS, "Take these out?", missing=missing, yes=yes)


@hook_app.command()
def status(as_json: Json = False) -> None:
    """Show where hooks are installed and when they last ran. Problems are named with their fix.

    Example: holdfast hook status --json
    """
    from ...coding_agents.hooks.status import installed, last_runs, lateness

    every = installed(project_folder_here())
    runs = {tool: last_runs(tool) for tool in dict.fromkeys(one.tool for one in every)}
    late = {tool: lateness(tool) for tool in runs}
    if as_json:
        counts = {tool: one._asdict() for tool, one in late.items()}
        output.emit({"installed": [_json(one) for one in every], "last": runs, "late": counts})
        return
    for one in every:
        print(f"{one.tool} ({one.level}): {one.state}  {plain(str(one.file))}")
        if one.problem:
            print(f"  {plain(one.problem)}")
    for tool, last in runs.items():
        for event, entry in last.items():
            print(f"{tool} {plain(event)}: {_told(entry)}")
        if late[tool].late:
            print(f"{tool}: {late[tool]}. `holdfast hook log` shows when.")
    _say_if_no_project()


@hook_app.command()
def log(
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of entries.")] = 20,
    as_json: Json = False,
) -> None:
    """Show what the hooks did, newest first. The log has times, lengths, ids and errors, never
    text.

    Example: holdfast hook log --limit 20
    """
    from itertools import islice

    from ...coding_agents.hooks.log import entries

    found = list(islice(entries(), limit))
    if as_json:
        output.emit(found)
        return
    for entry in found:
        print(plain(f"{entry.get('tool', '')} {entry.get('event', '')}: {_told(entry)}".strip()))
    if not found:
        print("No hook has run yet.")


@hook_app.command()
def run(
    event: Annotated[
        str, typer.Argument(metavar="EVENT", help="SessionStart, UserPromptSubmit, Stop…")
    ] = "",
    tool: Annotated[
        str, typer.Option("--tool", help="Name of the coding agent, for the log.")
    ] = "",
    project: Annotated[
        bool, typer.Option("--project", help="Leave it to the person's own hook, if they have one.")
    ] = False,
) -> None:
    """Answer a coding agent's hook event: JSON on stdin, JSON on stdout. It takes at most two
    seconds and always exits with 0.

    Example: holdfast hook run UserPromptSubmit --tool claude-code
    """
    from ...coding_agents.hooks.handler import main

    # The handler parses words itself, because hosts start it without loading typer.
    main([event, "--tool", tool, *(["--project"] if project else [])])


@hook_app.command(hidden=True)
def finish(
    transcript: Annotated[
        str, typer.Argument(metavar="FILE", help="The transcript of a session.")
    ] = "",
    event: Annotated[str, typer.Option("--event", help="After which event.")] = "",
) -> None:
    """Index a transcript and extract records from it, after a hook has answered."""
    from ...coding_agents.hooks.after_session import finish_here

    if hasattr(os, "nice"):
        # A background job: nobody waits for its output.
        os.nice(10)
    finish_here(Path.cwd(), transcript, event=event)


# Behind the commands


def _say_if_no_project() -> None:
    from ...records.roots import project_place

    if project_place(working_folder()) is None:
        print("This folder is in no project yet: `holdfast project init` gives it a memory.")


def _json(one: Installed) -> dict[str, Any]:
    return {
        "tool": one.tool,
        "level": one.level,
        "file": str(one.file),
        "state": one.state,
        "events": list(one.events),
        "problem": one.problem,
    }


def _told(entry: dict[str, Any]) -> str:
    """Format a log entry for people."""
    parts = [f"{entry.get('at', '')} {entry.get('outcome', '')}"]
    parts += [f"{entry['ms']} ms"] if "ms" in entry else []
    if entry.get("outcome") == "late":
        parts += ["only what stands was told" if entry.get("ids") else "nothing was told"]
    parts += [counted(len(entry["ids"]), "memory")] if entry.get("ids") else []
    parts += [str(entry["error"])] if entry.get("error") else []
    return plain(", ".join(parts))
