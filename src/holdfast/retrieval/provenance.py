"""Why a memory was stored and from which sources; for a turn, also what was not stored and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..storage.protocol import Store, rests_on
from ..types import Memories, Memory


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision of the write policy: action, reason, policy version and timing."""

    action: str
    reason: str = ""
    version: str = ""
    timing: str = ""
    kind: str = ""
    category: str = ""


@dataclass(frozen=True, slots=True)
class Stored:
    """A memory with its decision, its quotes and its sources."""

    memory: Memory
    decision: Decision | None
    """None if no policy decided: it was remembered explicitly, or imported."""
    quotes: tuple[str, ...]
    sources: Memories
    """The memories it was derived from, in the order they were said."""
    dropped: tuple[Decision, ...]
    """For a turn: candidates that were rejected, without their text."""

    @property
    def summary(self) -> str:
        """The decision in one line."""
        if self.decision is None:
            origin = self.memory.source or self.memory.trust
            return f"No policy decided about it; it came from {origin}."
        timing = f" ({self.decision.timing})" if self.decision.timing else ""
        return f"{self.decision.action}: {self.decision.reason}{timing}"


def why_stored(store: Store, memory: Memory) -> Stored:
    """Return the decision and the sources of a memory."""
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
