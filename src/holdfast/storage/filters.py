"""Translate a `Filter` to SQL over `memories m`, and the spelling differences of SQL backends.

Placeholders are `?` everywhere; a backend with another style translates them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .row_codec import to_json
from .store_types import ITEMS, Filter

Clause = tuple[str, list[Any]]


class Dialect(NamedTuple):
    """Backend-specific SQL spellings."""

    json_field: str
    """Template for one field of a JSON column, as text."""
    json_has: str
    """Template for testing whether a JSON list contains an element."""
    by_bytes: str = ""
    """Suffix that makes text compare by bytes, whatever the collation of the database."""
    skip_locked: str = ""
    """Suffix that makes a SELECT lock its rows and skip those locked by others."""

    unindexed: str = ""
    """Prefix that keeps the planner from using an index on a column, where it would choose the
    wrong one.
    """
    rare: str = "{condition}"
    """Template that tells the planner that few rows meet a condition, where it would not expect
    it.
    """
    arrays: bool = False
    """Whether a list can be bound as one value, which is many times faster for hundreds of
    elements.
    """
    models_by_scope: bool = False
    """Whether each scope has models of its own; otherwise they are shared."""

    def field(self, column: str, key: str) -> str:
        """SQL for one field of a JSON column, as text."""
        return self.json_field.format(column=column, key=key)

    def namespace(self) -> str:
        """SQL for the namespace of an item, spelled like its index."""
        return self.field("m.metadata", "namespace") + self.by_bytes

    def among(self, column: str, values: Sequence[Any]) -> Clause:
        """Condition that a column has one of these values, with its parameters."""
        if self.arrays:
            return f"{column} = ANY (?)", [list(values)]
        return f"{column} IN ({marks(values)})", list(values)

    def of_model(self, alias: str) -> str:
        """Condition that joins the model `d` to the row with this alias."""
        within = f" AND d.scope = {alias}.scope" if self.models_by_scope else ""
        return f"d.number = {alias}.model{within}"

    def of_identity(self, alias: str) -> str:
        """Condition that a row belongs to the model with an identity, its parameter."""
        if self.models_by_scope:
            # Not EXISTS, for which Postgres reads the models of all scopes, not only of these.
            return f"(SELECT d.identity FROM models d WHERE {self.of_model(alias)}) = ?"
        return f"{alias}.model IN (SELECT number FROM models WHERE identity = ?)"


# Damaged JSON must not abort a statement: such a row counts as having no fields and no elements.
SQLITE = Dialect(
    "CASE WHEN json_valid({column}) THEN {column} ->> '$.{key}' END",
    (
        "EXISTS (SELECT 1 FROM json_each(CASE WHEN json_valid({column}) THEN {column} END) t WHERE "
        "t.value = ?)"
    ),
    unindexed="+",
    rare="unlikely({condition})",
)
POSTGRES = Dialect(
    "({column}::json ->> '{key}')",
    "jsonb_exists({column}::jsonb, ?)",
    ' COLLATE "C"',
    " FOR UPDATE SKIP LOCKED",
    arrays=True,
    models_by_scope=True,
)


def marks(values: Sequence[Any]) -> str:
    """One placeholder per value; NULL for none, because `IN ()` is not portable and NULL matches
    nothing.
    """
    return ",".join("?" * len(values)) or "NULL"


def where_clause(
    where: Filter,
    numbers: Sequence[int],
    dialect: Dialect,
) -> Clause:
    """Condition that a memory passes `where` in the scopes with these numbers, with its
    parameters.
    """
    parts = [f"m.scope IN ({marks(numbers)})"]
    values: list[Any] = list(numbers)
    wanted = (
        *_columns(where),
        *_excluded_sessions(where, dialect),
        *_consolidated(where),
        *_unenriched(where, dialect),
        *_status(where, dialect),
        *_tags(where, dialect),
        *_times(where),
        *_namespace(where, dialect),
        *_ended(where),
    )
    for sql, args in wanted:
        parts.append(sql)
        values.extend(args)
    return " AND ".join(parts), values


def invalid_now(numbers: Sequence[int]) -> str:
    """SQL for active memories outside their validity period; spelled so that its partial index
    applies.
    """
    return (
        f"SELECT m.seq FROM memories m WHERE m.scope IN ({marks(numbers)}) AND m.status = 'active' "
        "AND (m.valid_until IS NOT NULL OR m.valid_from IS NOT NULL) AND (m.valid_until <= ? OR "
        "m.valid_from > ?)"
    )


def _columns(where: Filter) -> list[Clause]:
    wanted = (
        ("m.kind IN", where.kinds),
        ("m.category IN", where.categories),
        ("m.author IN", where.authors),
        ("m.session IN", where.sessions),
    )
    return [(f"{column} ({marks(values)})", list(values)) for column, values in wanted if values]


def _excluded_sessions(where: Filter, dialect: Dialect) -> list[Clause]:
    """Exclude turns of these sessions and memories whose metadata names one of them."""
    if not where.excluded_sessions:
        return []
    session = f"coalesce(m.session, {dialect.field('m.metadata', 'session')}, '')"
    return [(f"{session} NOT IN ({marks(where.excluded_sessions)})", list(where.excluded_sessions))]


def _consolidated(where: Filter) -> list[Clause]:
    if where.consolidated is None:
        return []
    return [(f"m.consolidated_at IS {'NOT ' if where.consolidated else ''}NULL", [])]


def _unenriched(where: Filter, dialect: Dialect) -> list[Clause]:
    stamp = dialect.field("m.metadata", "enriched_at")
    return [(f"(m.metadata IS NULL OR {stamp} IS NULL)", [])] if where.unenriched else []


def _status(where: Filter, dialect: Dialect) -> list[Clause]:
    statuses = marks(where.statuses)
    if where.as_of is None:
        return [(f"m.status IN ({statuses})", list(where.statuses))]
    # Status at that time: the old value in the first later change of it, or today's if there was
    # none.
    before = dialect.field("e.before", "status")
    then = (
        f"coalesce((SELECT {before} FROM events e WHERE e.scope = m.scope AND e.noun = 'memory' "
        f"AND e.target = m.id AND e.at > ? AND {before} IS NOT NULL ORDER BY e.at, e.seq LIMIT "
        "1), m.status)"
    )
    return [
        ("m.created_at <= ?", [where.as_of]),
        (f"{then} IN ({statuses})", [where.as_of, *where.statuses]),
    ]


def _tags(where: Filter, dialect: Dialect) -> list[Clause]:
    has_tag = dialect.json_has.format(column="m.tags")
    return [(has_tag, [tag]) for tag in where.tags]


def _times(where: Filter) -> list[Clause]:
    wanted = (
        ("m.event_time >= ?", where.since),
        ("m.event_time < ?", where.until),
        ("(m.valid_from IS NULL OR m.valid_from <= ?)", where.valid_at),
        ("(m.valid_until IS NULL OR m.valid_until > ?)", where.valid_at),
    )
    return [(sql, [value]) for sql, value in wanted if value is not None]


def _namespace(where: Filter, dialect: Dialect) -> list[Clause]:
    if where.namespace is None:
        return []
    # SQLite uses a partial index only if the statement repeats the index condition verbatim.
    items = f"m.source = '{ITEMS}'"
    if not where.namespace:
        return [(items, [])]
    # Namespaces are JSON lists. After the last label of this one comes "," (a child) or "]"
    # (itself), and both sort before "^", so one range covers the subtree.
    first = to_json(list(where.namespace))[:-1]
    place = dialect.namespace()
    return [(f"{items} AND {place} >= ? AND {place} < ?", [first, f"{first}^"])]


def _ended(where: Filter) -> list[Clause]:
    if where.ended_by is None:
        return []
    # Spelled like the partial index, or SQLite would not use it.
    bounded = "m.status = 'active' AND (m.valid_until IS NOT NULL OR m.valid_from IS NOT NULL)"
    return [(f"{bounded} AND m.valid_until <= ?", [where.ended_by])]


def like_escaped(text: str) -> str:
    """Escape a text for LIKE … ESCAPE '!'."""
    return "".join(f"!{sign}" if sign in "!%_" else sign for sign in text)
