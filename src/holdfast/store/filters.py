"""A `Filter` as SQL over `memories m`. Placeholders are `?`; a backend that spells them otherwise translates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .base import Filter

Clause = tuple[str, list[Any]]


def marks(values: Sequence[Any]) -> str:
    """As many placeholders as there are values."""
    return ",".join("?" * len(values))


def where_clause(where: Filter, numbers: Sequence[int]) -> Clause:
    """The condition that a memory passes `where` in the scopes with these numbers, and its parameters."""
    parts = [f"m.scope IN ({marks(numbers)})"]
    values: list[Any] = list(numbers)
    for sql, args in (*_columns(where), *_status(where), *_tags(where), *_times(where)):
        parts.append(sql)
        values.extend(args)
    return " AND ".join(parts), values


def _columns(where: Filter) -> list[Clause]:
    wanted = (
        ("m.kind IN", where.kinds),
        ("m.category IN", where.categories),
        ("m.author IN", where.authors),
        ("m.session IN", where.sessions),
        ("coalesce(m.session, '') NOT IN", where.excluded_sessions),
    )
    return [(f"{column} ({marks(values)})", list(values)) for column, values in wanted if values]


def _status(where: Filter) -> list[Clause]:
    statuses = marks(where.statuses)
    if where.as_of is None:
        return [(f"m.status IN ({statuses})", list(where.statuses))]
    # The status then: what the first later change of it replaced, or today's when there was none.
    then = (
        "coalesce((SELECT e.before ->> '$.status' FROM events e WHERE e.scope = m.scope AND e.noun = 'memory' "
        "AND e.target = m.id AND e.at > ? AND e.before ->> '$.status' IS NOT NULL ORDER BY e.seq LIMIT 1), m.status)"
    )
    return [("m.created_at <= ?", [where.as_of]), (f"{then} IN ({statuses})", [where.as_of, *where.statuses])]


def _tags(where: Filter) -> list[Clause]:
    has_tag = "EXISTS (SELECT 1 FROM json_each(m.tags) t WHERE t.value = ?)"
    return [(has_tag, [tag]) for tag in where.tags]


def _times(where: Filter) -> list[Clause]:
    wanted = (
        ("m.event_time >= ?", where.since),
        ("m.event_time < ?", where.until),
        ("(m.valid_from IS NULL OR m.valid_from <= ?)", where.valid_at),
        ("(m.valid_until IS NULL OR m.valid_until > ?)", where.valid_at),
    )
    return [(sql, [value]) for sql, value in wanted if value is not None]
