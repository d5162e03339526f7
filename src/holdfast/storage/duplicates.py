"""Duplicates of new memories, found inside the transaction that stores them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..text.normal_forms import content_hash
from ..types import Memory
from .protocol import Transaction

Claim = tuple[Any, ...]
"""What must be equal for two memories to make the same claim."""


def claim(memory: Memory) -> Claim:
    """Return what must be equal for two memories to make the same claim."""
    return memory.scope, memory.kind, memory.category, memory.author, content_hash(memory.content)


def same_content(tx: Transaction, memories: Sequence[Memory]) -> dict[str, Memory]:
    """Map new memories to the oldest active one that makes the same claim, by id.

    Same claim means the same normalised text in the same scope, with equal kind, category and
    author. Turns are never duplicates: each utterance is kept.
    """
    found: dict[str, Memory] = {}
    twins = tx.same_words(memories)
    for memory in memories:
        for twin in twins.get(memory.id, ()):
            if twin.status == "active" and claim(twin) == claim(memory):
                found[memory.id] = twin
                break
    return found
