"""MCP clients and their configuration files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ... import config
from ...errors import InvalidInput

Level = Literal["user", "project"]
NAME = "holdfast"
"""What our entry is called."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client: its display name, the key of its servers, and its project file, if it has one."""

    title: str
    section: str
    project_file: str = ""
    typed: bool = False
    """Whether an entry says that the server is started."""
    afterwards: str = "Restart it, and the tools are there."


CLIENTS = {
    "claude-code": Client(
        "Claude Code",
        "mcpServers",
        ".mcp.json",
        typed=True,
        afterwards="/mcp in a new session shows it.",
    ),
    "claude-desktop": Client("Claude Desktop", "mcpServers"),
    "codex": Client(
        "Codex", "mcp_servers", ".codex/config.toml", afterwards="/mcp in a new session shows it."
    ),
    "cursor": Client("Cursor", "mcpServers", ".cursor/mcp.json"),
    "vscode": Client(
        "VS Code",
        "servers",
        ".vscode/mcp.json",
        typed=True,
        afterwards="MCP: List Servers in VS Code starts it.",
    ),
}


@dataclass(frozen=True, slots=True)
class Target:
    """A file in which a client looks for servers."""

    client: str
    level: Level
    file: Path

    @property
    def about(self) -> Client:
        """The client."""
        return CLIENTS[self.client]


def target(client: str, level: Level, project: Path) -> Target:
    """Return the configuration file of a client: the user's, or that of the project in a folder."""
    if client not in CLIENTS:
        raise InvalidInput(f"There is no client {client!r}. Use one of: {', '.join(CLIENTS)}.")
    if level == "user":
        return Target(client, level, _own_file(client))
    if not CLIENTS[client].project_file:
        raise InvalidInput(
            f"{CLIENTS[client].title} has no settings of a project. Leave --project out."
        )
    return Target(client, level, project / CLIENTS[client].project_file)


def levels(client: str) -> tuple[Level, ...]:
    """Return where a client can be configured."""
    return ("user", "project") if CLIENTS[client].project_file else ("user",)


def entry(of: Target, options: Sequence[str] = ()) -> dict[str, Any]:
    """Return the entry for a client. A project file is shared, so it contains no path."""
    command, *words = ("holdfast",) if of.level == "project" else config.program()
    kind = {"type": "stdio"} if of.about.typed else {}
    return {**kind, "command": command, "args": [*words, "mcp", *options]}


def _own_file(client: str) -> Path:
    environ = config.environment()
    home = Path.home()
    match client:
        case "claude-code":
            return Path(environ.get("CLAUDE_CONFIG_DIR") or home).expanduser() / ".claude.json"
        case "codex":
            return Path(environ.get("CODEX_HOME") or home / ".codex").expanduser() / "config.toml"
        case "cursor":
            return home / ".cursor" / "mcp.json"
        case "claude-desktop":
            return _programs_folder() / "Claude" / "claude_desktop_config.json"
        case _:
            return _programs_folder() / "Code" / "User" / "mcp.json"


def _programs_folder() -> Path:
    """Return the folder for settings of desktop programs."""
    environ = config.environment()
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
