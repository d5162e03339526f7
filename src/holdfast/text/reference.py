"""Where a memory was read, told the way that editors and compilers do."""

from __future__ import annotations

from ..types import Memory

BRANCH = "branch"
"""What the metadata of a turn has where the conversation was continued from somewhere else."""


def read_in(memory: Memory) -> str:
    """The file and the lines that a memory was read in, such as `tickets/7.md:3-17`; empty for one
    that was not.

    Of a turn on a branch that was abandoned it says so.
    """
    match memory.metadata.get("at"):
        case {"path": str(path), "lines": [int(first), int(last)]}:
            lines = f"{first}" if first == last else f"{first}-{last}"
            return f"{path}:{lines}{', abandoned branch' if memory.metadata.get(BRANCH) else ''}"
    return ""
