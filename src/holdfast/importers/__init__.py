"""Import from and export to the file formats of other memory systems.

`IMPORTERS` is the registry of everything that `holdfast import` understands: bundles, sessions of
coding agents, exports of chats, and files of other memories. The first importer that recognises a
file reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..client import Holdfast
from ..errors import InvalidInput, meant
from ..transcripts import READERS, Importer
from .bundle_file import BUNDLE
from .chatgpt_memory import CHATGPT_MEMORY
from .claude_memory import CLAUDE_MEMORY
from .cognee import COGNEE
from .hindsight import HINDSIGHT
from .langgraph import LANGGRAPH
from .letta import LETTA
from .mcp_memory import MCP_MEMORY
from .mem0 import MEM0
from .memory_file import MemoryFile
from .mempalace import MEMPALACE
from .store_items import take_in
from .zep import ZEP

__all__ = [
    "BUNDLE",
    "FORMATS",
    "IMPORTERS",
    "MemoryFile",
    "format_named",
    "importer_for",
    "take_in",
    "written",
]

FORMATS: Mapping[str, MemoryFile] = {
    one.name: one
    for one in (
        MEM0,
        LANGGRAPH,
        MCP_MEMORY,
        LETTA,
        ZEP,
        HINDSIGHT,
        COGNEE,
        MEMPALACE,
        CHATGPT_MEMORY,
        CLAUDE_MEMORY,
    )
}
"""Files of other memories, by their names."""
IMPORTERS: tuple[Importer[Any], ...] = (BUNDLE, *READERS, *FORMATS.values())


def importer_for(path: Path) -> Importer[Any] | None:
    """The importer that reads a file, or None if its format is unknown."""
    if not path.is_file():
        return None
    return next((one for one in IMPORTERS if one.recognises(path)), None)


def format_named(name: str, *, to_write: bool = False) -> MemoryFile:
    """The format of this name; InvalidInput names those that there are."""
    known = {one.name: one for one in FORMATS.values() if one.write or not to_write}
    if name not in known:
        otherwise = (
            "" if to_write else " Past sessions of coding agents need none: holdfast import FILE"
        )
        raise InvalidInput(
            f"There is no format {name!r}.{meant(name, known)} There are: "
            f"{', '.join(known)}.{otherwise}"
        )
    return known[name]


def written(hf: Holdfast, name: str) -> Iterator[str]:
    """The lines of a file in this format with the active memories of these scopes, oldest first."""
    write = format_named(name, to_write=True).write
    assert write is not None
    kinds = ("fact", "rule", "skill", "reflection", "episode")
    return write(hf.list(kinds=kinds)[::-1])
