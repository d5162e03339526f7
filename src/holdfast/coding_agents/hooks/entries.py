"""Our hooks as entries in a coding agent's configuration."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from ... import config
from ...errors import InvalidInput
from ..installer import Entries
from ..json_edit import APPEND, Insertion, Path
from ..programs import Level, Target
from .events import EVENTS, TIMEOUT

# The program may be a quoted path, and on Windows end in .exe.
OURS = re.compile(r"holdfast[\"']?(?:\.exe[\"']?)? hook run (\w+)")


class HookEntries:
    """One command per event: `hooks.EVENT` is a list of groups, each with a list of commands."""

    noun = "hooks"
    toml_comment = (
        "# Holdfast: memory for this agent. `holdfast hook uninstall codex` takes these entries "
        "out again."
    )
    toml_advice = (
        "Write them as [[hooks.EVENT]] tables, or move them to a hooks.json beside it, and try "
        "again."
    )

    def wanted(self, target: Target) -> Entries:
        """One command for each event."""
        return {
            event: [
                {
                    "type": "command",
                    "command": command(target.name, target.level, event),
                    "timeout": TIMEOUT,
                }
            ]
            for event in EVENTS
        }

    def found(self, settings: dict[str, Any], target: Target) -> Entries:
        """Our commands by event; InvalidInput if the hooks are not as the agent wants them."""
        _check(settings, target)
        ours: Entries = {}
        for event, _, handlers, number in _ours(settings):
            ours.setdefault(event, []).append(handlers[number])
        return ours

    def json_paths(self, settings: dict[str, Any], target: Target) -> list[Path]:
        """Our commands; the whole group where it has no other."""
        # They are in the same place for each agent.
        del target
        paths = list[Path]()
        for event, group, handlers, number in _ours(settings):
            whole: Path = ("hooks", event, group)
            paths.append(whole if len(handlers) == 1 else (*whole, "hooks", number))
        return paths

    def json_insertions(self, target: Target) -> list[Insertion]:
        """A group of its own for each event."""
        wanted = self.wanted(target)
        return [
            Insertion(("hooks", event, APPEND), {"hooks": handlers})
            for event, handlers in wanted.items()
        ]

    def json_advice(self, target: Target) -> str:
        """Nothing: agents that run hooks allow no comments there, and five entries are too many."""
        del target
        return ""

    def toml_headers(self, name: str, target: Target) -> str:
        """A group with one command."""
        del target
        return f"\n[[hooks.{name}]]\n[[hooks.{name}.hooks]]\n"


HOOKS = HookEntries()


def command(
    tool: str,
    level: Level,
    event: str,
) -> str:
    """What an agent runs for an event.

    A user's own file names the program by its path, which needs no PATH. A project's file is
    shared: where Holdfast is not installed nothing happens, and a user who has hooks of their own
    is not told everything twice.
    """
    call = f"hook run {event} --tool {tool}"
    if level == "project":
        return f"command -v holdfast >/dev/null && holdfast {call} --project || true"
    return f"{shlex.join(config.program())} {call}"


def _check(settings: dict[str, Any], target: Target) -> None:
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise InvalidInput(
            f"{target.file} is not as {target.program.title} wants it: hooks is no object. "
            "Nothing was changed."
        )
    for event in EVENTS:
        if not isinstance(hooks.get(event, []), list):
            raise InvalidInput(
                f"In {target.file} hooks.{event} is no list. Nothing was changed. Correct it and "
                "try again."
            )


def _ours(settings: dict[str, Any]) -> Iterator[tuple[str, int, list[Any], int]]:
    """Our commands: event, number of the group, its commands, and which of them is ours."""
    for event, groups in settings.get("hooks", {}).items():
        if event not in EVENTS:
            continue
        for place, group in enumerate(groups):
            handlers = group.get("hooks") if isinstance(group, dict) else None
            if not isinstance(handlers, list):
                continue
            for number, handler in enumerate(handlers):
                if isinstance(handler, dict) and OURS.search(str(handler.get("command", ""))):
                    yield event, place, handlers, number
