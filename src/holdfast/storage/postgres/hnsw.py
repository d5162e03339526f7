"""Approximate indexes (HNSW) for the few scopes that are too large for exact search.

Each such scope and model gets its own partial index, so a search reads only one owner's vectors.
Small scopes, nearly all of them, have no index and stay exact.
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

# Vectors of one scope and model up to which the search is exact.
EXACT_UP_TO = 50_000
# Indexes per database, largest scopes first: each one adds about ten microseconds to every plan and
# insert.
MOST = 100
# Share of EXACT_UP_TO below which an index is dropped. Lower than 1, so that a scope near the limit
# does not make its index come and go.
KEPT_FROM = 0.5
# Seconds for which the list of indexes is cached.
FRESH = 60.0
# pgvector's limit on the dimensions of an HNSW index.
WIDEST = 2_000

# The planner underestimates the scope and would prefer to compare everything and sort, so
# `enable_sort` is off.
SEARCHING = (
    b"SET LOCAL hnsw.iterative_scan = strict_order; SET LOCAL hnsw.ef_search = 200; SET "
    b"LOCAL enable_sort = off"
)
_NAME = re.compile(r"vectors_near_(\d+)")


class NearIndexes:
    """Models that have an index; cached for FRESH seconds."""

    def __init__(self, read: Callable[[str], Rows]) -> None:
        self._read = read
        # Many threads search at once; one of them reloads the list.
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
        """Expire the cache."""
        with self._lock:
            self._looked = -FRESH


_VALID = (
    "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
    "WHERE i.indrelid = to_regclass('holdfast.vectors') AND i.indisvalid AND c.relname LIKE "
    "'vectors_near_%'"
)
_ALL = _VALID.replace("AND i.indisvalid ", "")


def build(connection: Connection, extension_schema: str) -> list[str]:
    """Build missing indexes and drop those no longer needed; return what was done.

    Needs the owner of the tables. Writes continue meanwhile. Indexes that an interrupted run left
    invalid are built again.
    """
    done = []
    wanted = _large(connection, EXACT_UP_TO)
    kept = _large(connection, round(EXACT_UP_TO * KEPT_FROM)).keys()
    valid = {name for (name,) in connection.execute(_VALID.encode()).fetchall()}
    for (name,) in connection.execute(_ALL.encode()).fetchall():
        found = _NAME.fullmatch(name)
        if found and (name not in valid or int(found[1]) not in kept):
            connection.execute(
                sql.SQL("DROP INDEX CONCURRENTLY holdfast.{}").format(sql.Identifier(name))
            )
            valid.discard(name)
            done.append(f"removed the index {name}")
    for model, (scope, dimensions, count) in wanted.items():
        name = f"vectors_near_{model}"
        if name not in valid and dimensions <= WIDEST:
            connection.execute(
                sql.SQL(
                    "CREATE INDEX CONCURRENTLY {} ON holdfast.vectors USING hnsw "
                    "((vector::{type}({})) {type}_cosine_ops) WHERE scope = {} AND model = {}"
                ).format(
                    sql.Identifier(name),
                    dimensions,
                    scope,
                    model,
                    type=sql.SQL(f"{extension_schema}.vector"),
                )
            )
            done.append(f"built the index {name} over {counted(count, 'vector')}")
    return done


def _large(connection: Connection, size: int) -> dict[int, tuple[int, int, int]]:
    """Models with more than `size` vectors: scope, dimensions and count by model number."""
    with connection.transaction():
        connection.execute(f"SET LOCAL ROLE {WORKER}".encode())
        rows = connection.execute(
            "SELECT v.model, v.scope, d.dimensions, count(*) FROM holdfast.vectors v "
            "JOIN holdfast.models d "
            "ON d.scope = v.scope AND d.number = v.model GROUP BY 1, 2, 3 HAVING count(*) > %s "
            "ORDER BY count(*) DESC, 1 LIMIT %s",
            (size, MOST),
        ).fetchall()
    return {model: (scope, dimensions, count) for model, scope, dimensions, count in rows}
