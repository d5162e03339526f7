"""Find a session's notes with a language model: one call per page; ungrounded notes are dropped.

Malformed JSON is repaired if possible, and otherwise parsed line by line. A note is dropped if its
quote does not occur in the session, if it is too long, or if it holds a secret.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...context.blocks import Line, render_line
from ...models.llm.chat import Complete
from ...models.llm.json_output import line, objects_in
from ...text.token_count import count_tokens
from ...types import Memory
from ..llm_extractor import confidence, turn_with
from ..prompts import prompt
from ..speech import without_thoughts
from .coding_session import read
from .finder import checked, once
from .note import CATEGORIES, LONGEST_TEXT, Category, Home, Note, title_of, within
from .reversals import standing

log = logging.getLogger(__name__)

MOST = 20  # notes of one page
PAGE_TOKENS = (
    12_000  # of turns in one call: small models have little room, and lose the middle of long texts
)
# Characters that are shown of one turn.
LONGEST_TURN = 4_000
# "category: text | quote": bullets, dashes and kinds of quotes vary between models.
_LINE = re.compile(
    r"^\W{0,6}(?P<category>decisions?|procedures?|principles?|incidents?|preferences?)\W{1,4}(?P<text>.{8,400}?)"
    r"\s*(?:\||—|–|-)\s*(?:quote:?\s*)?[\"“](?P<quote>.{4,400}?)[\"”]\W*$",
    re.IGNORECASE | re.MULTILINE,
)


def ask_for_notes(turns: Sequence[Memory], complete: Complete) -> list[Note]:
    """Notes the model finds and the turns support. Model errors propagate."""
    found = [note for page in _pages(turns) for note in _on_page(page, complete)]
    return once(checked(standing(found, read(turns)), turns), turns)


def _on_page(turns: Sequence[Memory], complete: Complete) -> Iterator[Note]:
    answer = complete(prompt("extract_notes", turns="\n".join(_told(turns))))
    given = objects_in(answer) or [found.groupdict() for found in _LINE.finditer(answer)]
    for element in given[:MOST]:
        note = _note(element, turns)
        if note is None:
            log.debug("dropped what the session does not say: %r", element)
        else:
            yield note


def _told(turns: Sequence[Memory]) -> Iterator[str]:
    for number, turn in enumerate(turns, start=1):
        line = Line(
            _shown(turn),
            bullet="",
            labels=(str(number),),
            speaker=turn.role or "user",
        )
        yield render_line(line)


def _shown(turn: Memory) -> str:
    return without_thoughts(turn.content)[:LONGEST_TURN]


def _pages(turns: Sequence[Memory]) -> Iterator[list[Memory]]:
    page: list[Memory] = []
    size = 0
    for turn in turns:
        tokens = count_tokens(_shown(turn)) + 8
        if page and size + tokens > PAGE_TOKENS:
            yield page
            page = []
            size = 0
        page.append(turn)
        size += tokens
    if page:
        yield page


def _note(
    element: Mapping[str, Any],
    turns: Sequence[Memory],
) -> Note | None:
    category = _category(element)
    text = _text(element, "text")
    quote = line(element.get("quote"))
    source = turn_with(quote, element.get("turn"), turns, _shown)
    if category is None or not text or source is None:
        return None
    place: Home = "assistant" if line(element.get("place")).lower() == "assistant" else "project"
    title = title_of(line(element.get("title")) or text.split("\n", 1)[0])
    rests = (source.id, *(one for one in _others(element.get("turns"), turns) if one != source.id))
    return Note(
        category,
        title,
        within(text, LONGEST_TEXT),
        quote,
        rests,
        confidence(element.get("confidence")),
        place,
    )


def _category(element: Mapping[str, Any]) -> Category | None:
    said = line(element.get("category")).lower().rstrip("s")
    return next((name for name in CATEGORIES if said and name.startswith(said)), None)


def _others(numbers: Any, turns: Sequence[Memory]) -> list[str]:
    listed = numbers if isinstance(numbers, list) else []
    return [
        turns[number - 1].id
        for number in listed
        if isinstance(number, int) and 0 < number <= len(turns)
    ]


def _text(element: Mapping[str, Any], key: str) -> str:
    """A text with its line breaks kept, because steps are one per line."""
    value = element.get(key)
    lines = value.strip().split("\n") if isinstance(value, str) else []
    return "\n".join(" ".join(line.split()) for line in lines if line.strip())
