"""Erasure in the hook log: lines about a session, project or memory that is gone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from .. import config
from ..storage.connect import location_of
from ..storage.store_types import ErasureTarget
from ..text.terminal import counted
from ..types import Scope
from .receipt import Receipt
from .target import Target

Line = dict[str, Any]
# Scope kinds that identify a person.
PERSONAL = ("user", "assistant")


def erase_from_log(
    scope: Scope,
    target: Target,
    receipt: Receipt,
) -> ErasureTarget | None:
    """Remove the target of an erasure from the hook log; None if the log has nothing about it.

    Lines about an erased session or project are deleted; in other lines only the ids of erased
    memories are.
    """
    if receipt.store != location_of(config.load().store or config.default_store()):
        # Hooks use another store, so their log is about that one.
        return None
    gone = {item.id for item in receipt.items}
    is_gone = _is_gone(scope, target)
    try:
        changed = sum(_rewritten(file, is_gone, gone) for file in config.hook_logs())
    except OSError as error:
        return ErasureTarget(
            "hook log",
            "pending",
            f"{config.hook_logs()[0]}: {error.strerror}. Delete it.",
        )
    return (
        ErasureTarget("hook log", "clean", f"{counted(changed, 'line')} erased.")
        if changed
        else None
    )


def _is_gone(scope: Scope, target: Target) -> Callable[[Line], bool]:
    """Decides which lines to delete."""
    # The log belongs to the user at the keyboard: erasing that owner erases all of it.
    everything = target.owner and scope.kind in PERSONAL and scope.key == config.login()
    project = target.owner and scope.kind == "project"

    def is_gone(line: Line) -> bool:
        if everything:
            return True
        if project:
            # A hook that was late or had nothing to do does not log its project, so the line may be
            # about this one.
            return bool(line.get("project", scope.key) == scope.key)
        return target.session is not None and line.get("session") == target.session

    return is_gone


def _rewritten(
    file: Path,
    is_gone: Callable[[Line], bool],
    gone: Collection[str],
) -> int:
    """Rewrite a log file without the erased data; return the number of changed lines."""
    try:
        before = file.read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return 0
    after = list(_kept(before, is_gone, gone))
    changed = len(before) - len(set(before) & set(after)) if before != after else 0
    if before != after:
        _replace(file, "".join(f"{line}\n" for line in after))
    return changed


def _kept(
    lines: list[str],
    is_gone: Callable[[Line], bool],
    gone: Collection[str],
) -> Iterator[str]:
    for text in lines:
        try:
            line = json.loads(text)
        except ValueError:
            # A truncated line: its owner is unknown, and nothing reads it.
            continue
        if not isinstance(line, dict) or is_gone(line):
            continue
        ids = line.get("ids") or []
        left = [one for one in ids if one not in gone]
        yield text if left == ids else json.dumps({**line, "ids": left})


def _replace(file: Path, text: str) -> None:
    """Replace the file atomically. A line that a hook appends meanwhile may be lost."""
    fresh = file.with_name(f"{file.name}.new")
    try:
        # The log names projects and sessions, so only its owner may read it.
        out = os.open(fresh, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(out, "w", encoding="utf-8") as writing:
            writing.write(text)
        fresh.replace(file)
    finally:
        with suppress(FileNotFoundError):
            fresh.unlink()
