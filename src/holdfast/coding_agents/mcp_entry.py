"""Our MCP server as an entry in a client's configuration, and whether it is there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from .. import config
from ..errors import InvalidInput
from . import installer
from .installer import Entries
from .json_edit import Insertion, Path, nested
from .programs import PROGRAMS, Shape, Target, server_levels, server_target

NAME = "holdfast"
"""The name of our server."""


class ServerEntry:
    """One server, started with the given options of `holdfast mcp`."""

    noun = "servers"
    toml_comment = (
        "# Holdfast: long-term memory. `holdfast mcp uninstall codex` takes this out again."
    )
    toml_advice = "Write them as [mcp_servers.NAME] tables and try again."

    def __init__(self, options: Sequence[str] = ()) -> None:
        self.options = tuple(options)

    def wanted(self, target: Target) -> Entries:
        """The command that starts it. A project file is shared, so it contains no path."""
        program = (NAME,) if target.level == "project" else config.program()
        return {NAME: [_shaped((*program, "mcp", *self.options), target.program.shape)]}

    def found(self, settings: dict[str, Any], target: Target) -> Entries:
        """Our server, if there is one; InvalidInput if the servers are no object."""
        inner: Any = settings
        for key in (*_section(target), NAME):
            # A section without entries is null in YAML.
            inner = (inner or {}).get(key, {}) if isinstance(inner, dict | None) else None
        if not isinstance(inner, dict):
            raise InvalidInput(
                f"{target.file} is not as {target.program.title} wants it: "
                f"{target.program.section} is no object. Nothing was changed."
            )
        return {NAME: [inner]} if inner else {}

    def json_paths(self, settings: dict[str, Any], target: Target) -> list[Path]:
        """The member of the servers that has our name."""
        return [(*_section(target), NAME)] if self.found(settings, target) else []

    def json_insertions(self, target: Target) -> list[Insertion]:
        """One more server."""
        (entry,) = self.wanted(target)[NAME]
        return [Insertion((*_section(target), NAME), entry)]

    def new_file(self, target: Target) -> str:
        """Nothing but our entry."""
        del target
        return ""

    def json_advice(self, target: Target) -> str:
        """The entry to add by hand, for a program whose reader may forgive what ours does not."""
        (insertion,) = self.json_insertions(target)
        return f"Or add by hand: {json.dumps(nested(*insertion))}"

    def plugin(self, target: Target) -> str:
        """Nothing: no program takes its servers from JavaScript."""
        del target
        return ""

    def toml_headers(self, name: str, target: Target) -> str:
        """A table with our name."""
        return f"[{target.program.section}.{name}]\n"


def _section(target: Target) -> tuple[str, ...]:
    return tuple(target.program.section.split("."))


def _shaped(words: Sequence[str], shape: Shape) -> dict[str, Any]:
    """The entry that starts these words, as a program wants it."""
    command, *args = words
    match shape:
        case "opencode":
            return {"type": "local", "command": [*words]}
        case "goose":
            return {
                "enabled": True,
                "type": "stdio",
                "name": NAME,
                "description": "Long-term memory",
                "cmd": command,
                "args": args,
                "envs": {},
                # Seconds, as goose itself writes them.
                "timeout": 300,
            }
        case "typed":
            return {"type": "stdio", "command": command, "args": args}
        case "plain":
            return {"command": command, "args": args}


def _command(entry: dict[str, Any]) -> str:
    """The program that an entry starts, in any shape."""
    command = entry.get("command") or entry.get("cmd") or ""
    return str(command[0] if isinstance(command, list) else command)


class EntryState(NamedTuple):
    """State of our entry in one file of a client, in a few words."""

    client: str
    level: str
    file: FilePath
    state: str


def entry_states(project: FilePath) -> list[EntryState]:
    """The state of our entry in every client, for the user and in the project in a folder."""
    return [
        entry_state(server_target(client, level, project))
        for client in PROGRAMS
        for level in server_levels(client)
    ]


def entry_state(target: Target) -> EntryState:
    """The state of our entry: installed, not installed, or what is wrong."""
    try:
        ours = installer.installed(target, ServerEntry())
    except InvalidInput as error:
        return EntryState(target.name, target.level, target.file, f"cannot be told: {error}")
    state = "installed" if ours else "not installed"
    command = _command(ours[NAME][0]) if ours else ""
    if ours and shutil.which(command) is None:
        state = f"installed, but {command or 'its command'} cannot be run from here"
    return EntryState(target.name, target.level, target.file, state)
