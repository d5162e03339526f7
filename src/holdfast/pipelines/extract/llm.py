"""Extraction by a language model: one call for each page of turns, and nothing believed that the turns do not say.

One call with a fixed answer, rather than an agent with tools: a small model manages it, it costs one request, and
what is read, stored and ticked off is decided by code. An answer that is not quite JSON is mended where that is
possible; an element whose quote does not occur in its turn is dropped.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...models.chat import Complete
from ...text.fences import neutralise
from ...types import Memory, Triple
from ...write.candidates import Advice, Candidate, grounded
from ...write.vocabulary import Vocabulary, vocabulary
from ..prompts import prompt

log = logging.getLogger(__name__)

MOST = 20  # candidates of one page
DEFAULT_CONFIDENCE = 0.8
_OBJECT = re.compile(r"\{[^{}]*\}", re.DOTALL)
_TRAILING_COMMA = re.compile(r",\s*(?=[}\]])")


class LLMExtractor:
    """Asks a model for what is worth remembering of a page of turns."""

    def __init__(self, complete: Complete, words: Vocabulary | None = None, history: Sequence[Memory] = ()) -> None:
        """`words` are those to remember in; `history` is what was said before, shown but not read."""
        self._complete, self._history = complete, history
        self._words = words or vocabulary("general")

    def extract(self, turns: Sequence[Memory]) -> list[Candidate]:
        """The candidates that the model found and the turns bear out; what the model raises is raised."""
        if not turns:
            return []
        answer = self._complete(self._asked(turns))
        found = [candidate for one in elements(answer) if (candidate := _candidate(one, turns)) is not None]
        return found[:MOST]

    def _asked(self, turns: Sequence[Memory]) -> str:
        words = self._words
        open_ended = words.other_categories is not None
        listed = ", ".join(name for name in words.categories if name != "general")
        predicates = ", ".join(sorted(words.predicates - words.never))
        types = ", ".join(sorted(words.types))
        said = "".join(f"\n    {line.partition('] ')[2]}" for line in _told(self._history))
        return prompt(
            "extract_facts",
            categories=f"one lower-case word such as {listed}" if open_ended else f"one of {listed}",
            predicates=f"one of {predicates}" if predicates else "in capitals such as LIVES_IN",
            types=f'; with "subject_type" and "object_type", each one of {types}' if types else "",
            history=f"\nSaid before, to understand the rest; find nothing in it:{said}\n" if said else "",
            turns="\n".join(_told(turns)),
        )


def _told(turns: Sequence[Memory]) -> Iterator[str]:
    for number, turn in enumerate(turns, start=1):
        yield f"[{number}] {turn.author or turn.role or 'somebody'}: {neutralise(turn.content)}"


def elements(answer: str) -> list[Mapping[str, Any]]:
    """The JSON objects of an answer, whatever stands around them and however it was cut off."""
    text = _TRAILING_COMMA.sub("", answer)
    start, end = text.find("["), text.rfind("]")
    if 0 <= start < end:
        try:
            whole = json.loads(text[start : end + 1])
            return [one for one in whole if isinstance(one, dict)]
        except (ValueError, RecursionError):
            pass
    return list(_single(text))


def _single(text: str) -> Iterator[Mapping[str, Any]]:
    for found in _OBJECT.finditer(text):
        try:
            one = json.loads(found[0])
        except (ValueError, RecursionError):
            continue
        yield one


def _candidate(element: Mapping[str, Any], turns: Sequence[Memory]) -> Candidate | None:
    content, quote = _text(element, "content"), _text(element, "quote")
    turn = _source(element.get("turn"), quote, turns)
    if not content or turn is None:
        log.debug("dropped what the turns do not say: %r", element)
        return None
    return Candidate(
        content=content,
        quote=quote,
        source=turn.id,
        kind="rule" if element.get("kind") == "rule" else "fact",
        category=_text(element, "category").lower() or "general",
        confidence=_confidence(element.get("confidence")),
        triple=_triple(element),
        author=turn.author,
        advice=_advice(element),
    )


def _advice(element: Mapping[str, Any]) -> Advice | None:
    if element.get("safety_conflict") is True:
        return Advice("drop", "following it would keep somebody from being looked after")
    action = _text(element, "action").lower()
    return Advice(action, _text(element, "reason")) if action else None


def _source(number: Any, quote: str, turns: Sequence[Memory]) -> Memory | None:
    """The turn that has the quote: the one that was named, or any other, for models cannot count."""
    likely = [turns[number - 1]] if isinstance(number, int) and 0 < number <= len(turns) else []
    probe = Candidate(content=quote, quote=quote)
    return next((turn for turn in (*likely, *turns) if grounded(probe, turn.content)), None)


def _text(element: Mapping[str, Any], key: str) -> str:
    value = element.get(key)
    return " ".join(value.split()) if isinstance(value, str) else ""


def _confidence(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return min(max(float(value), 0.0), 1.0)
    return DEFAULT_CONFIDENCE


def _triple(element: Mapping[str, Any]) -> Triple | None:
    subject, predicate, object_, subject_type, object_type = (
        _text(element, key) for key in ("subject", "predicate", "object", "subject_type", "object_type")
    )
    if not (subject and predicate and object_):
        return None
    return Triple(subject, predicate.upper().replace(" ", "_"), object_, subject_type, object_type)
