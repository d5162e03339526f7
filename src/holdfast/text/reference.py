"""Where a memory was read, told the way that editors and compilers do."""

from __future__ import annotations

from ..types import Memory


def read_in(memory: Memory) -> str:
    """The file and the lines that a memory was read in, such as `tickets/7.md:3-17`; empty for one that was not."""
    match memory.metadata.get("at"):
        case {"path": str(path), "lines": [int(first), int(last)]}:
            return f"{path}:{first}" if first == last else f"{path}:{first}-{last}"
    return ""
