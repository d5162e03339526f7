"""Extraction by a language model: one call per page of turns; unsupported answers are dropped.

One call with a fixed answer format rather than an agent with tools: a small model can do it, it
costs one request, and code decides what is read, stored and marked as done. An answer that cannot
be read is asked for once more. An element is dropped if its quote does not occur in a person's turn
or does not support what it says (`quote_support.py`). Dates are reckoned here, not by the model.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from ..context.blocks import fill
from ..languages import patterns_of_all
from ..models.llm.chat import Complete
from ..models.llm.json_output import ask_for_json, json_in, line
from ..text.token_count import count_tokens
from ..types import SURENESS, Memory, Triple, to_datetime
from .candidate import Advice, Candidate, quote_in
from .dates import with_date_of, without_dates
from .patterns import languages_of
from .policy import PEOPLE, is_among_people, sentence_of
from .prompts import prompt
from .quote_support import is_long_enough, is_whole, shown_in, supports
from .shown_turns import conversation_lines
from .standalone import lies_ahead
from .summaries import is_summary
from .vocabulary import Vocabulary, straight, vocabulary

log = logging.getLogger(__name__)

MOST = 20  # candidates of one page
MOST_KNOWN = 10
# Tokens of the known facts in a prompt.
KNOWN_TOKENS = 150
# Of a candidate for which a model gives none, or no number: plainly said.
DEFAULT_CONFIDENCE = 0.8
_SUMMARY = '\n"summary" is null for mere small talk, or else has:\n\n{fields}\n'
# "I always": the speaker directly before what somebody does.
_BY_SPEAKER = re.compile(
    rf"(?<![\w'])(?:{patterns_of_all('questions', 'first_person')})\s*$", re.IGNORECASE
)


class LLMExtractor:
    """Asks a model what is worth remembering in a page of turns."""

    def __init__(
        self,
        complete: Complete,
        words: Vocabulary | None = None,
        history: Sequence[Memory] = (),
        *,
        known: Sequence[Memory] = (),
        summarise: bool = False,
    ) -> None:
        """`words` is the vocabulary; `history` is earlier turns, shown as context only.

        `known` are memories that the turns may change. With `summarise` the model is also asked
        for a summary, which is then in `summary`.
        """
        self._complete = complete
        self._history = history
        self._words = words or vocabulary("general")
        self._known = list(_within(known))
        self._summarise = summarise
        self.summary: dict[str, Any] | None = None
        """What the model answered about the whole conversation; None if nothing of use."""

    def extract(self, turns: Sequence[Memory]) -> list[Candidate]:
        """Candidates the model found and the turns support. Model errors propagate, and an answer
        that cannot be read twice raises ModelFailed.
        """
        if not turns:
            return []
        answer = ask_for_json(self._complete, self._asked(turns), _answered, "facts")
        self.summary = _summary(answer) if self._summarise else None
        page = _Page(turns, self._history, self._known, self._words)
        return list(page.candidates(_facts(answer)))[:MOST]

    def _asked(self, turns: Sequence[Memory]) -> str:
        words = self._words
        open_ended = words.other_categories is not None
        listed = ", ".join(name for name in words.categories if name != "general")
        predicates = ", ".join(sorted(words.predicates - words.never))
        types = ", ".join(sorted(words.types))
        said = "".join(f"\n    {one}" for one in conversation_lines(self._history))
        return prompt(
            "extract_facts",
            categories=f"one lower-case word such as {listed}"
            if open_ended
            else f"one of {listed}",
            predicates=f"one of {predicates}" if predicates else "in capitals such as LIVES_IN",
            types=f'; with "subject_type" and "object_type", each one of {types}' if types else "",
            known=_told_known(self._known),
            summary=_SUMMARY.format(fields=prompt("summary_fields")) if self._summarise else "",
            history=f"\nSaid before, to understand the rest; find nothing in it:{said}\n"
            if said
            else "",
            turns="\n".join(conversation_lines(turns, numbered=True)),
        )


def _within(known: Sequence[Memory]) -> Iterator[Memory]:
    """As many of the known facts, best first, as fit."""
    left = KNOWN_TOKENS
    for one in known[:MOST_KNOWN]:
        left -= count_tokens(one.content) + 8
        if left >= 0:
            yield one


def _told_known(known: Sequence[Memory]) -> str:
    if not known:
        return ""
    lines = [
        fill(
            "{number}. {day}: {content}",
            number=number,
            day=to_datetime(one.event_time).date(),
            content=one.content,
        )
        for number, one in enumerate(known, 1)
    ]
    asked = '- "replaces": the number of the known fact that no longer holds because of it, if any'
    return "\n".join([asked, "\nKnown so far; tell only what is new or changed:\n", *lines, ""])


# Answers


def _answered(answer: str) -> Any:
    """The JSON of an answer; None if there is none, or if it is about something else."""
    found = json_in(answer)
    if isinstance(found, Mapping):
        expected = not found or found.keys() & {"facts", "summary", "arc", "quote"}
        return found if expected else None
    return found


def _facts(answer: Any) -> list[Mapping[str, Any]]:
    """The elements of an answer: a list, a single one, or an object that holds the list."""
    given = answer.get("facts", [answer]) if isinstance(answer, Mapping) else answer
    return [one for one in given if isinstance(one, Mapping)] if isinstance(given, list) else []


def _summary(answer: Any) -> dict[str, Any] | None:
    """What an answer says about the whole conversation; None if nothing that can be used."""
    for key in ("arc", "summary"):
        if isinstance(answer, Mapping) and key in answer:
            told = {"arc": answer[key]}
            return told if is_summary(told) else None
    return None


class _Page:
    """The turns that a model was shown, and what it may say of them."""

    def __init__(
        self,
        turns: Sequence[Memory],
        history: Sequence[Memory],
        known: Sequence[Memory],
        words: Vocabulary,
    ) -> None:
        every = [*history, *turns]
        self._turns = turns
        self._known = known
        self._words = words
        self._before = {turn.id: earlier for earlier, turn in pairwise(every)}
        self._among_people = is_among_people(every)
        texts = [(one.content, one.event_time) for one in (*every, *known)]
        self._shown = shown_in([*texts, *((turn.author, 0) for turn in every)])

    def candidates(self, elements: Sequence[Mapping[str, Any]]) -> Iterator[Candidate]:
        """The elements that the turns bear out."""
        for element in elements:
            candidate = self._candidate(element)
            if candidate is None:
                log.debug("dropped what the turns do not say: %r", element)
            else:
                yield candidate

    def _candidate(self, element: Mapping[str, Any]) -> Candidate | None:
        content = without_dates(line(element.get("content")))
        given = line(element.get("quote"))
        turn = turn_with(given, element.get("turn"), self._turns)
        if not content or turn is None or turn.role not in PEOPLE:
            return None
        quote = quote_in(given, turn.content)
        is_rule = element.get("kind") == "rule"
        if not self._is_borne_out(content, quote, turn):
            return None
        if is_rule and not self._instructs(quote, turn):
            return None
        return Candidate(
            content=content if is_rule else _dated(content, quote, turn),
            quote=quote,
            source=turn.id,
            kind="rule" if is_rule else "fact",
            category=line(element.get("category")).lower() or "general",
            confidence=confidence(element.get("confidence")),
            triple=_triple(element),
            author=turn.author,
            advice=_advice(element),
            replaces=self._replaced(element.get("replaces"), "rule" if is_rule else "fact"),
        )

    def _is_borne_out(
        self,
        content: str,
        quote: str,
        turn: Memory,
    ) -> bool:
        if not is_long_enough(quote, turn.content):
            return False
        answers = is_whole(quote, turn.content) and turn.id in self._before
        # "Yes" and "Lisbon" say something together with the question.
        texts = (quote, f"{self._before[turn.id].content} {quote}") if answers else (quote,)
        return any(supports(text, content, self._shown, author=turn.author) for text in texts)

    def _instructs(
        self,
        quote: str,
        turn: Memory,
    ) -> bool:
        """Whether the user tells the assistant what to do: not "I always hear that"."""
        if self._among_people:
            return False
        said = straight(sentence_of(quote, turn.content))
        return any(
            not _BY_SPEAKER.search(said[: found.start()])
            for cues in self._words.read_by(said)
            for found in cues.words["assistant_verb"].finditer(said)
        )

    def _replaced(
        self,
        number: Any,
        kind: str,
    ) -> Memory | None:
        if type(number) is not int or not 0 < number <= len(self._known):
            return None
        known = self._known[number - 1]
        return known if known.kind == kind else None


def _dated(
    content: str,
    quote: str,
    turn: Memory,
) -> str:
    language = next(iter(languages_of(quote)), None)
    ahead = partial(lies_ahead, language, quote) if language else None
    return with_date_of(content, quote, turn.event_time, ahead=ahead)


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
    """The turn that contains the quote: the one named, or else any other, people's before others'.

    Models often give the wrong number.
    """
    likely = [turns[number - 1]] if isinstance(number, int) and 0 < number <= len(turns) else []
    people_first = sorted(turns, key=lambda turn: turn.role not in PEOPLE)
    return next((turn for turn in (*likely, *people_first) if quote_in(quote, said(turn))), None)


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
