"""Candidates: statements found in a text that may be worth remembering, before any decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..types import Kind, Memory, Triple


@dataclass(frozen=True, slots=True)
class Advice:
    """A model's advice about a candidate and its reason; the write policy may override it."""

    action: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A self-contained statement and the exact words it rests on."""

    content: str
    quote: str
    source: str = ""
    """The id of the memory whose words these are."""
    kind: Kind = "fact"
    category: str = "general"
    confidence: float = 0.8
    triple: Triple | None = None
    author: str = ""
    """Who said it, where that is known."""
    advice: Advice | None = None


class Extractor(Protocol):
    """Finds candidates in turns. Each quote occurs verbatim in the text of its source."""

    def extract(self, turns: Sequence[Memory]) -> list[Candidate]:
        """Candidates of these turns in order; none if nothing durable was said."""


def grounded(candidate: Candidate, text: str) -> bool:
    """Whether the candidate's quote occurs in `text`; only white space may differ."""
    quote = " ".join(candidate.quote.split())
    return bool(quote) and quote in " ".join(text.split())


def as_candidate(memory: Memory) -> Candidate:
    """A memory as a candidate, so that the two can be compared."""
    return Candidate(
        content=memory.content,
        quote=memory.quote,
        kind=memory.kind,
        category=memory.category,
        confidence=memory.confidence,
        triple=memory.triple,
        author=memory.author,
    )
