"""The programs whose configuration Holdfast can change, and where each keeps it. A new program is
one entry of `PROGRAMS`.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Literal, NamedTuple

from .. import config
from ..errors import InvalidInput, meant

Level = Literal["user", "project"]
LEVELS: tuple[Level, ...] = ("user", "project")
# Stand for the folder in which desktop programs keep their settings, which depends on the system,
# and for the one that command line programs share.
DESKTOP = "DESKTOP"
CONFIG = "CONFIG"
Shape = Literal["plain", "typed", "opencode", "goose"]


class Files(NamedTuple):
    """Where a program looks for one kind of entry. Of several names the usual one comes first."""

    user_folder: str
    names: tuple[str, ...] = ()
    """Relative to the user's folder; empty if the program has no user configuration."""
    project: tuple[str, ...] = ()
    """Relative to the project's folder; empty if the program has no project configuration."""
    variable: str = ""
    """The environment variable that moves the user's folder."""
    windows: str = ""
    """The user's folder on Windows, where it is another one."""


class Program(NamedTuple):
    """A program: its display name, and the files for its MCP servers and for its hooks."""

    title: str
    servers: Files
    section: str = "mcpServers"
    """The key of the MCP servers; a dot for a key inside a key."""
    shape: Shape = "plain"
    """How the entry of an MCP server is written."""
    comments: bool = False
    """Whether its JSON may have comments and trailing commas."""
    after_server: str = "Restart it, and the tools are there."
    """What a person does after the MCP server was installed."""
    hooks: Files | None = None
    after_hooks: str = ""
    """What a person does after the hooks were installed."""


OPENCODE = ("opencode.json", "opencode.jsonc")
PROGRAMS = {
    "claude-code": Program(
        "Claude Code",
        servers=Files("~", (".claude.json",), (".mcp.json",), "CLAUDE_CONFIG_DIR"),
        shape="typed",
        after_server="/mcp in a new session shows it.",
        hooks=Files(
            "~/.claude", ("settings.json",), (".claude/settings.json",), "CLAUDE_CONFIG_DIR"
        ),
        after_hooks="Sessions that start from now on use it; /hooks in Claude Code shows it.",
    ),
    "claude-desktop": Program(
        "Claude Desktop", servers=Files(f"{DESKTOP}/Claude", ("claude_desktop_config.json",))
    ),
    "codex": Program(
        "Codex",
        servers=Files("~/.codex", ("config.toml",), (".codex/config.toml",), "CODEX_HOME"),
        section="mcp_servers",
        after_server="/mcp in a new session shows it.",
        hooks=Files(
            "~/.codex",
            ("hooks.json", "config.toml"),
            (".codex/hooks.json", ".codex/config.toml"),
            "CODEX_HOME",
        ),
        after_hooks=(
            "Codex runs a hook after you have looked at it: start Codex, type /hooks and trust "
            "these."
        ),
    ),
    "cursor": Program(
        "Cursor",
        servers=Files("~/.cursor", ("mcp.json",), (".cursor/mcp.json",)),
        hooks=Files("~/.cursor", ("hooks.json",), (".cursor/hooks.json",)),
        after_hooks="Cursor reads it when it is saved; the settings of Cursor list it under Hooks.",
    ),
    "gemini-cli": Program(
        "Gemini CLI",
        servers=Files("~/.gemini", ("settings.json",), (".gemini/settings.json",)),
        after_server="/mcp in a new session shows it.",
        hooks=Files("~/.gemini", ("settings.json",), (".gemini/settings.json",)),
        after_hooks="Sessions that start from now on use it; /hooks panel shows it.",
    ),
    "vscode": Program(
        "VS Code",
        servers=Files(f"{DESKTOP}/Code/User", ("mcp.json",), (".vscode/mcp.json",)),
        section="servers",
        shape="typed",
        comments=True,
        after_server="MCP: List Servers in VS Code starts it.",
    ),
    "windsurf": Program(
        "Windsurf",
        servers=Files("~/.codeium/windsurf", ("mcp_config.json",)),
        after_server="Press the refresh button of the MCP servers in Cascade.",
    ),
    "zed": Program(
        "Zed",
        servers=Files(f"{CONFIG}/zed", ("settings.json",), windows=f"{DESKTOP}/Zed"),
        section="context_servers",
        comments=True,
        after_server="The settings of the Agent Panel show it.",
    ),
    "opencode": Program(
        "OpenCode",
        servers=Files(f"{CONFIG}/opencode", OPENCODE, OPENCODE),
        section="mcp.servers",
        shape="opencode",
        comments=True,
        after_server="`opencode mcp list` shows it.",
        # opencode runs no commands; a plugin of ours does it.
        hooks=Files(
            f"{CONFIG}/opencode", ("plugins/holdfast.js",), (".opencode/plugins/holdfast.js",)
        ),
        after_hooks="Start opencode anew: it loads plugins when it starts.",
    ),
    "goose": Program(
        "goose",
        servers=Files(f"{CONFIG}/goose", ("config.yaml",), windows=f"{DESKTOP}/Block/goose/config"),
        section="extensions",
        shape="goose",
        after_server="Sessions that start from now on have it.",
    ),
    "continue": Program(
        "Continue",
        servers=Files(
            "~/.continue",
            ("mcpServers/mcp.json",),
            (".continue/mcpServers/mcp.json",),
            "CONTINUE_GLOBAL_DIR",
        ),
        comments=True,
        after_server="Its agent mode has the tools.",
    ),
    "cline": Program(
        "Cline",
        servers=Files("~/.cline", ("data/settings/cline_mcp_settings.json",), (), "CLINE_DIR"),
        after_server="Its MCP servers show it.",
    ),
    "lm-studio": Program(
        "LM Studio",
        servers=Files("~/.lmstudio", ("mcp.json",)),
        after_server="Switch it on in a chat, under Integrations.",
    ),
    "antigravity": Program(
        "Antigravity",
        servers=Files("~/.gemini/config", ("mcp_config.json",), (".agents/mcp_config.json",)),
        after_server="/mcp in a new session shows it.",
    ),
    "mcp-json": Program(
        "the portable .mcp.json",
        servers=Files("", (), (".mcp.json",)),
        shape="typed",
        after_server="Clients that read a project's .mcp.json have it from the next session on.",
    ),
}


class Target(NamedTuple):
    """One configuration file of a program."""

    name: str
    level: Level
    file: Path

    @property
    def program(self) -> Program:
        """The program that reads the file."""
        return PROGRAMS[self.name]

    @property
    def format(self) -> Literal["json", "toml", "yaml", "js"]:
        """The language of the file; JavaScript is a plugin, and all of it is ours."""
        known = {".toml": "toml", ".yaml": "yaml", ".js": "js"}
        return known.get(self.file.suffix, "json")  # type: ignore[return-value]


def hook_target(
    name: str,
    level: Level,
    project: Path,
) -> Target:
    """The file for hooks of a program: the user's, or that of the project in a folder."""
    usual, *others = hook_files(name, level, project)
    if usual.exists():
        return Target(name, level, usual)
    # Codex reads both files, and complains about hooks in both.
    return Target(name, level, next((other for other in others if _has_hooks(other)), usual))


def hook_files(
    name: str,
    level: Level,
    project: Path,
) -> list[Path]:
    """Every file in which a program looks for hooks of that level, the usual one first."""
    hooks = PROGRAMS[name].hooks if name in PROGRAMS else None
    if hooks is None:
        raise InvalidInput(
            f"There are no hooks for {name!r}.{meant(name, with_hooks())} Use one of: "
            f"{', '.join(with_hooks())}."
        )
    return _paths(hooks, level, project)


def with_hooks() -> list[str]:
    """The names of the programs that run hooks."""
    return [name for name, program in PROGRAMS.items() if program.hooks]


def runs_our_hooks(name: str) -> bool:
    """Whether the user's own configuration runs our hooks in every project."""
    for file in hook_files(name, "user", Path()):
        try:
            # A hook asks, and has little time: the words are enough, the file is not parsed.
            if b" hook run " in file.read_bytes():
                return True
        except OSError:
            continue
    return False


def server_target(
    name: str,
    level: Level,
    project: Path,
) -> Target:
    """The file for MCP servers of a program: the user's, or that of the project in a folder."""
    if level not in server_levels(name):
        raise InvalidInput(
            f"{PROGRAMS[name].title} has no settings of a {level}. "
            f"{'Leave --project out.' if level == 'project' else 'Use --project.'}"
        )
    usual, *others = _paths(PROGRAMS[name].servers, level, project)
    file = next((one for one in (usual, *others) if one.exists()), usual)
    return Target(name, level, file)


def server_levels(name: str) -> tuple[Level, ...]:
    """Where the MCP servers of a program can be configured, the usual place first."""
    if name not in PROGRAMS:
        raise InvalidInput(f"There is no client {name!r}. Use one of: {', '.join(PROGRAMS)}.")
    files = PROGRAMS[name].servers
    return tuple(level for level in LEVELS if (files.names if level == "user" else files.project))


def _paths(
    files: Files,
    level: Level,
    project: Path,
) -> list[Path]:
    if level == "project":
        return [project / name for name in files.project]
    moved = config.environment().get(files.variable) if files.variable else ""
    usual = files.windows if files.windows and sys.platform == "win32" else files.user_folder
    return [_user_folder(moved or usual) / name for name in files.names]


def _user_folder(folder: str) -> Path:
    if folder.startswith(DESKTOP):
        return _desktop_folder() / folder.removeprefix(f"{DESKTOP}/")
    if folder.startswith(CONFIG):
        return _config_folder() / folder.removeprefix(f"{CONFIG}/")
    return Path(folder).expanduser()


def _desktop_folder() -> Path:
    """The folder in which desktop programs keep their settings."""
    environ = config.environment()
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    return _config_folder()


def _config_folder() -> Path:
    """The folder in which command line programs keep their settings, on macOS too."""
    return Path(config.environment().get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _has_hooks(file: Path) -> bool:
    """Whether a config.toml defines hooks of its own; in `hooks.state` Codex only notes which ones
    it may run.
    """
    try:
        hooks = tomllib.loads(file.read_text("utf-8")).get("hooks", {})
    except (OSError, ValueError):
        return False
    return isinstance(hooks, dict) and any(name != "state" for name in hooks)
