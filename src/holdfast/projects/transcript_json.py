"""A session as it is shown to a model: its items as JSON, cut to what the model has room for.

Whole items are left out of the middle, never a part of the JSON: the beginning says what was
wanted, the end what came of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..context.blocks import HEAD_SHARE, MARKER, cut_middle, escape, line_tokens
from ..extraction.coding.project_settings import ProjectSettings
from ..types import Memory

# Characters of one item.
LONGEST = 32_000


def payload(turns: Sequence[Memory], settings: ProjectSettings) -> str:
    """Render a session's turns as a JSON list within the tokens that a session may take."""
    items = [
        json.dumps(
            {"role": turn.role, "content": cut_middle(escape(turn.content), LONGEST)},
            ensure_ascii=False,
        )
        for turn in turns
    ]
    room = int(settings.window * settings.rollout_payload_percent)
    return "[" + ",\n".join(within(items, room)) + "]"


def within(items: Sequence[str], room: int) -> list[str]:
    """The items, or as many from both ends as fit with a marker between them."""
    costs = [line_tokens(item) for item in items]
    if sum(costs) <= room:
        return list(items)
    marker = json.dumps(MARKER)
    room -= line_tokens(marker)
    head = _fitting(costs, int(room * HEAD_SHARE))
    tail = _fitting(costs[head:][::-1], room - sum(costs[:head]))
    return [*items[:head], marker, *items[len(items) - tail :]]


def _fitting(costs: Sequence[int], room: int) -> int:
    """How many of these, from the first on, fit."""
    for number, cost in enumerate(costs):
        room -= cost
        if room < 0:
            return number
    return len(costs)
