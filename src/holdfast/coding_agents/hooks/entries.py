"""Our hooks as entries in a coding agent's configuration."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from ... import config
from ...errors import InvalidInput
from ..installer import Entries
from ..json_edit import APPEND, Insertion, Path
from ..programs import Level, Target
from .events import TIMEOUT, dialect

# The program may be a quoted path, and on Windows end in .exe.
OURS = re.compile(r"holdfast[\"']?(?:\.exe[\"']?)? hook run (\w+)")
NAME = "holdfast"
# A plugin says in its first line whose it is, and further down what it runs.
_OUR_PLUGIN = re.compile(r"// Holdfast: (?s:.*?)^const PROGRAM = (\[.*\])$", re.MULTILINE)


class HookEntries:
    """One command per event: `hooks.EVENT` is a list of groups, each with a list of commands, or of
    commands.
    """

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
        """One command for each event; of a plugin, what it runs and which text does so."""
        if target.format == "js":
            return _run_by_plugin(self.plugin(target), target)
        spoken = dialect(target.name)
        kind = {"type": "command"} if spoken.grouped else {}
        limit = {"timeout": spoken.timeout} if spoken.timeout else {}
        return {
            name: [{**kind, "command": command(target.name, target.level, event), **limit}]
            for event, name in spoken.names.items()
        }

    def found(self, settings: dict[str, Any], target: Target) -> Entries:
        """Our commands by event; InvalidInput if the hooks are not as the agent wants them."""
        if target.format == "js":
            return _run_by_plugin(settings["text"], target)
        _check(settings, target)
        ours: Entries = {}
        for event, _, handler in _ours(settings, target):
            ours.setdefault(event, []).append(handler)
        return ours

    def json_paths(self, settings: dict[str, Any], target: Target) -> list[Path]:
        """Our commands; the whole group where it has no other."""
        return [path for _, path, _ in _ours(settings, target)]

    def json_insertions(self, target: Target) -> list[Insertion]:
        """A group of its own for each event, where the agent has groups."""
        grouped = dialect(target.name).grouped
        return [
            Insertion(("hooks", event, APPEND), {"hooks": [handler]} if grouped else handler)
            for event, (handler,) in self.wanted(target).items()
        ]

    def new_file(self, target: Target) -> str:
        """What a new file starts with."""
        return dialect(target.name).new_file

    def json_advice(self, target: Target) -> str:
        """Nothing: agents that run hooks allow no comments there, and five entries are too many."""
        del target
        return ""

    def plugin(self, target: Target) -> str:
        """Our plugin, with the program that it runs."""
        is_shared = target.level == "project"
        options = ["--tool", target.name, *(["--project"] if is_shared else [])]
        filled = {
            "PROGRAM": [NAME] if is_shared else [*config.program()],
            "OPTIONS": options,
            "TIMEOUT": TIMEOUT * 1000,
        }
        text = files(__package__).joinpath(f"{target.name}_plugin.js").read_text("utf-8")
        for slot, value in filled.items():
            text = text.replace(f"/*{slot}*/", json.dumps(value))
        return text

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
    for event in dialect(target.name).names.values():
        if not isinstance(hooks.get(event, []), list):
            raise InvalidInput(
                f"In {target.file} hooks.{event} is no list. Nothing was changed. Correct it and "
                "try again."
            )


def _ours(settings: dict[str, Any], target: Target) -> Iterator[tuple[str, Path, dict[str, Any]]]:
    """Our commands: event, the path of what goes with the command, and the command."""
    spoken = dialect(target.name)
    hooks = settings.get("hooks", {})
    for event in hooks:
        if event not in spoken.names.values():
            continue
        for place, entry in enumerate(hooks[event]):
            path: Path = ("hooks", event, place)
            group = entry.get("hooks") if spoken.grouped and isinstance(entry, dict) else [entry]
            handlers = group if isinstance(group, list) else []
            for number, handler in enumerate(handlers):
                if _is_ours(handler):
                    yield event, path if len(handlers) == 1 else (*path, "hooks", number), handler


def _is_ours(handler: Any) -> bool:
    return isinstance(handler, dict) and bool(OURS.search(str(handler.get("command", ""))))


def _run_by_plugin(text: str, target: Target) -> Entries:
    """What a plugin of ours runs, by event; nothing if it is not ours."""
    ours = _OUR_PLUGIN.match(text)
    if ours is None:
        return {}
    program = shlex.join(json.loads(ours[1]))
    version = hashlib.sha256(text.encode()).hexdigest()
    return {
        event: [{"command": f"{program} hook run {event}", "version": version}]
        for event in dialect(target.name).names
    }
