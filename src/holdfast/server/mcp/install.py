"""Our entry in the configuration of an MCP client: install, find, remove. Nothing else in the file
changes.

The new text is computed from the file alone, so uninstalling needs no backup: it restores the file,
or deletes it if there was none.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...coding_agents import json_edit
from ...coding_agents.config_files import Change, parse_toml, read
from ...errors import InvalidInput
from .clients import NAME, Target, entry

HEAD = "\n# Holdfast: long-term memory. `holdfast mcp uninstall codex` takes this out again.\n"


def plan_install(target: Target, options: Sequence[str] = ()) -> Change:
    """Return what installing would change; nothing if the entry exists. InvalidInput for a broken
    file.
    """
    before = read(target.file)
    return Change(target.file, before, with_ours(before, target, options))


def plan_uninstall(target: Target) -> Change:
    """Return what uninstalling would change; nothing without our entry."""
    before = read(target.file)
    return Change(target.file, before, without_ours(before, target))


def found(text: str | None, target: Target) -> dict[str, Any] | None:
    """Return our entry in the text of a file, if there is one; InvalidInput for an unexpected
    structure.
    """
    if text is None or not text.strip():
        return None
    section = target.about.section
    file = str(target.file)
    value = parse_toml(text, file) if _is_toml(target) else _parsed(text, target)
    servers = value.get(section, {}) if isinstance(value, dict) else None
    ours = servers.get(NAME, {}) if isinstance(servers, dict) else None
    if not isinstance(ours, dict):
        raise InvalidInput(
            f"{file} is not as {target.about.title} wants it: {section} is no object. Nothing "
            "was "
            "changed."
        )
    return ours or None


class Standing(NamedTuple):
    """State of our entry in one file of a client, in a few words."""

    client: str
    level: str
    file: Path
    state: str


def standing(target: Target) -> Standing:
    """Return the state of our entry: installed, not installed, or what is wrong."""
    try:
        ours = found(read(target.file), target)
    except InvalidInput as error:
        return Standing(target.client, target.level, target.file, f"cannot be told: {error}")
    command = str((ours or {}).get("command", ""))
    state = "not installed" if ours is None else "installed"
    if ours is not None and shutil.which(command) is None:
        state = f"installed, but {command or 'its command'} cannot be run from here"
    return Standing(target.client, target.level, target.file, state)


def _parsed(text: str, target: Target) -> Any:
    try:
        return json_edit.parse(text, str(target.file))
    except InvalidInput as error:
        # VS Code and others allow comments, which cannot be kept in place here.
        ours = json.dumps({target.about.section: {NAME: entry(target)}})
        raise InvalidInput(
            f"{error} If it has comments, which are allowed there, add by hand: {ours}"
        ) from error


def with_ours(text: str | None, target: Target, options: Sequence[str] = ()) -> str | None:
    """Return the text of a file with our entry, replacing an older one."""
    wanted = entry(target, options)
    if found(text, target) == wanted:
        return text
    text = without_ours(text, target)
    if _is_toml(target):
        return _longer(text or "", target, wanted)
    section = target.about.section
    if text is None or not text.strip():
        return (
            json.dumps({section: {NAME: wanted}}, indent=json_edit.INDENT, ensure_ascii=False)
            + "\n"
        )
    root = text.index("{")
    servers = json_edit.member(text, root, section)
    if servers is None:
        return json_edit.add(text, root, {NAME: wanted}, section)
    return json_edit.add(text, servers, wanted, NAME)


def without_ours(text: str | None, target: Target) -> str | None:
    """Return the text of a file without our entry; None if nothing else was in it and we created
    it.
    """
    ours = found(text, target)
    if text is None or ours is None:
        return text
    if _is_toml(target):
        return _shorter(text, target, ours)
    root = text.index("{")
    made_by_us = not json_edit.compact(text, root)
    servers = json_edit.member(text, root, target.about.section)
    assert servers is not None  # it was found there
    shorter = json_edit.prune(text, [(root, target.about.section), (servers, NAME)], ours_from=2)
    return None if made_by_us and shorter == "{}\n" else shorter


def _is_toml(target: Target) -> bool:
    return target.file.suffix == ".toml"


def _longer(text: str, target: Target, wanted: dict[str, Any]) -> str:
    longer = text + _table(target, wanted)
    if found(longer, target) != wanted:
        raise InvalidInput(
            f"The servers in {target.file} could not be added to. Nothing was changed."
        )
    return longer


def _shorter(text: str, target: Target, ours: dict[str, Any]) -> str | None:
    table = _table(target, ours)
    if table not in text:
        raise InvalidInput(
            f"The entry in {target.file} was rewritten, so taking it out could take more than "
            "that. Nothing was "
            f"changed. Delete the table [{target.about.section}.{NAME}] by hand."
        )
    return text.replace(table, "", 1) or None


def _table(target: Target, wanted: dict[str, Any]) -> str:
    # JSON's texts and lists of texts are TOML's too.
    values = "".join(
        f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in wanted.items()
    )
    return f"{HEAD}[{target.about.section}.{NAME}]\n{values}"
