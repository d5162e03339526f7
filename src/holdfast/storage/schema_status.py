"""Status of a store: schema, row counts and size. Read without opening or changing the store."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from ..types import Scope
from .schema import TABLES, Statements


class Status(NamedTuple):
    """Status of a store."""

    kind: Literal["sqlite", "postgres"]
    location: str
    version: int
    """Version of the schema; 0 without tables."""
    pending: tuple[str, ...]
    """Migration steps that are due."""
    size: int
    """Bytes on disk."""
    rows: Mapping[str, int] | None = None
    """Rows by noun, including `vector`; None without tables or if the login may not count."""
    scopes: int = 0
    jobs: Mapping[str, int] = MappingProxyType({})
    """Jobs by status."""
    extension: str | None = None
    """Version of pgvector; None without it."""
    vectors: str = ""
    """Type of the vector column on a server: vector or bytea."""
    citus: bool = False
    workers: int = 0
    """Workers of a Citus cluster."""
    distributed: frozenset[str] = frozenset()
    """Tables that are distributed over them."""


def rows_by_noun(
    execute: Statements,
    tables: Container[str],
    scopes: Sequence[Scope] = (),
) -> dict[str, int]:
    """Count the rows of each noun that has a table here, in these scopes or, if none is named, in
    all.
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
    """Count the jobs in each status."""
    return dict(execute("SELECT status, count(*) FROM jobs GROUP BY status ORDER BY status"))
