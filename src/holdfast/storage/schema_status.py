"""How a store stands: its schema, what is in it, how large it is. Looked up without opening or
changing it.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from ..types import Scope
from .schema import TABLES, Statements


class Status(NamedTuple):
    """How a store stands."""

    kind: Literal["sqlite", "postgres"]
    location: str
    version: int
    """Of the schema; 0 when there are no tables yet."""
    pending: tuple[str, ...]
    """What a migration would do, step by step."""
    size: int
    """Bytes on disk."""
    rows: Mapping[str, int] | None = None
    """Rows by noun, `vector` among them; None when there are no tables, or the login may not
    count.
    """
    scopes: int = 0
    jobs: Mapping[str, int] = MappingProxyType({})
    """Jobs by status."""
    extension: str | None = None
    """Version of pgvector, None without it."""
    vectors: str = ""
    """Type of the column of vectors on a server: vector or bytea."""
    citus: bool = False


def rows_by_noun(
    execute: Statements,
    tables: Container[str],
    scopes: Sequence[Scope] = (),
) -> dict[str, int]:
    """How many rows there are of each noun that has a table here, in these scopes or, when none is
    named, in all.
    """
    here = " OR ".join(["(kind = ? AND key = ?)"] * len(scopes))
    within = f" WHERE scope IN (SELECT number FROM scopes WHERE {here})" if scopes else ""
    values = [part for scope in scopes for part in scope]
    names = {table.noun: table.name for table in TABLES.values()} | {"vector": "vectors"}
    return {
        noun: int(execute(f"SELECT count(*) FROM {name}{within}", values)[0][0])
        for noun, name in names.items()
        if name in tables
    }


def jobs_by_status(execute: Statements) -> dict[str, int]:
    """How many jobs there are in each status."""
    return dict(execute("SELECT status, count(*) FROM jobs GROUP BY status ORDER BY status"))
