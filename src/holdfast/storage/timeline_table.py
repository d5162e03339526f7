"""The timeline in SQL: active memories by day, page by page, and what fades or ends next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..types import DAY, Kind, Memories, Memory, Micros, Scope
from .filters import marks
from .schema import SELECT_MEMORY
from .store_types import Axis, DayCount, DayCounts
from .table_access import Access, counted

# Spelled like the index `memories_by_moment`.
_TIMES: dict[Axis, str] = {
    "happened": "coalesce(m.valid_from, m.event_time)",
    "learned": "m.created_at",
}
_LAST_USE = "CASE WHEN m.last_accessed > m.created_at THEN m.last_accessed ELSE m.created_at END"


class SQLTimeline:
    """The timeline of a store; see `TimelineReads` in protocol.py."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def days(
        self,
        scopes: Sequence[Scope],
        *,
        axis: Axis,
        kinds: Sequence[Kind],
        entity: str | None = None,
        ahead: Micros = 0,
    ) -> DayCounts:
        numbers = self._access.numbers(scopes)
        tables, condition, values = _source(numbers, kinds, entity)
        # Rounded down also before 1970, where a division rounds up.
        time = f"({_TIMES[axis]} + {int(ahead)})"
        day = f"({time} - (({time} % {DAY}) + {DAY}) % {DAY}) / {DAY}"
        rows = self._access.read(
            numbers,
            f"SELECT {day}, m.kind, count(*) FROM {tables} WHERE {condition} "
            "GROUP BY 1, 2 ORDER BY 1, 2",
            values,
        )
        return [DayCount(*row) for row in rows]

    def page(
        self,
        scopes: Sequence[Scope],
        *,
        axis: Axis,
        kinds: Sequence[Kind],
        limit: int,
        entity: str | None = None,
        since: Micros | None = None,
        until: Micros | None = None,
        before: Memory | None = None,
    ) -> Memories:
        numbers = self._access.numbers(scopes)
        tables, condition, values = _source(numbers, kinds, entity)
        time = _TIMES[axis]
        for sql, bound in ((">=", since), ("<", until)):
            if bound is not None:
                condition += f" AND {time} {sql} ?"
                values.append(bound)
        if before is not None:
            place = before.created_at if axis == "learned" else before.moment
            condition += f" AND {time} <= ? AND ({time} < ? OR m.seq < ?)"
            values += [place, place, before.seq]
        rows = self._access.read(
            numbers,
            # Sorted by the index alone; only the rows of the page are read.
            f"SELECT {SELECT_MEMORY} FROM memories m WHERE "
            f"{self._access.dialect.unindexed}m.scope IN ({marks(numbers)}) "
            f"AND m.seq IN (SELECT m.seq FROM {tables} WHERE {condition} "
            f"ORDER BY {time} DESC, m.seq DESC LIMIT {max(0, int(limit))}) "
            f"ORDER BY {time} DESC, m.seq DESC",
            (*numbers, *values),
        )
        return self._access.memories(rows)

    def counts(self, scopes: Sequence[Scope]) -> dict[str, dict[str, int]]:
        numbers = self._access.numbers(scopes)
        rows = self._access.read(
            numbers,
            f"SELECT m.kind, m.status, count(*) FROM memories m WHERE m.scope IN ({marks(numbers)})"
            " AND m.kind <> 'turn' GROUP BY m.kind, m.status ORDER BY m.kind, m.status",
            numbers,
        )
        return counted(rows)

    def fading(
        self,
        scopes: Sequence[Scope],
        *,
        now: Micros,
        threshold: float,
        limit: int,
    ) -> Memories:
        numbers = self._access.numbers(scopes)
        said = "coalesce(m.strength, m.confidence)"
        days = f"ln({said} / {float(threshold)}) / m.decay_rate"
        fades = f"m.protected = 0 AND m.decay_rate > 0 AND {said} > {float(threshold)}"
        end = (
            f"CASE WHEN m.valid_until IS NOT NULL THEN m.valid_until "
            f"WHEN {fades} THEN {_LAST_USE} + {days} * {float(DAY)} END"
        )
        rows = self._access.read(
            numbers,
            f"SELECT {SELECT_MEMORY} FROM memories m WHERE m.scope IN ({marks(numbers)}) "
            "AND m.kind <> 'turn' AND m.kind = 'fact' AND m.status = 'active' "
            f"AND {end} > ? ORDER BY {end}, m.seq LIMIT {max(0, int(limit))}",
            (*numbers, now),
        )
        return self._access.memories(rows)

    def waiting(
        self,
        scopes: Sequence[Scope],
        *,
        kinds: Sequence[Kind],
        latest: int,
    ) -> tuple[int, bool]:
        numbers = self._access.numbers(scopes)
        stamp = self._access.dialect.field("m.metadata", "enriched_at")
        ((waiting, looked_at),) = self._access.read(
            numbers,
            f"SELECT count(CASE WHEN m.status = 'active' AND m.kind IN ({marks(kinds)}) "
            f"AND (m.metadata IS NULL OR {stamp} IS NULL) THEN 1 END), count(*) FROM "
            f"(SELECT n.kind, n.status, n.metadata FROM memories n WHERE n.scope IN "
            f"({marks(numbers)}) ORDER BY n.seq DESC LIMIT {int(latest)}) m",
            (*kinds, *numbers),
        )
        return waiting, looked_at < latest


def _source(
    numbers: Sequence[int],
    kinds: Sequence[Kind],
    entity: str | None,
) -> tuple[str, str, list[Any]]:
    """Tables, condition and values of the active memories of these kinds, or of those among them
    that mention an entity.
    """
    condition = f"m.status = 'active' AND m.kind IN ({marks(kinds)})"
    if entity is not None:
        # A cross join keeps the planner from starting with every memory of the scope.
        mentions = f"t.scope IN ({marks(numbers)}) AND t.entity = ?"
        return (
            "mentions t CROSS JOIN memories m",
            f"{mentions} AND m.scope = t.scope AND m.id = t.memory AND {condition}",
            [*numbers, entity, *kinds],
        )
    # Said once more in the words of the index, which is used for no other statement.
    indexed = "" if "turn" in kinds else " AND m.kind <> 'turn'"
    return (
        "memories m",
        f"m.scope IN ({marks(numbers)}){indexed} AND {condition}",
        [*numbers, *kinds],
    )
