"""Small plots of a memory in the terminal: kinds, growth, and how far memories have faded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..text.terminal import counted

if TYPE_CHECKING:
    from ..client import Holdfast
    from ..types import Memory, Micros

# Memories that growth and confidence are read from, the newest: more would make the command slow.
READ = 10_000
WEEKS = 26
SOON = 30  # days
# Columns of the longest bar, and the heights of a column.
WIDTH = 40
HEIGHTS = "▁▂▃▄▅▆▇█"
RANGES = ("0.8 to 1.0", "0.6 to 0.8", "0.4 to 0.6", "0.2 to 0.4", "below 0.2")


def show_plots(hf: Holdfast, counts: Mapping[str, Mapping[str, int]]) -> None:
    """Print the plots of what is in use; nothing for an empty memory."""
    active = {kind: by_status.get("active", 0) for kind, by_status in counts.items()}
    memories = hf.list(limit=READ)
    if not memories:
        return
    _bars("kinds", active)
    now = hf.clock()
    part = f", of the newest {READ:,}" if len(memories) == READ else ""
    weekly = new_per_week(memories, now)
    print(f"\nnew per week, {counted(WEEKS, 'week')}{part}")
    print(f"  {columns(weekly)}  {weekly[-1]:,} this week")
    _bars(f"confidence{part}", confidence(memories, now))
    _say_fading(hf, memories, now)


def new_per_week(memories: Sequence[Memory], now: Micros) -> list[int]:
    """Number of memories stored in each of the last weeks, oldest week first."""
    from ..types import DAY

    ages = Counter((now - memory.created_at) // (7 * DAY) for memory in memories)
    return [ages[week] for week in reversed(range(WEEKS))]


def confidence(memories: Sequence[Memory], now: Micros) -> dict[str, int]:
    """Number of memories in each range of the confidence that is left."""
    from ..maintenance.decay import retention

    ranges = Counter(
        min(len(RANGES) - 1, int((1 - retention(memory, now)) * len(RANGES))) for memory in memories
    )
    return {name: ranges[number] for number, name in enumerate(RANGES)}


def columns(values: Sequence[int]) -> str:
    """A column for each value; only zero has the lowest.

    >>> columns([0, 1, 4, 8])
    '▁▂▅█'
    """
    most = max(values) or 1
    # Rounded up, so that a single memory can be seen beside thousands.
    return "".join(HEIGHTS[-(-value * (len(HEIGHTS) - 1) // most)] for value in values)


def _bars(title: str, values: Mapping[str, int]) -> None:
    most = max(values.values()) or 1
    wide = max(map(len, values))
    print(f"\n{title}")
    for name, value in values.items():
        bar = "█" * -(-value * WIDTH // most)
        print(f"  {name:<{wide}}  {value:>7,}  {bar}".rstrip())


def _say_fading(hf: Holdfast, memories: Sequence[Memory], now: Micros) -> None:
    from ..maintenance.decay import fades_at
    from ..types import DAY

    ends = [fades_at(memory, hf.settings.decay_threshold) for memory in memories]
    soon = sum(1 for end in ends if end is not None and end < now + SOON * DAY)
    if soon:
        verb = "fades" if soon == 1 else "fade"
        within = counted(SOON, "day")
        print(f"  {counted(soon, 'memory')} {verb} within {within} unless used again.")
