"""Shared helpers of the tools: kind names of other systems, short memories, unknown ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...client import Holdfast
from ...errors import HoldfastError, InvalidInput
from ...types import KINDS as OURS
from ...types import Kind, Memories, Memory

Functions = list[Callable[..., dict[str, Any]]]
# Names of memory kinds in other systems.
KINDS: Mapping[str, tuple[Kind, ...]] = {
    "episode": ("turn", "episode"),
    "fact": ("fact",),
    "preference": ("fact",),
    "reflection": ("reflection",),
}
PREVIEW = 80


def kinds_of(kind: str | None) -> tuple[Kind, ...]:
    """Return our kinds for a name, theirs or ours; all for none. InvalidInput if unknown."""
    if kind is None:
        return ()
    found = KINDS.get(kind) or tuple(one for one in OURS if one == kind)
    if not found:
        raise InvalidInput(
            f"Unknown kind {kind!r}. Use one of: {', '.join(dict.fromkeys((*KINDS, *OURS)))}."
        )
    return found


def short(memory: Memory) -> dict[str, Any]:
    """Return a memory as tools show it."""
    kind = next((name for name, kinds in KINDS.items() if memory.kind in kinds), memory.kind)
    return {"id": memory.id, "kind": kind, "content": memory.content}


def preview(content: str) -> str:
    """Return the beginning of a text."""
    return content if len(content) <= PREVIEW else content[:PREVIEW] + "..."


def learned_from(hf: Holdfast, session: str) -> Memories:
    """Return the facts extracted from a conversation."""
    return [fact for fact in hf.list(kinds=["fact"]) if fact.metadata.get("session") == session]


def active(hf: Holdfast, ref: str) -> Memory | None:
    """Return the memory that an agent refers to; fail if it is inactive or does not exist."""
    try:
        memory = hf.get(ref)
    except HoldfastError:
        return None
    return memory if memory.status == "active" else None
