"""Source position of a memory, in the form that editors and compilers use."""

from __future__ import annotations

from ..types import Memory

BRANCH = "branch"
"""Metadata key of a turn on a branch: the conversation was continued from an earlier point."""


def read_in(memory: Memory) -> str:
    """Return file and lines that a memory was read from, such as `tickets/7.md:3-17`; empty if it
    was not read from a file.

    Marks a turn on an abandoned branch.
    """
    match memory.metadata.get("at"):
        case {"path": str(path), "lines": [int(first), int(last)]}:
            lines = f"{first}" if first == last else f"{first}-{last}"
            return f"{path}:{lines}{', abandoned branch' if memory.metadata.get(BRANCH) else ''}"
    return ""
