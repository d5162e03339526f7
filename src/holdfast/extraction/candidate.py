"""Candidates: statements found in a text that may be worth remembering, before any decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..types import Kind, Memory, Triple

# Confidence below which a statement takes the place of nothing.
PLAINLY_SAID = 0.8
# Writers and models change the shape of these, and mean the same.
_MARKS = str.maketrans({**dict.fromkeys("’‘ʼ‚‛`´′", "'"), **dict.fromkeys("“”„‟«»″＂", '"')})


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
    replaces: Memory | None = None
    """The known memory that no longer holds because of it, as a model says."""


Changes = Callable[[Candidate, Memory, bool], bool]
"""Tells whether a statement of a turn, perhaps made in passing, ends something known."""


class Extractor(Protocol):
    """Finds candidates in turns. Each quote occurs verbatim in the text of its source."""

    def extract(self, turns: Sequence[Memory]) -> list[Candidate]:
        """Candidates of these turns in order; none if nothing durable was said."""


def grounded(candidate: Candidate, text: str) -> bool:
    """Whether the candidate's quote occurs in `text`; white space and the shape of apostrophes and
    quotation marks may differ.
    """
    return bool(quote_in(candidate.quote, text))


def quote_in(quote: str, text: str) -> str:
    """The words of `text` that a quote repeats, on one line as they stand there; empty if it says
    no such thing.
    """
    wanted = " ".join(quote.split())
    plain = " ".join(text.split())
    # Each mark is replaced by one character, so positions are the same.
    at = plain.translate(_MARKS).find(wanted.translate(_MARKS)) if wanted else -1
    return plain[at : at + len(wanted)] if at >= 0 else ""


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
