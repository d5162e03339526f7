"""Approximate indexes (HNSW) for the few scopes that are too large to compare every vector.

Each such scope and model has a partial index of its own, so a search walks one owner's vectors and
no others', and small scopes, which is nearly all of them, cost nothing and stay exact.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable

from psycopg import sql

from ...text.terminal import counted
from ..schema import Rows
from .scoped_session import WORKER, Connection

# Vectors of one scope and model that are compared one by one.
EXACT_UP_TO = 50_000
# indexes in a database, the largest scopes first: each costs every plan and insert some ten
# microseconds
MOST = 100
# Share of that below which an index is taken away again.
KEPT_FROM = 0.5
# Seconds for which what was found about indexes is believed.
FRESH = 60.0
# Dimensions that an HNSW index of pgvector can have.
WIDEST = 2_000

# `enable_sort` off: the planner takes a scope to be small, and would rather compare everything and
# sort.
SEARCHING = (
    b"SET LOCAL hnsw.iterative_scan = strict_order; SET LOCAL hnsw.ef_search = 200; SET "
    b"LOCAL enable_sort = off"
)
_NAME = re.compile(r"vectors_near_(\d+)")


class NearIndexes:
    """Which models have an index, as of a short while ago."""

    def __init__(self, read: Callable[[str], Rows]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._models: set[int] = set()
        self._looked = -FRESH

    def has(self, model: int) -> bool:
        """Whether the vectors of a model (which belongs to one scope) have an index."""
        with self._lock:
            if time.monotonic() - self._looked >= FRESH:
                self._models = {
                    int(name.removeprefix("vectors_near_")) for (name,) in self._read(_VALID)
                }
                self._looked = time.monotonic()
            return model in self._models

    def forget(self) -> None:
        """Looks again at the next question."""
        with self._lock:
            self._looked = -FRESH


_VALID = (
    "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
    "WHERE i.indrelid = to_regclass('holdfast.vectors') AND i.indisvalid AND c.relname LIKE "
    "'vectors_near_%'"
)
_ALL = _VALID.replace("AND i.indisvalid ", "")


def build(connection: Connection, search_path: str) -> list[str]:
    """Builds the indexes that are due and removes those that no longer are; says what it did.

    It needs the owner of the tables, writes go on meanwhile, and whatever an earlier one left
    unfinished is redone.
    """
    connection.execute(f"SET search_path = {search_path}".encode())
    done = []
    wanted = _large(connection, EXACT_UP_TO)
    kept = _large(connection, round(EXACT_UP_TO * KEPT_FROM)).keys()
    valid = {name for (name,) in connection.execute(_VALID.encode()).fetchall()}
    for (name,) in connection.execute(_ALL.encode()).fetchall():
        found = _NAME.fullmatch(name)
        if found and (name not in valid or int(found[1]) not in kept):
            connection.execute(sql.SQL("DROP INDEX CONCURRENTLY {}").format(sql.Identifier(name)))
            valid.discard(name)
            done.append(f"removed the index {name}")
    for model, (scope, dimensions, count) in wanted.items():
        name = f"vectors_near_{model}"
        if name not in valid and dimensions <= WIDEST:
            connection.execute(
                sql.SQL(
                    "CREATE INDEX CONCURRENTLY {} ON vectors USING hnsw ((vector::vector({})) "
                    "vector_cosine_ops) "
                    "WHERE scope = {} AND model = {}"
                ).format(sql.Identifier(name), dimensions, scope, model)
            )
            done.append(f"built the index {name} over {counted(count, 'vector')}")
    return done


def _large(connection: Connection, size: int) -> dict[int, tuple[int, int, int]]:
    """By model: its scope, its dimensions and how many vectors it has, where that is more than
    `size`.
    """
    with connection.transaction():
        connection.execute(f"SET LOCAL ROLE {WORKER}".encode())
        rows = connection.execute(
            "SELECT v.model, v.scope, d.dimensions, count(*) FROM vectors v JOIN models d "
            "ON d.scope = v.scope AND d.number = v.model GROUP BY 1, 2, 3 HAVING count(*) > %s "
            "ORDER BY count(*) DESC, 1 LIMIT %s",
            (size, MOST),
        ).fetchall()
    return {model: (scope, dimensions, count) for model, scope, dimensions, count in rows}
