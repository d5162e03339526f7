"""Candidates: what a text says that may be worth remembering, before anybody has decided that it
is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..types import Kind, Memory, Triple


@dataclass(frozen=True, slots=True)
class Advice:
    """What a model would do with a candidate, and why: advice that the write policy takes or
    clamps.
    """

    action: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement and the exact words it rests on. It can be understood on its own, whoever reads
    it.
    """

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
    """Finds candidates in what was said. Each quote occurs in the text of its source, word for
    word.
    """

    def extract(self, turns: Sequence[Memory]) -> list[Candidate]:
        """The candidates of these turns, in their order. Turns without anything durable yield
        none.
        """


def grounded(candidate: Candidate, text: str) -> bool:
    """Whether the candidate's words occur in a text; spacing does not count, everything else
    does.
    """
    quote = " ".join(candidate.quote.split())
    return bool(quote) and quote in " ".join(text.split())


def as_candidate(memory: Memory) -> Candidate:
    """What a memory says, as a candidate says it."""
    return Candidate(
        content=memory.content,
        quote=memory.quote,
        kind=memory.kind,
        category=memory.category,
        confidence=memory.confidence,
        triple=memory.triple,
        author=memory.author,
    )
