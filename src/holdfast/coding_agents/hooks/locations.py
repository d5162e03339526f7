"""Where the tools keep their hooks: for one person or in a project, as JSON or as TOML."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal, NamedTuple

from ... import config
from .events import TOOLS

Level = Literal["user", "project"]
LEVELS: tuple[Level, ...] = ("user", "project")
# The folder of each tool, the variable that moves the person's own, and its files, the usual one
# first.
HOMES = {
    "claude-code": (".claude", "CLAUDE_CONFIG_DIR", ("settings.json",)),
    "codex": (".codex", "CODEX_HOME", ("hooks.json", "config.toml")),
}


class Target(NamedTuple):
    """A file in which a tool looks for hooks."""

    tool: str
    level: Level
    file: Path

    @property
    def name(self) -> str:
        """What it is, for people."""
        return (
            f"{TOOLS[self.tool]}, "
            f"{'every project of yours' if self.level == 'user' else 'this project'}"
        )


def target(tool: str, level: Level, project: Path) -> Target:
    """The file for hooks of a tool: that of the person, or that of the project in the folder
    `project`.
    """
    usual, *others = files(tool, level, project)
    if usual.exists():
        return Target(tool, level, usual)
    # Codex reads both, and complains about hooks in both.
    return Target(tool, level, next((other for other in others if _has_hooks(other)), usual))


def files(tool: str, level: Level, project: Path) -> list[Path]:
    """Every file in which a tool looks for hooks of that level, the usual one first."""
    folder, variable, names = HOMES[tool]
    moved = config.environment().get(variable)
    home = Path(moved).expanduser() if moved else Path.home() / folder
    return [(home if level == "user" else project / folder) / name for name in names]


def _has_hooks(file: Path) -> bool:
    """Whether a config.toml defines hooks of its own; in `hooks.state` Codex only notes which ones
    it may run.
    """
    try:
        hooks = tomllib.loads(file.read_text("utf-8")).get("hooks", {})
    except (OSError, ValueError):
        return False
    return isinstance(hooks, dict) and any(name != "state" for name in hooks)


def installed_for_person(tool: str) -> bool:
    """Whether the person's own configuration runs our hooks in every project, this one too."""
    for file in files(tool, "user", Path()):
        try:
            if b" hook run " in file.read_bytes():
                return True
        except OSError:
            continue
    return False


def command(tool: str, level: Level, event: str) -> str:
    """What a tool is to run for an event.

    A person's own file names the program by its path, which needs no PATH. A project's file is for
    everybody who has it: where Holdfast is not installed nothing happens, and who has hooks of
    their own is not told everything twice.
    """
    call = f"hook run {event} --tool {tool}"
    if level == "project":
        return f"command -v holdfast >/dev/null && holdfast {call} --project || true"
    # Only who installs needs it, and every hook loads this file.
    import shlex  # noqa: PLC0415

    return f"{shlex.join(config.program())} {call}"
