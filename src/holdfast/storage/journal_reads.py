"""Read journal entries through a store or inside a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..types import Events, Scope
from .filters import marks
from .row_codec import event_from
from .schema import EVENTS
from .store_types import EventOrder
from .table_access import Access

SELECT_EVENT = f"SELECT seq, scope, {', '.join(EVENTS.columns)} FROM events"


def read_events(
    access: Access,
    scopes: Sequence[Scope],
    *,
    run: str | None = None,
    target: str | None = None,
    after: int | None = None,
    limit: int | None = None,
    order: EventOrder = "newest",
) -> Events:
    """Journal entries; see `Store.events` in protocol.py."""
    numbers = access.numbers(scopes)
    condition = f"scope IN ({marks(numbers)})"
    values: list[Any] = list(numbers)
    for column, value in (("run = ?", run), ("target = ?", target), ("seq > ?", after)):
        if value is not None:
            condition = f"{condition} AND {column}"
            values.append(value)
    # Only memories are named by a bare id; the same text could be another noun's key.
    if target is not None:
        condition += " AND noun = 'memory'"
    direction = "DESC" if order == "newest" else "ASC"
    tail = "" if limit is None else f" LIMIT {int(limit)}"
    rows = access.read(
        numbers, f"{SELECT_EVENT} WHERE {condition} ORDER BY seq {direction}{tail}", values
    )
    return access.damages.sound(rows, lambda row: event_from(row, access.scope_of))
