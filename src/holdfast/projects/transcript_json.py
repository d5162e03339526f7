"""A session as JSON for a model, cut to the token budget.

Whole items are dropped from the middle: the beginning states the task, the end the result.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..context.blocks import HEAD_SHARE, MARKER, cut_middle, escape, line_tokens
from ..extraction.coding.project_settings import ProjectSettings
from ..types import Memory

# Characters per item.
LONGEST = 32_000


def payload(turns: Sequence[Memory], settings: ProjectSettings) -> str:
    """Render a session's turns as a JSON list within the token budget."""
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
    """How many of these fit, from the first on."""
    for number, cost in enumerate(costs):
        room -= cost
        if room < 0:
            return number
    return len(costs)
