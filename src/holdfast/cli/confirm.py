"""Changes to files of other programs: shown as a difference, asked about, then made."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import unified_diff
from typing import TYPE_CHECKING

from ..text.terminal import plain
from .app import confirmed

if TYPE_CHECKING:
    from ..coding_agents.config_files import Change


def agreed(changes: Sequence[Change], question: str, *, yes: bool) -> bool:
    """Shows the changes, asks, and makes them; whether they were made."""
    from ..coding_agents.config_files import put

    for change in changes:
        print(_difference(change))
    sys.stdout.flush()
    if not confirmed(question, yes=yes):
        print("Nothing was changed.")
        return False
    for change in changes:
        put(change)
    return True


def _difference(change: Change) -> str:
    name = str(change.file)
    before, after = ((text or "").splitlines() for text in (change.before, change.after))
    lines = unified_diff(
        list(before),
        list(after),
        name if change.before is not None else "(no file)",
        name if change.after is not None else "(no file)",
        lineterm="",
    )
    return "\n".join(plain(line) for line in lines)
