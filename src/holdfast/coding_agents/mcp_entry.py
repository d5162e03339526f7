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
from .programs import PROGRAMS, Target, server_levels, server_target

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
        command, *words = (NAME,) if target.level == "project" else config.program()
        kind = {"type": "stdio"} if target.program.typed else {}
        return {NAME: [{**kind, "command": command, "args": [*words, "mcp", *self.options]}]}

    def found(self, settings: dict[str, Any], target: Target) -> Entries:
        """Our server, if there is one; InvalidInput if the servers are no object."""
        section = target.program.section
        servers = settings.get(section, {})
        ours = servers.get(NAME, {}) if isinstance(servers, dict) else None
        if not isinstance(ours, dict):
            raise InvalidInput(
                f"{target.file} is not as {target.program.title} wants it: {section} is no object. "
                "Nothing was changed."
            )
        return {NAME: [ours]} if ours else {}

    def json_paths(self, settings: dict[str, Any], target: Target) -> list[Path]:
        """The member of the servers that has our name."""
        return [(target.program.section, NAME)] if self.found(settings, target) else []

    def json_insertions(self, target: Target) -> list[Insertion]:
        """One more server."""
        (entry,) = self.wanted(target)[NAME]
        return [Insertion((target.program.section, NAME), entry)]

    def new_file(self, target: Target) -> str:
        """Nothing but our entry."""
        del target
        return ""

    def json_advice(self, target: Target) -> str:
        """The entry to add by hand: VS Code and others allow comments, which JSON does not."""
        (insertion,) = self.json_insertions(target)
        ours = json.dumps(nested(*insertion))
        return f"If it has comments, which are allowed there, add by hand: {ours}"

    def toml_headers(self, name: str, target: Target) -> str:
        """A table with our name."""
        return f"[{target.program.section}.{name}]\n"


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
    command = str(ours[NAME][0].get("command", "")) if ours else ""
    if ours and shutil.which(command) is None:
        state = f"installed, but {command or 'its command'} cannot be run from here"
    return EntryState(target.name, target.level, target.file, state)
