"""A forecast of a memory's confidence, drawn in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..text.terminal import plain, shorten
from . import output
from .output import json_time

if TYPE_CHECKING:
    from ..client import Holdfast
    from ..types import Memory

# Columns of a full bar, and how many days the curve covers unless told otherwise.
WIDTH = 60
DAYS = 90


def show_forecast(
    hf: Holdfast,
    memory: Memory,
    *,
    days: int,
    as_json: bool,
) -> None:
    """Print how the confidence of `memory` falls over the next `days` if nobody uses it."""
    from ..maintenance.decay import explained, fades_at, retention
    from ..types import DAY

    now = hf.clock()
    # Rounding repeats days when there are fewer than fifteen; the curve has each once.
    steps = [round(days * step / 15) for step in range(16)]
    curve = [(day, retention(memory, now + day * DAY)) for day in dict.fromkeys(steps)]
    threshold = hf.settings.decay_threshold
    end = fades_at(memory, threshold)
    if as_json:
        output.emit(
            {
                "id": memory.id,
                "fades_at": json_time(end),
                "why": explained(memory, now, threshold),
                "curve": [list(point) for point in curve],
            }
        )
        return
    print(plain(shorten(memory.content, 100)))
    for day, left in curve:
        mark = "█" * round(left * WIDTH) if left >= threshold else "·"
        print(f"day {day:>4}  {left:5.2f}  {mark}")
    print(explained(memory, now, threshold))
