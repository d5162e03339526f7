"""Facts that may be an earlier and a later state of the same thing.

Where it is not certain that something changed, both facts stay and are linked. Whoever reads them
must see which one was said first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ..storage.protocol import Store
from ..types import Memory, iso

State = Literal["earlier", "later"]


def states(store: Store, memories: Iterable[Memory]) -> dict[str, State]:
    """Return, by id, which of these facts are the earlier or the later of two that stand."""
    found: dict[str, State] = {}
    for memory in memories:
        others = _others(store, memory) if memory.kind == "fact" else []
        if others:
            newest = max(one.event_time for one in others)
            found[memory.id] = "later" if memory.event_time >= newest else "earlier"
    return found


def _others(store: Store, memory: Memory) -> list[Memory]:
    """The active memories that say otherwise."""
    ids = [
        edge.target if edge.source == memory.id else edge.source
        for edge in store.edges(memory.scope, memory.id)
        if edge.relation == "conflicts_with"
    ]
    others = store.get([memory.scope], ids) if ids else []
    return [one for one in others if one.status == "active"]


def told(memory: Memory, state: State | None) -> tuple[str, ...]:
    """Return the state and the day of a fact, for its attribution; empty without a state."""
    return (state, iso(memory.event_time)[:10]) if state else ()
