"""Duplicates of new memories, found inside the transaction that stores them."""

from __future__ import annotations

from collections.abc import Sequence

from ..types import Memory
from .protocol import Transaction
from .schema import claim


def same_content(tx: Transaction, memories: Sequence[Memory]) -> dict[str, Memory]:
    """For the ids of these new memories, the oldest active one that makes the same claim, where
    there is one.

    That is the same normalised text in the same scope, of the same kind, category and author.
    Turns make no claims: they are there as often as they were said.
    """
    found: dict[str, Memory] = {}
    twins = tx.same_words(memories)
    for memory in memories:
        for twin in twins.get(memory.id, ()):
            if twin.status == "active" and claim(twin) == claim(memory):
                found[memory.id] = twin
                break
    return found
