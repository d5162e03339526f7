"""Vectors in an SQLite file, compared by sqlite-vec."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...floats import Vector, packed
from ..filters import SQLITE, where_clause
from ..schema import Rows, Statements
from ..store_types import Filter, Ranked
from ..table_access import Reach
from ..vector_index import PAGE, SQLVectors
from .connection import ADD_TO_META

# Vectors that one thread reads in about a tenth of a second: for fewer, others are not worth their
# start.
READ_ALONE = 100_000
MOST_THREADS = 4
# Bytes of the file that are mapped while it is scanned: asking the system for each page takes as
# long as comparing what is on it. SQLite maps no more than 2 GB.
MAPPED = 2**31 - 1
_DISTANCE = "coalesce(vec_distance_cosine(v.vector, ?), 1.0) AS distance"


class SQLiteVectors(SQLVectors):
    """The vectors of an SQLite store."""

    def model_row(
        self,
        execute: Callable[..., Rows],
        scope: int,  # noqa: ARG002
        identity: str,
    ) -> Rows:
        return execute("SELECT number, dimensions FROM models WHERE identity = ?", (identity,))

    def scope_models(self, scope: int) -> Rows:
        return self.store.read_cached(
            (scope,),
            "SELECT d.identity, d.number, coalesce(e.seq, 0) FROM models d "
            "LEFT JOIN embedded e ON e.model = d.number AND e.scope = ?",
            (scope,),
        )

    def make_model(
        self,
        execute: Statements,
        scope: int,  # noqa: ARG002
        identity: str,
        dimensions: int,
    ) -> int:
        sql = "INSERT INTO models (identity, dimensions) VALUES (?, ?) RETURNING number"
        return int(execute(sql, (identity, dimensions))[0][0])

    def drop_models(
        self,
        execute: Statements,
        identity: str,
        numbers: Reach,  # noqa: ARG002
    ) -> None:
        execute(
            (
                "DELETE FROM models WHERE identity = ? AND NOT EXISTS (SELECT 1 FROM vectors WHERE "
                "model = models.number)"
            ),
            (identity,),
        )
        execute(ADD_TO_META, ("vector_drops", "1"))

    # Maxima over the whole file, which are faster to read than those of one scope and still change
    # with it.
    def newest(self, scope: int) -> tuple[Any, ...]:
        ((event, vector, drops),) = self.store.read_cached(
            (scope,),
            "SELECT (SELECT coalesce(max(seq), 0) FROM events), (SELECT coalesce(max(number), 0) "
            "FROM vectors), "
            "coalesce((SELECT value FROM meta WHERE key = 'vector_drops'), '')",
        )
        return event, vector, drops

    def nearest_of(
        self,
        where: Filter,
        number: int,
        model: int,
        vector: Vector,
        limit: int,
    ) -> Ranked:
        return self.nearest_cached(where, number, model, vector, limit)

    def scan(
        self,
        where: Filter,
        number: int,
        model: int,
        vector: Vector,
        limit: int,
    ) -> Ranked:
        rows = (
            None
            if where.narrow or limit > PAGE
            else self._scan_bare(where, number, model, vector, limit)
        )
        if rows is None:
            condition, values = where_clause(where, (number,), SQLITE)
            rows = self.store.read(
                (number,),
                f"SELECT v.seq, {_DISTANCE} FROM vectors v JOIN memories m ON m.seq = v.seq "
                f"WHERE v.model = ? AND v.scope = ? AND {condition} ORDER BY distance, v.seq "
                "LIMIT ?",
                (packed(vector), model, number, *values, limit),
            )
        return [(seq, min(1.0, max(0.0, 1.0 - distance))) for seq, distance in rows]

    def _scan_bare(
        self,
        where: Filter,
        number: int,
        model: int,
        vector: Vector,
        limit: int,
    ) -> Rows | None:
        """Return the nearest vectors without joining all memories; None if too many of them fail
        the filter.

        Nearly all memories of a scope are active and valid, and reading them takes longer than
        comparing vectors.
        """
        more = 2 * limit
        rows = self._nearest_rows(number, model, vector, more)
        condition, values = where_clause(where, (number,), SQLITE)
        among, seqs = self.store.dialect.among("m.seq", [seq for seq, _ in rows])
        passing = {
            seq
            for (seq,) in self.store.read(
                (number,),
                f"SELECT m.seq FROM memories m WHERE {among} AND {condition}",
                (*seqs, *values),
            )
        }
        found = [row for row in rows if row[0] in passing][:limit]
        return found if len(found) == limit or len(rows) < more else None

    def _nearest_rows(self, number: int, model: int, vector: Vector, limit: int) -> Rows:
        """Return number and distance of the nearest vectors, nearest first.

        A large scope is read by several threads, each a part of it: SQLite works outside the
        interpreter's lock, and the first question of a process waits for this.
        """
        parts = self._parts(number, model)
        sql = (
            f"SELECT v.seq, {_DISTANCE} FROM vectors v WHERE v.model = ? AND v.scope = ? "
            "AND v.seq BETWEEN ? AND ? ORDER BY distance, v.seq LIMIT ?"
        )

        def read(part: tuple[int, int]) -> Rows:
            with self._mapped():
                return self.store.read(
                    (number,), sql, (packed(vector), model, number, *part, limit)
                )

        if len(parts) == 1:
            return read(parts[0])
        # Deferred import: few scopes are so large, and every start would pay for it.
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

        with ThreadPoolExecutor(len(parts)) as pool:
            rows = [row for found in pool.map(read, parts) for row in found]
        return sorted(rows, key=lambda row: (row[1], row[0]))[:limit]

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        """Map the file into memory for this thread's connection, for the time of a scan.

        Not on Windows, where a file cannot get shorter while somebody has mapped it, as it must
        after an erasure.
        """
        if os.name != "posix":
            yield
            return
        self.store.read((), f"PRAGMA mmap_size = {MAPPED}")
        try:
            yield
        finally:
            self.store.read((), "PRAGMA mmap_size = 0")

    def _parts(self, number: int, model: int) -> list[tuple[int, int]]:
        """Return the first and last `seq` of each part that one thread reads."""
        ends = [
            self.store.read(
                (number,),
                f"SELECT {end}(seq) FROM vectors WHERE model = ? AND scope = ?",
                (model, number),
            )[0][0]
            for end in ("min", "max")
        ]
        first, last = (end or 0 for end in ends)
        count = min(MOST_THREADS, os.cpu_count() or 1, max(1, (last - first) // READ_ALONE))
        step = (last - first) // count + 1
        return [(start, start + step - 1) for start in range(first, last + 1, step)]

    def compare(
        self,
        number: int,
        model: int,
        vector: Vector,
        seqs: Sequence[int],
    ) -> dict[int, float]:
        among, values = self.store.dialect.among("seq", seqs)
        rows = self.store.read(
            (number,),
            "SELECT seq, 1.0 - coalesce(vec_distance_cosine(vector, ?), 1.0) FROM vectors "
            f"WHERE model = ? AND scope = ? AND {among}",
            (packed(vector), model, number, *values),
        )
        return dict(rows)
