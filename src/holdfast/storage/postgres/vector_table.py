"""Vectors in a Postgres database, compared by pgvector if the server has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from ...floats import Vector
from ..filters import POSTGRES, Clause, invalid_now, marks, where_clause
from ..matrix_cache import products, top, unpack
from ..schema import Rows, Statements
from ..store_types import Filter, Ranked
from ..table_access import Reach, StoreAccess
from ..vector_index import PAGE, SQLVectors
from .hnsw import NearIndexes
from .pgvector_type import FloatArray
from .scoped_session import PostgresStatements
from .transaction import take_turns


class VectorAccess(StoreAccess, Protocol):
    """Store access that server-side vectors need in addition."""

    @property
    def has_extension(self) -> bool:
        """Whether the server compares vectors (pgvector)."""

    def read_by_index(
        self,
        number: int,
        sql: str,
        values: Sequence[Any],
    ) -> Rows:
        """Run one SELECT that searches the approximate index of a scope."""


class PostgresVectors(SQLVectors):
    """The vectors of a Postgres store."""

    store: VectorAccess

    def __init__(self, store: VectorAccess) -> None:
        super().__init__(store)
        self.indexes = NearIndexes(partial(store.read, ()))

    def pack(self, vector: Vector) -> Any:
        return np.asarray(vector, np.float32) if self.store.has_extension else super().pack(vector)

    def unpack(self, value: Any) -> Vector:
        return np.asarray(value, np.float32) if self.store.has_extension else super().unpack(value)

    def model_row(
        self,
        execute: Callable[..., Rows],
        scope: int,
        identity: str,
    ) -> Rows:
        return execute(
            "SELECT number, dimensions FROM models WHERE scope = ? AND identity = ?",
            (scope, identity),
        )

    def scope_models(self, scope: int) -> Rows:
        return self.store.read(
            (scope,),
            "SELECT d.identity, d.number, coalesce(e.seq, 0) FROM models d "
            "LEFT JOIN embedded e ON e.scope = d.scope AND e.model = d.number WHERE d.scope = ?",
            (scope,),
        )

    def make_model(
        self,
        execute: Statements,
        scope: int,
        identity: str,
        dimensions: int,
    ) -> int:
        sql = "INSERT INTO models (scope, identity, dimensions) VALUES (?, ?, ?) RETURNING number"
        return int(execute(sql, (scope, identity, dimensions))[0][0])

    def drop_models(
        self,
        execute: Statements,
        identity: str,
        numbers: Reach,
    ) -> None:
        within = "" if numbers is None else f" AND scope IN ({marks(numbers)})"
        values = (identity, *(numbers or ()))
        execute(
            (
                "UPDATE totals SET drops = drops + 1 WHERE scope IN (SELECT scope FROM models "
                "WHERE "
                f"identity = ?{within})"
            ),
            values,
        )
        execute(f"DELETE FROM models WHERE identity = ?{within}", values)

    def newest(self, scope: int) -> tuple[Any, ...]:
        ((event, vector, drops),) = self.store.read(
            (scope,),
            "SELECT (SELECT coalesce(max(seq), 0) FROM events WHERE scope = ?), "
            "(SELECT coalesce(max(number), 0) FROM vectors WHERE scope = ?), "
            "(SELECT drops FROM totals WHERE scope = ?)",
            (scope, scope, scope),
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
        vector = np.asarray(vector, np.float32)
        if not self.store.has_extension:
            return self.nearest_cached(where, number, model, vector, limit)
        if self.indexes.has(model):
            # With fewer hits than `limit`, either there are no more or a strict filter made the
            # index give up, so the exact search decides.
            found = self._nearest_by_index(where, number, model, vector, limit)
            if len(found) == limit:
                return found
        beside, values = _passing_vectors(where, number)
        rows = self.store.read(
            (number,),
            # NaN is the distance to a zero vector; count it as orthogonal.
            "SELECT v.seq, coalesce(nullif(v.vector <=> ?, 'NaN'), 1.0) AS distance FROM vectors "
            "v "
            f"WHERE v.scope = ? AND v.model = ? AND {beside} ORDER BY distance, v.seq LIMIT ?",
            (vector, number, model, *values, limit),
        )
        return _similar(rows)

    def _nearest_by_index(
        self,
        where: Filter,
        number: int,
        model: int,
        vector: Vector,
        limit: int,
    ) -> Ranked:
        beside, values = _passing_vectors(where, number)
        near = f"v.vector::vector({len(vector)}) <=> ?"
        rows = self.store.read_by_index(
            number,
            # Literals, not parameters: the planner must see that the partial index applies.
            f"SELECT v.seq, {near} AS distance FROM vectors v WHERE v.scope = {int(number)} "
            f"AND v.model = {int(model)} AND {beside} ORDER BY {near} LIMIT ?",
            (vector, *values, vector, limit),
        )
        return _similar(rows)

    def scan(
        self,
        where: Filter,
        number: int,
        model: int,
        vector: Vector,
        limit: int,
    ) -> Ranked:
        beside, values = _passing_vectors(where, number)
        rows = self.store.read(
            (number,),
            f"SELECT v.seq, v.vector FROM vectors v WHERE v.scope = ? AND v.model = ? AND {beside}",
            (number, model, *values),
        )
        if not rows:
            return []
        return top(
            np.array([seq for seq, _ in rows]),
            products(unpack([packed for _, packed in rows]), np.asarray(vector, np.float32)),
            limit,
        )

    def compare(
        self,
        number: int,
        model: int,
        vector: Vector,
        seqs: Sequence[int],
    ) -> dict[int, float]:
        asked = np.asarray(vector, np.float32)
        stored = self.stored(number, model, seqs)
        return {seq: float(np.asarray(one, np.float32) @ asked) for seq, one in stored.items()}

    def insert(
        self,
        execute: Statements,
        numbers: Sequence[int],
        *rest: Any,
    ) -> None:
        # The lock keeps out other writers, so numbers ascend in commit order.
        take_turns(execute, numbers)
        super().insert(execute, numbers, *rest)

    def insert_rows(
        self,
        execute: Statements,
        model: int,
        scope: int,
        vectors: Mapping[int, Vector],
    ) -> None:
        together = isinstance(execute, PostgresStatements) and not execute.one_by_one
        if not together or not self.store.has_extension:
            super().insert_rows(execute, model, scope, vectors)
            return
        seqs = list(vectors)
        for start in range(0, len(seqs), PAGE):
            page = seqs[start : start + PAGE]
            floats = np.stack([np.asarray(vectors[seq], np.float32) for seq in page])
            # All floats travel as one array, of which each row takes its part: a statement for each
            # vector takes longer than to store it.
            length = int(floats.shape[1])
            part = f"(r.place::integer - 1) * {length} + 1 : r.place::integer * {length}"
            execute(
                "INSERT INTO vectors (model, scope, seq, vector) "
                f"SELECT ?, ?, r.seq, (?::real[])[{part}]::vector "
                "FROM unnest(?::bigint[]) WITH ORDINALITY AS r (seq, place)",
                (model, scope, FloatArray(floats), page),
            )


def _similar(rows: Rows) -> Ranked:
    return [(seq, min(1.0, max(0.0, 1.0 - distance))) for seq, distance in rows]


def passing(
    where: Filter,
    numbers: Sequence[int],
    alias: str,
) -> Clause:
    """Return the condition that a row with scope and seq belongs to a memory that passes a narrow
    filter.
    """
    condition, values = where_clause(where, numbers, POSTGRES)
    this = f"m.scope = {alias}.scope AND m.seq = {alias}.seq"
    return f"EXISTS (SELECT 1 FROM memories m WHERE {this} AND {condition})", values


def _passing_vectors(where: Filter, number: int) -> Clause:
    if where.narrow:
        return passing(where, (number,), "v")
    # Excluding is cheaper: few memories are inactive or invalid, and partial indexes hold exactly
    # those.
    away = "SELECT m.seq FROM memories m WHERE m.scope = ? AND m.status <> 'active'"
    if where.valid_at is None:
        return f"v.seq NOT IN ({away})", [number]
    values = [number, number, where.valid_at, where.valid_at]
    return f"v.seq NOT IN ({away} UNION ALL {invalid_now((number,))})", values
