"""Extraction by a language model: one call per page of turns; ungrounded answers are dropped.

One call with a fixed answer format rather than an agent with tools: a small model can do it, it
costs one request, and code decides what is read, stored and marked as done. Malformed JSON is
repaired if possible; an element whose quote does not occur in its turn is dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..context.blocks import render_turn
from ..models.llm.chat import Complete
from ..models.llm.json_output import line, objects_in
from ..types import SURENESS, Memory, Triple
from .candidate import Advice, Candidate, grounded
from .prompts import prompt
from .vocabulary import Vocabulary, vocabulary

log = logging.getLogger(__name__)

MOST = 20  # candidates of one page
# Of a candidate for which a model gives none, or no number: plainly said.
DEFAULT_CONFIDENCE = 0.8


class LLMExtractor:
    """Asks a model what is worth remembering in a page of turns."""

    def __init__(
        self,
        complete: Complete,
        words: Vocabulary | None = None,
        history: Sequence[Memory] = (),
    ) -> None:
        """`words` is the vocabulary; `history` is earlier turns, shown as context only."""
        self._complete = complete
        self._history = history
        self._words = words or vocabulary("general")

    def extract(self, turns: Sequence[Memory]) -> list[Candidate]:
        """Candidates the model found and the turns support. Model errors propagate."""
        if not turns:
            return []
        answer = self._complete(self._asked(turns))
        found = [
            candidate
            for one in objects_in(answer)
            if (candidate := _candidate(one, turns)) is not None
        ]
        return found[:MOST]

    def _asked(self, turns: Sequence[Memory]) -> str:
        words = self._words
        open_ended = words.other_categories is not None
        listed = ", ".join(name for name in words.categories if name != "general")
        predicates = ", ".join(sorted(words.predicates - words.never))
        types = ", ".join(sorted(words.types))
        said = "".join(f"\n    {render_turn(turn)}" for turn in self._history)
        return prompt(
            "extract_facts",
            categories=f"one lower-case word such as {listed}"
            if open_ended
            else f"one of {listed}",
            predicates=f"one of {predicates}" if predicates else "in capitals such as LIVES_IN",
            types=f'; with "subject_type" and "object_type", each one of {types}' if types else "",
            history=f"\nSaid before, to understand the rest; find nothing in it:{said}\n"
            if said
            else "",
            turns="\n".join(render_turn(turn, number) for number, turn in enumerate(turns, 1)),
        )


def _candidate(element: Mapping[str, Any], turns: Sequence[Memory]) -> Candidate | None:
    content = line(element.get("content"))
    quote = line(element.get("quote"))
    turn = turn_with(quote, element.get("turn"), turns)
    if not content or turn is None:
        log.debug("dropped what the turns do not say: %r", element)
        return None
    return Candidate(
        content=content,
        quote=quote,
        source=turn.id,
        kind="rule" if element.get("kind") == "rule" else "fact",
        category=line(element.get("category")).lower() or "general",
        confidence=confidence(element.get("confidence")),
        triple=_triple(element),
        author=turn.author,
        advice=_advice(element),
    )


def _advice(element: Mapping[str, Any]) -> Advice | None:
    if element.get("safety_conflict") is True:
        return Advice("drop", "following it would keep somebody from being looked after")
    action = line(element.get("action")).lower()
    if action:
        return Advice(action, line(element.get("reason")))
    return None


def turn_with(
    quote: str,
    number: Any,
    turns: Sequence[Memory],
    said: Callable[[Memory], str] = lambda turn: turn.content,
) -> Memory | None:
    """The turn that contains the quote: the one named, or else any other.

    Models often give the wrong number.
    """
    likely = [turns[number - 1]] if isinstance(number, int) and 0 < number <= len(turns) else []
    probe = Candidate(content=quote, quote=quote)
    return next((turn for turn in (*likely, *turns) if grounded(probe, said(turn))), None)


def confidence(value: Any) -> float:
    """The model's stated confidence in [0, 1], from a number or a word."""
    if isinstance(value, str):
        return SURENESS.get(value.strip().casefold(), DEFAULT_CONFIDENCE)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return min(max(float(value), 0.0), 1.0)
    return DEFAULT_CONFIDENCE


def _triple(element: Mapping[str, Any]) -> Triple | None:
    subject, predicate, object_, subject_type, object_type = (
        line(element.get(key))
        for key in ("subject", "predicate", "object", "subject_type", "object_type")
    )
    if not (subject and predicate and object_):
        return None
    return Triple(
        subject,
        predicate.upper().replace(" ", "_"),
        object_,
        subject_type,
        object_type,
    )
