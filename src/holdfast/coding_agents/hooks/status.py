"""How hooks stand: what is installed where, whether it could run, and when it last did."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InvalidInput
from ...text.terminal import counted
from .. import installer
from ..programs import LEVELS, Level, hook_target, with_hooks
from . import log
from .entries import HOOKS
from .events import PROMPT, START, dialect

# Calls that are looked at to tell how often hooks are late: about a day of work.
RECENT = 50


@dataclass(frozen=True)
class Installed:
    """Our entries for one tool in one of its files."""

    tool: str
    level: Level
    file: Path
    events: tuple[str, ...]
    """Those that we are installed for, in the order in which they happen."""
    problem: str = ""
    """What keeps it from working, for people."""

    @property
    def state(self) -> str:
        """In a word or two: installed, partly, not installed, or cannot be told."""
        if self.problem and not self.events:
            return "cannot be told"
        return (
            "not installed"
            if not self.events
            else "installed"
            if self.events == _names(self.tool)
            else "partly"
        )


def installed(project: Path) -> list[Installed]:
    """How every tool stands, for the person and in the project in a folder."""
    return [_look(tool, level, project) for tool in with_hooks() for level in LEVELS]


def last_runs(tool: str) -> dict[str, Any]:
    """The last line of the log about a tool, by event."""
    last: dict[str, Any] = {}
    for entry in log.entries():
        if entry.get("tool") == tool:
            last.setdefault(str(entry.get("event", "")), entry)
    return last


class Lateness(NamedTuple):
    """How many of the last calls that wanted to be told something were answered late."""

    late: int
    of: int

    def __str__(self) -> str:
        return f"{self.late} of the last {counted(self.of, 'call')} answered late"

    @property
    def often(self) -> bool:
        """Whether that is more than a moment in which the machine was busy: one call in ten."""
        return self.late * 10 >= self.of > 0


def lateness(tool: str = "") -> Lateness:
    """How late hooks were lately, of one tool or of all."""
    calls = (
        one
        for one in log.entries()
        if one.get("event") in (START, PROMPT) and tool in ("", one.get("tool"))
    )
    recent = list(islice(calls, RECENT))
    return Lateness(sum(one.get("outcome") == "late" for one in recent), len(recent))


def _look(
    tool: str,
    level: Level,
    project: Path,
) -> Installed:
    there = hook_target(tool, level, project)
    try:
        ours = installer.installed(there, HOOKS)
    except InvalidInput as error:
        return Installed(tool, level, there.file, (), str(error))
    events = tuple(event for event in _names(tool) if event in ours)
    problem = _missing(ours) if events else ""
    if events and not problem and ours != HOOKS.wanted(there):
        problem = (
            f"its entries are not what this version writes: holdfast hook install {tool} --{level}"
        )
    return Installed(tool, level, there.file, events, problem)


def _names(tool: str) -> tuple[str, ...]:
    """What a tool calls the events that we are installed for."""
    return tuple(dialect(tool).names.values())


def _missing(ours: installer.Entries) -> str:
    """Which program of ours is not where the entries say; empty when all are."""
    for handlers in ours.values():
        for handler in handlers:
            words = shlex.split(str(handler["command"]))
            name = "holdfast" if words[0] == "command" else words[0]
            if shutil.which(name) is None:
                return f"{name} cannot be run from here"
    return ""
