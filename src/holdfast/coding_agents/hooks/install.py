"""Our entries in a tool's own hook configuration: put in, found, taken out. Nothing else in the
file changes.

What is written is worked out from the text of the file alone, so taking it out needs no backup: it
gives the file as it was, and no file where there was none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ...errors import InvalidInput
from .. import json_edit, toml_edit
from ..config_files import Change, parse_toml, read
from .events import EVENTS, TIMEOUT, TOOLS
from .locations import Target, command

OURS = re.compile(r"holdfast[\"']?(?:\.exe[\"']?)? hook run (\w+)")


def plan_install(target: Target) -> Change:
    """What installing would do; nothing, when all our entries are there. InvalidInput for a file
    that is broken.
    """
    before = read(target.file)
    return Change(target.file, before, with_ours(before, target))


def plan_uninstall(target: Target) -> Change:
    """What uninstalling would do; nothing, when none of our entries is there."""
    before = read(target.file)
    return Change(target.file, before, without_ours(before, target))


def with_ours(text: str | None, target: Target) -> str | None:
    """The text of a file with our entries, those of other versions replaced."""
    wanted = entries_for(target)
    if found(text, target) == wanted:
        return text
    text = without_ours(text, target)
    if target.file.suffix == ".toml":
        return toml_edit.add(text or "", wanted, str(target.file))
    return _with(text, wanted)


def without_ours(text: str | None, target: Target) -> str | None:
    """The text of a file without our entries; None when nothing else was in it, and the file is one
    that we made.
    """
    if text is None or not (ours := found(text, target)):
        return text
    if target.file.suffix == ".toml":
        return toml_edit.take_out(text, ours, str(target.file))
    made_by_us = not json_edit.compact(text, text.index("{"))
    for event in EVENTS:
        while (shorter := _one_less(text, event)) is not None:
            text = shorter
    return None if made_by_us and text == "{}\n" else text


def entries_for(target: Target) -> dict[str, list[dict[str, Any]]]:
    """What we want a tool to run, by event."""
    return {
        event: [
            {
                "type": "command",
                "command": command(target.tool, target.level, event),
                "timeout": TIMEOUT,
            }
        ]
        for event in EVENTS
    }


def found(text: str | None, target: Target) -> dict[str, list[dict[str, Any]]]:
    """Those of our entries that are in the text of a file, by event."""
    return {event: ours for event, ours in _handlers(_hooks(text, target)) if ours}


def _hooks(text: str | None, target: Target) -> dict[str, Any]:
    """The hooks in a text by event; InvalidInput when they are not as the tool wants them."""
    if text is None or not text.strip():
        return {}
    file = target.file
    toml = target.file.suffix == ".toml"
    value = parse_toml(text, str(file)) if toml else json_edit.parse(text, str(file))
    hooks = value.get("hooks", {}) if isinstance(value, dict) else None
    if not isinstance(hooks, dict):
        raise InvalidInput(
            f"{file} is not as {TOOLS[target.tool]} wants it: {_shape(value)}. Nothing was changed."
        )
    for event, groups in hooks.items():
        if event in EVENTS and not isinstance(groups, list):
            raise InvalidInput(
                f"In {file} hooks.{event} is no list. Nothing was changed. Correct it and try "
                "again."
            )
    return hooks


def _shape(value: Any) -> str:
    return "hooks is no object" if isinstance(value, dict) else "it holds no object"


def _handlers(hooks: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Our own handlers, by event."""
    for event, groups in hooks.items():
        if event in EVENTS:
            yield (
                event,
                [handler for group in groups for handler in _of_group(group) if _is_ours(handler)],
            )


def _of_group(group: Any) -> list[Any]:
    handlers = group.get("hooks") if isinstance(group, dict) else None
    return handlers if isinstance(handlers, list) else []


def _is_ours(handler: Any) -> bool:
    return isinstance(handler, dict) and OURS.search(str(handler.get("command", ""))) is not None


def _with(text: str | None, wanted: dict[str, list[dict[str, Any]]]) -> str:
    if text is None or not text.strip():
        groups = {event: [{"hooks": handlers}] for event, handlers in wanted.items()}
        return json.dumps({"hooks": groups}, indent=json_edit.INDENT, ensure_ascii=False) + "\n"
    for event, handlers in wanted.items():
        root = text.index("{")
        hooks = json_edit.member(text, root, "hooks")
        if hooks is None:
            text = json_edit.add(text, root, {event: [{"hooks": handlers}]}, "hooks")
        elif (groups_at := json_edit.member(text, hooks, event)) is None:
            text = json_edit.add(text, hooks, [{"hooks": handlers}], event)
        else:
            text = json_edit.add(text, groups_at, {"hooks": handlers})
    return text


def _one_less(text: str, event: str) -> str | None:
    """`text` without one of our handlers, and without what it leaves empty; None when there is
    none.
    """
    root = text.index("{")
    hooks = json_edit.member(text, root, "hooks")
    groups = None if hooks is None else json_edit.member(text, hooks, event)
    if hooks is None or groups is None:
        return None
    for number, group in enumerate(json_edit.entries(text, groups)):
        at = json_edit.member(text, group.value, "hooks") if text[group.value] == "{" else None
        if at is None or text[at] != "[":
            continue
        for place, handler in enumerate(json_edit.entries(text, at)):
            if _is_ours(json.loads(text[handler.value : handler.end])):
                path: list[tuple[int, str | int]] = [
                    (root, "hooks"),
                    (hooks, event),
                    (groups, number),
                    (at, place),
                ]
                return json_edit.prune(text, path, ours_from=3)
    return None
