"""A session as it is shown to a model: its items as JSON, cut to what the model has room for.

Whole items are left out of the middle, never a part of the JSON: the beginning says what was
wanted, the end what came of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..extraction.coding.project_settings import ProjectSettings
from ..text.budget import count_tokens
from ..text.fences import neutralise
from ..types import Memory

MARKER = "...[truncated]..."
# Of the room; the rest is for the end.
HEAD = 0.6
LONGEST = 32_000  # characters of one item


def payload(turns: Sequence[Memory], settings: ProjectSettings) -> str:
    """The items of a session as a JSON list within the tokens that a session may take."""
    items = [
        json.dumps(
            {"role": turn.role, "content": shortened(neutralise(turn.content))}, ensure_ascii=False
        )
        for turn in turns
    ]
    room = int(settings.window * settings.rollout_payload_percent)
    return "[" + ",\n".join(within(items, room)) + "]"


def within(items: Sequence[str], room: int) -> list[str]:
    """The items, or as many from both ends as fit with a marker between them."""
    costs = [count_tokens(item) + 1 for item in items]
    if sum(costs) <= room:
        return list(items)
    marker = json.dumps(MARKER)
    room -= count_tokens(marker) + 1
    head = _fitting(costs, int(room * HEAD))
    tail = _fitting(costs[head:][::-1], room - sum(costs[:head]))
    return [*items[:head], marker, *items[len(items) - tail :]]


def _fitting(costs: Sequence[int], room: int) -> int:
    """How many of these, from the first on, fit."""
    for number, cost in enumerate(costs):
        room -= cost
        if room < 0:
            return number
    return len(costs)


def shortened(text: str, longest: int = LONGEST) -> str:
    """A text, or its beginning and its end with a marker between them."""
    if len(text) <= longest:
        return text
    head = int((longest - len(MARKER)) * HEAD)
    return f"{text[:head]}{MARKER}{text[len(text) - (longest - len(MARKER) - head) :]}"


def truncated(text: str, tokens: int) -> str:
    """A text within so many tokens: its beginning and its end, with a marker between them, where it
    is too long.
    """
    if count_tokens(text) <= tokens:
        return text
    low = 0
    high = len(text)
    while low < high:  # the longest that fits
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if count_tokens(shortened(text, middle)) <= tokens else (low, middle - 1)
        )
    return shortened(text, low) if low > len(MARKER) else MARKER[: 4 * tokens]
