"""A conversation as a language model is shown it: people's turns under their days, answers cut.

What an assistant answers is most of a conversation and hardly any of what is learned from it. Its
first sentence and its last question are enough to understand what people say next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from ..context.blocks import cut_middle_within, render_turn
from ..text.terminal import shorten
from ..types import Memory, to_datetime
from .policy import PEOPLE
from .vocabulary import SENTENCES

# Tokens of what one person said: a longer turn holds a text that was pasted.
LONGEST_TURN = 600
# Characters of the first sentence of an answer, and of the question at its end.
LONGEST_OPENING = 60
LONGEST_QUESTION = 80


def conversation_lines(turns: Sequence[Memory], *, numbered: bool = False) -> Iterator[str]:
    """Lines of a prompt: each day once, then its turns; numbered if answers refer to them."""
    day = ""
    numbers = count(1)
    for turn in turns:
        said_on = f"{to_datetime(turn.event_time):%Y-%m-%d, %A}:" if turn.event_time > 0 else ""
        if said_on and said_on != day:
            yield said_on
        day = said_on
        yield render_turn(
            replace(turn, content=shown_of(turn)), next(numbers) if numbered else None
        )


def shown_of(turn: Memory) -> str:
    """What is shown of a turn: all that a person said, or the ends of an answer."""
    if turn.role in PEOPLE:
        return cut_middle_within(turn.content, LONGEST_TURN)
    first, *rest = [one for one in SENTENCES.split(turn.content.strip()) if one.strip()] or [""]
    opening = shorten(first, LONGEST_OPENING)
    if rest and rest[-1].rstrip().endswith(("?", "？")):
        return f"{opening} … {shorten(rest[-1], LONGEST_QUESTION)}"
    return f"{opening} …" if rest else opening
