"""Observer of an answer, apart from the agent: a screen needs it before the agent has loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Watcher:
    """Observer of an answer in progress: text as it arrives, and tool calls."""

    text: Callable[[str], None] = lambda piece: None
    tool: Callable[[str, str], None] = lambda name, arguments: None
