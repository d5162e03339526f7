"""Why a memory was stored, and on what it rests; for a turn, also what of it was not stored, and
why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..storage.protocol import Store, rests_on
from ..types import Memories, Memory


@dataclass(frozen=True, slots=True)
class Decision:
    """What the write policy said: what to do, why, which policy it was, and when it was done."""

    action: str
    reason: str = ""
    version: str = ""
    timing: str = ""
    kind: str = ""
    category: str = ""


@dataclass(frozen=True, slots=True)
class Stored:
    """A memory with the decision about it, the words it rests on, and where they were said."""

    memory: Memory
    decision: Decision | None
    """None for what nobody had to decide about: it was told to be remembered, or imported."""
    quotes: tuple[str, ...]
    sources: Memories
    """What it was derived from, in the order in which it was said."""
    dropped: tuple[Decision, ...]
    """Of a turn: what was decided against, without the words."""

    @property
    def summary(self) -> str:
        """The same in one line."""
        if self.decision is None:
            origin = self.memory.source or self.memory.trust
            return f"No policy decided about it; it came from {origin}."
        timing = f" ({self.decision.timing})" if self.decision.timing else ""
        return f"{self.decision.action}: {self.decision.reason}{timing}"


def why_stored(store: Store, memory: Memory) -> Stored:
    """Why a memory was stored."""
    policy = memory.metadata.get("policy")
    sources = sorted(
        store.get([memory.scope], rests_on(store, memory)),
        key=lambda one: (one.event_time, one.seq),
    )
    quotes = memory.metadata.get("quotes") or ([memory.quote] if memory.quote else [])
    return Stored(
        memory,
        _decision(policy) if isinstance(policy, Mapping) and policy else None,
        tuple(map(str, quotes)),
        sources,
        tuple(
            _decision(one)
            for one in memory.metadata.get("decisions", ())
            if isinstance(one, Mapping)
        ),
    )


def _decision(told: Mapping[str, Any]) -> Decision:
    names = ("action", "reason", "version", "timing", "kind", "category")
    return Decision(**{name: str(told.get(name, "")) for name in names})
