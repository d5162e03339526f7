"""Vectors in SQL: storage, comparison, coverage, and the embedding watermark of each model and
scope.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ..errors import DimensionMismatchError
from ..floats import Vector, packed, unit, unpacked
from ..types import Memories, Memory, Scope
from .filters import invalid_now, marks
from .matrix_pool import Matrices
from .schema import SELECT_MEMORY, Rows, Statements
from .store_types import Filter, Ranked
from .table_access import Numbers, Reach, StoreAccess

# Order of embedding: extracted memories before raw turns and documents, newest first.
SAID = ("turn", "document")
PARTS = (f"m.kind NOT IN {SAID}", f"m.kind IN {SAID}")
# Ids per statement, well below SQLite's limit on bound parameters.
PAGE = 500
# Of a memory `m`. Not EXISTS, which Postgres makes a join: it expects no vectors in a scope that it
# has no statistics of, and compares each memory with all of them.
NO_VECTOR = (
    "(SELECT v.seq FROM vectors v WHERE v.model = ? AND v.scope = ? AND v.seq = m.seq) IS NULL"
)
Mark = tuple[int, int]
"""Number of a model in a scope, and the `seq` up to which everything there is embedded."""


class SQLVectors(ABC):
    """The vectors of a store; see `VectorTable` in protocol.py. A backend implements the
    comparison.
    """

    def __init__(self, store: StoreAccess) -> None:
        self.store = store
        self.forget_cache()

    @abstractmethod
    def model_row(
        self,
        execute: Callable[..., Rows],
        scope: int,
        identity: str,
    ) -> Rows:
        """Return number and dimensions of a model in a scope; empty if it is unknown."""

    @abstractmethod
    def scope_models(self, scope: int) -> Rows:
        """Return identity, number and embedding watermark of each model in a scope."""

    @abstractmethod
    def make_model(
        self,
        execute: Statements,
        scope: int,
        identity: str,
        dimensions: int,
    ) -> int:
        """Add a model and return its number."""

    @abstractmethod
    def drop_models(
        self,
        execute: Statements,
        identity: str,
        numbers: Reach,
    ) -> None:
        """Delete a model without vectors, so that it may return with other dimensions."""

    def pack(self, vector: Vector) -> Any:
        """Encode a vector for its column."""
        return packed(vector)

    def unpack(self, value: Any) -> Vector:
        """Decode a vector from its column."""
        return unpacked(value)

    @abstractmethod
    def newest(self, scope: int) -> tuple[Any, ...]:
        """Return the newest journal entry and vector of a scope, and how often its vectors were
        dropped.
        """

    @abstractmethod
    def nearest_of(
        self,
        where: Filter,
        number: int,
        model: int,
        vector: Vector,
        limit: int,
    ) -> Ranked:
        """Return the memories of one scope that are nearest to a unit vector."""

    @abstractmethod
    def scan(
        self,
        where: Filter,
        number: int,
        model: int,
        vector: Vector,
        limit: int,
    ) -> Ranked:
        """Like `nearest_of`, directly from the database without a cache."""

    @abstractmethod
    def compare(
        self,
        number: int,
        model: int,
        vector: Vector,
        seqs: Sequence[int],
    ) -> dict[int, float]:
        """Return the similarity of memories of one scope to a unit vector, directly from the
        database.
        """

    def forget_cache(self) -> None:
        """Drop the vectors cached in this process."""
        self._matrices = Matrices(self.newest, self.store.dialect)

    def nearest(
        self,
        where: Filter,
        model: str,
        vector: Vector,
        limit: int,
    ) -> Ranked:
        found: Ranked = []
        vector = unit(vector)
        for number in self.store.numbers(where.scopes):
            known = self.model(number, model)
            if known is not None and known[1] == len(vector) and limit > 0:
                found += self.nearest_of(where, number, known[0], vector, limit)
        found.sort(key=lambda pair: (-pair[1], pair[0]))
        return found[:limit]

    def nearest_cached(
        self,
        where: Filter,
        number: int,
        model: int,
        vector: Vector,
        limit: int,
    ) -> Ranked:
        """Like `nearest_of`, from the vectors cached in this process if the scope is worth
        caching.
        """
        matrix = (
            None
            if where.narrow
            else self._matrices.get(partial(self.store.read, (number,)), model, number)
        )
        if matrix is None:
            return self.scan(where, number, model, vector, limit)
        return matrix.nearest(vector, limit, self._hidden(where, number))

    def _hidden(self, where: Filter, number: int) -> set[int]:
        if where.valid_at is None:
            return set()
        values = (number, where.valid_at, where.valid_at)
        return {row[0] for row in self.store.read((number,), invalid_now((number,)), values)}

    def model(self, scope: int, identity: str) -> tuple[int, int] | None:
        """Return number and dimensions of a model in the scope with this number, or None."""
        for number, dimensions in self.model_row(
            partial(self.store.read_cached, (scope,)), scope, identity
        ):
            return number, dimensions
        return None

    def get(
        self,
        scopes: Sequence[Scope],
        model: str,
        seqs: Sequence[int],
    ) -> dict[int, Vector]:
        found: dict[int, Vector] = {}
        for scope in self.store.numbers(scopes):
            if known := self.model(scope, model):
                for start in range(0, len(seqs), PAGE):
                    found |= self._vectors(scope, known[0], seqs[start : start + PAGE])
        return found

    def _vectors(
        self,
        scope: int,
        model: int,
        seqs: Sequence[int],
    ) -> dict[int, Vector]:
        found = self._matrices.vectors(partial(self.store.read, (scope,)), model, scope, seqs)
        rest = [seq for seq in seqs if seq not in found]
        return found | self.stored(scope, model, rest) if rest else found

    def stored(
        self,
        scope: int,
        model: int,
        seqs: Sequence[int],
    ) -> dict[int, Vector]:
        among, values = self.store.dialect.among("seq", seqs)
        rows = self.store.read(
            (scope,),
            f"SELECT seq, vector FROM vectors WHERE model = ? AND scope = ? AND {among}",
            (model, scope, *values),
        )
        return {seq: self.unpack(vector) for seq, vector in rows}

    def similarities(
        self,
        scopes: Sequence[Scope],
        model: str,
        vector: Vector,
        seqs: Sequence[int],
    ) -> dict[int, float]:
        found: dict[int, float] = {}
        vector = unit(vector)
        for number in self.store.numbers(scopes):
            known = self.model(number, model)
            if known is not None and known[1] == len(vector):
                found |= self._similarities(number, known[0], vector, seqs)
        return found

    def _similarities(
        self,
        number: int,
        model: int,
        vector: Vector,
        seqs: Sequence[int],
    ) -> dict[int, float]:
        found = self._matrices.similarities(
            partial(self.store.read, (number,)), model, number, vector, seqs
        )
        rest = [seq for seq in seqs if seq not in found]
        for start in range(0, len(rest), PAGE):
            found |= self.compare(number, model, vector, rest[start : start + PAGE])
        return found

    def add(
        self,
        scopes: Sequence[Scope],
        model: str,
        vectors: Mapping[int, Vector],
    ) -> None:
        lengths = sorted({len(vector) for vector in vectors.values()})
        if len(lengths) > 1:
            raise DimensionMismatchError(
                f"Vectors of {model} differ in length: {lengths}. None was stored."
            )
        numbers = self.store.numbers(scopes)
        if vectors and numbers:
            self.store.transact(
                numbers,
                lambda execute: self.insert(execute, numbers, model, lengths[0], vectors),
            )

    def insert(
        self,
        execute: Statements,
        numbers: Numbers,
        identity: str,
        dimensions: int,
        vectors: Mapping[int, Vector],
    ) -> None:
        seqs = sorted(vectors)
        there = dict[int, list[int]]()
        for start in range(0, len(seqs), PAGE):
            page = seqs[start : start + PAGE]
            for scope, seq in execute(
                (
                    f"SELECT scope, seq FROM memories WHERE scope IN ({marks(numbers)}) AND seq IN "
                    f"({marks(page)})"
                ),
                (*numbers, *page),
            ):
                there.setdefault(scope, []).append(seq)
        for scope, found in sorted(there.items()):
            model = self._model_number(execute, scope, identity, dimensions)
            # Replaced instead of updated: a new row has a new number, by which caches notice it.
            for start in range(0, len(found), PAGE):
                page = found[start : start + PAGE]
                execute(
                    f"DELETE FROM vectors WHERE model = ? AND scope = ? AND seq IN ({marks(page)})",
                    (model, scope, *page),
                )
            self.insert_rows(execute, model, scope, {seq: vectors[seq] for seq in found})
            _advance(execute, model, scope)

    def insert_rows(
        self,
        execute: Statements,
        model: int,
        scope: int,
        vectors: Mapping[int, Vector],
    ) -> None:
        """Insert vectors of one scope, which has none of these."""
        execute.many(
            "INSERT INTO vectors (model, scope, seq, vector) VALUES (?, ?, ?, ?)",
            [(model, scope, seq, self.pack(vector)) for seq, vector in vectors.items()],
        )

    def _model_number(
        self,
        execute: Statements,
        scope: int,
        identity: str,
        dimensions: int,
    ) -> int:
        for number, length in self.model_row(execute, scope, identity):
            if length != dimensions:
                raise DimensionMismatchError(
                    f"The store has {length}d vectors of {identity}, but {dimensions}d were "
                    "given. None was stored. "
                    "Embed the memories anew with it, from the beginning."
                )
            return int(number)
        return self.make_model(execute, scope, identity, dimensions)

    def missing(
        self,
        model: str,
        limit: int,
        scopes: Sequence[Scope] | None = None,
        *,
        after: Memory | None = None,
    ) -> Memories:
        found: list[Memory] = []
        lacking: dict[int, Mark | None] = {}
        for number, part, below in self._pieces(scopes, after):
            if len(found) >= limit:
                break
            if number not in lacking:
                mark = self._mark(model, number)
                lacking[number] = mark if self._lacks(number, mark) else None
            if known := lacking[number]:
                more = limit - len(found)
                found += self._without_vector(known, number, PARTS[part], below, more)
        return found

    def _pieces(
        self, scopes: Sequence[Scope] | None, after: Memory | None
    ) -> Iterator[tuple[int, int, int | None]]:
        """Yield the ranges to search after a memory, in order: scope number, part, and upper bound
        of `seq`.
        """
        last = 0
        if after is not None:
            (last,) = self.store.numbers((after.scope,)) or (0,)
        if scopes is None:
            numbers = self._numbers_from(last)
        else:
            these = self.store.numbers(scopes)
            numbers = iter(these[these.index(last) :] if last in these else these)
        for number in numbers:
            first = 0
            if after is not None and number == last:
                first = int(after.kind in SAID)
                yield number, first, after.seq
                first += 1
            for part in range(first, len(PARTS)):
                yield number, part, None

    def _numbers_from(self, first: int) -> Iterator[int]:
        """Yield the numbers of all scopes from this one on, some at a time: a step that goes on
        after the last one does not read all of them again.
        """
        sql = f"SELECT number FROM scopes WHERE number >= ? ORDER BY number LIMIT {PAGE}"
        while page := [number for (number,) in self.store.read(None, sql, (first,))]:
            self.store.learn_scopes(page)
            yield from page
            first = page[-1] + 1

    def _without_vector(
        self,
        mark: Mark,
        number: int,
        part: str,
        below: int | None,
        limit: int,
    ) -> Memories:
        """Return memories without a vector in descending `seq`, so that a caller that continues
        after the last one reads none twice.
        """
        model_number, start = mark
        beyond, values = ("", []) if below is None else (" AND m.seq < ?", [below])
        # A recall asks whether there is one at all, behind the watermark, where few are.
        read = self.store.read if limit == 1 else self.store.read_in_order
        rows = read(
            (number,),
            f"SELECT {SELECT_MEMORY} FROM memories m "
            f"WHERE m.scope = ? AND m.seq > ?{beyond} AND {part} AND {NO_VECTOR} "
            f"ORDER BY m.seq DESC LIMIT {int(limit)}",
            (number, start, *values, model_number, number),
        )
        return self.store.memories(rows)

    def _mark(self, model: str, number: int) -> Mark:
        """Return the number of a model in a scope, and the `seq` up to which everything is
        embedded.
        """
        model_number = (self.model(number, model) or (0, 0))[0]
        done = self.store.read_cached(
            (number,),
            "SELECT seq FROM embedded WHERE model = ? AND scope = ?",
            (model_number, number),
        )
        return model_number, done[0][0] if done else 0

    def _lacks(self, number: int, mark: Mark) -> bool:
        """Whether a scope has a memory without a vector of this model. The first one is usually
        just after the watermark.
        """
        model_number, start = mark
        return bool(
            self.store.read_cached(
                (number,),
                f"SELECT m.seq FROM memories m WHERE m.scope = ? AND m.seq > ? AND {NO_VECTOR} "
                "ORDER BY m.seq LIMIT 1",
                (number, start, model_number, number),
            )
        )

    def behind(self, model: str, scopes: Sequence[Scope] | None = None) -> dict[Scope, int]:
        numbers = self.store.numbers(self.store.scopes() if scopes is None else scopes)
        newest = dict[int, int]()
        for start in range(0, len(numbers), PAGE):
            page = numbers[start : start + PAGE]
            newest |= self._beyond_marks(None if scopes is None else page, model, page)
        # The watermark may lag after a memory without a vector was removed, so verify each scope
        # that it reports.
        return {
            self.store.scope_of(number): newest[number]
            for number in numbers
            if number in newest and self._lacks(number, self._mark(model, number))
        }

    def _beyond_marks(
        self,
        reach: Reach,
        model: str,
        numbers: Numbers,
    ) -> dict[int, int]:
        """Return the highest `seq` of each scope whose watermark is below it."""
        marked = self.store.read(
            reach,
            "SELECT e.scope, e.seq, (SELECT max(m.seq) FROM memories m WHERE m.scope = e.scope) "
            "FROM embedded e "
            f"WHERE e.scope IN ({marks(numbers)}) AND {self.store.dialect.of_identity('e')}",
            (*numbers, model),
        )
        beyond = {scope: last for scope, mark, last in marked if last is not None and last > mark}
        if without := sorted({*numbers} - {scope for scope, *_ in marked}):
            sql = (
                f"SELECT scope, max(seq) FROM memories WHERE scope IN ({marks(without)}) GROUP "
                "BY scope"
            )
            beyond |= dict(self.store.read(reach, sql, without))
        return beyond

    def models(self, scopes: Sequence[Scope]) -> dict[str, bool]:
        complete: dict[str, bool] = {}
        for scope in self.store.numbers(scopes):
            for identity, model, mark in self.scope_models(scope):
                ((any_, all_),) = self.store.read_cached(
                    (scope,),
                    "SELECT EXISTS (SELECT 1 FROM vectors v WHERE v.model = ? AND v.scope = ?), "
                    "NOT EXISTS "
                    f"(SELECT 1 FROM memories m WHERE m.scope = ? AND m.seq > ? AND {NO_VECTOR})",
                    (model, scope, scope, mark, model, scope),
                )
                if any_:
                    complete[identity] = bool(all_) and complete.get(identity, True)
        return complete

    def dimensions(self, scopes: Sequence[Scope]) -> dict[str, int]:
        lengths: dict[str, int] = {}
        for scope in self.store.numbers(scopes):
            for identity, *_ in self.scope_models(scope):
                known = self.model(scope, identity)
                # In SQLite a model is shared by all scopes, so check that this scope has vectors of
                # it.
                sql = "SELECT 1 FROM vectors WHERE model = ? AND scope = ? LIMIT 1"
                if known is not None and self.store.read((scope,), sql, (known[0], scope)):
                    lengths[identity] = known[1]
        return lengths

    def coverage(self, scopes: Sequence[Scope] | None = None) -> dict[str, int]:
        numbers = None if scopes is None else self.store.numbers(scopes)
        within = "TRUE" if numbers is None else f"v.scope IN ({marks(numbers)})"
        within_memories = within.replace("v.", "m.")
        of_model = self.store.dialect.of_model("v")
        # Nearly all memories are active: all vectors are counted in their index, and those of the
        # few others taken off.
        rows = self.store.read(
            numbers,
            "SELECT identity, sum(vectors) FROM ("
            "SELECT d.identity AS identity, count(*) AS vectors FROM models d JOIN vectors v "
            f"ON {of_model} WHERE {within} GROUP BY d.identity UNION ALL "
            "SELECT d.identity, -count(*) FROM memories m CROSS JOIN vectors v JOIN models d "
            f"ON {of_model} WHERE {within_memories} AND m.status <> 'active' "
            "AND m.scope = v.scope AND m.seq = v.seq GROUP BY d.identity"
            ") AS counts GROUP BY identity HAVING sum(vectors) > 0 ORDER BY identity",
            (*(numbers or ()), *(numbers or ())),
        )
        return {row[0]: int(row[1]) for row in rows}

    def drop(self, model: str, scopes: Sequence[Scope] | None = None) -> int:
        numbers = None if scopes is None else self.store.numbers(scopes)
        return self.store.transact(
            numbers, lambda execute: self._drop_vectors(execute, model, numbers)
        )

    def _drop_vectors(
        self,
        execute: Statements,
        model: str,
        numbers: Reach,
    ) -> int:
        within = "" if numbers is None else f" AND scope IN ({marks(numbers)})"
        vectors, embedded = (
            f"FROM {table} WHERE {self.store.dialect.of_identity(table)}{within}"
            for table in ("vectors", "embedded")
        )
        values = (model, *(numbers or ()))
        ((count,),) = execute(f"SELECT count(*) {vectors}", values)
        execute(f"DELETE {vectors}", values)
        execute(f"DELETE {embedded}", values)
        self.drop_models(execute, model, numbers)
        # No entry of the journal tells of it, so that workers learn it here.
        table, scope = self.store.change_row
        these = "" if numbers is None else f" WHERE {scope} IN ({marks(numbers)})"
        execute(f"UPDATE {table} SET changed_at = coalesce(changed_at, 0){these}", numbers or ())
        return int(count)


def _advance(
    execute: Statements,
    model: int,
    scope: int,
) -> None:
    """Advance the watermark up to which everything in the scope is embedded."""
    known = execute("SELECT seq FROM embedded WHERE model = ? AND scope = ?", (model, scope))
    start = mark = known[0][0] if known else 0
    while True:
        # Compared in small pages: usually the first page shows what is missing, and the queries are
        # too simple to get a bad plan.
        memories = execute(
            f"SELECT seq FROM memories WHERE scope = ? AND seq > ? ORDER BY seq LIMIT {PAGE}",
            (scope, mark),
        )
        if not memories:
            break
        last = memories[-1][0]
        embedded = execute(
            "SELECT seq FROM vectors WHERE model = ? AND scope = ? AND seq > ? AND seq <= ?",
            (model, scope, mark, last),
        )
        there = set(embedded)
        missing = [row[0] for row in memories if row not in there]
        mark = missing[0] - 1 if missing else last
        if missing:
            break
    if mark > start or not known:
        execute(
            "INSERT INTO embedded (model, scope, seq) VALUES (?, ?, ?) "
            "ON CONFLICT (model, scope) DO UPDATE SET seq = excluded.seq",
            (model, scope, mark),
        )
