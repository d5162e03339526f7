"""Import from and export to the file formats of other memory systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..client import Holdfast
from ..errors import InvalidInput, meant
from .importer import Format, take_in
from .langgraph import LANGGRAPH
from .letta import LETTA
from .mcp_memory import MCP_MEMORY
from .mem0 import MEM0
from .zep import ZEP

__all__ = ["FORMATS", "format_named", "take_in", "written"]

FORMATS: Mapping[str, Format] = {one.name: one for one in (MEM0, LANGGRAPH, MCP_MEMORY, LETTA, ZEP)}


def format_named(name: str, *, to_write: bool = False) -> Format:
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
