"""What every SQL store does alike: reads by scope, sessions, the journal, jobs. Backends add their indexes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from ..errors import DimensionMismatchError, NotFound
from ..types import Edges, Events, Job, Memories, Memory, Micros, Names, Scope, Scopes, Sessions, new_id
from .base import Author, Filter, Jobs, Ranked, T, Vector, Writer
from .filters import Clause, Dialect, invalid_now, marks, where_clause
from .matrix import Matrices, Read
from .rows import (
    EDGES,
    EVENTS,
    JOB_COLUMNS,
    SELECT_MEMORY,
    SESSIONS,
    TABLES,
    Row,
    Rows,
    Statements,
    edge_from,
    event_from,
    exported,
    job_from,
    memory_from,
    session_from,
)

NEXT_FIRST = "m.kind IN ('turn', 'document'), m.seq DESC"  # in which order memories get their vectors
LOST = "'Its worker ' || worker || ' was lost.'"
PAGE = 500
Numbers = Sequence[int]
Reach = Numbers | None
"""The scopes a statement may see, by number; None for all of them, which only upkeep asks for."""
Spot = tuple[int, str, int]
Stream = Callable[[Reach, str, Sequence[Any]], Iterator[Row]]


class SQLStore(ABC):
    """The portable half of a store; see `Store` in base.py for what each method promises."""

    location: str
    dialect: Dialect

    def __init__(self) -> None:
        self._numbers: dict[Scope, int] = {}
        self._names: dict[int, Scope] = {}
        self.forget_cache()

    @abstractmethod
    def read(self, reach: Reach, sql: str, values: Sequence[Any] = ()) -> Rows:
        """Runs one SELECT that may see these scopes only, and returns its rows."""

    @abstractmethod
    def stream(self, reach: Reach, sql: str, values: Sequence[Any]) -> Iterator[Row]:
        """Like `read`, but row by row in constant memory."""

    @abstractmethod
    def transact(self, reach: Reach, work: Callable[[Statements], T]) -> T:
        """Runs `work` in one write transaction that is not journalled: bookkeeping, not memory."""

    @abstractmethod
    def write(self, author: Author, work: Callable[[Writer], T]) -> T:
        """See Store."""

    # Scopes

    @abstractmethod
    def find_scopes(self, scopes: Sequence[Scope]) -> Rows:
        """Number, kind and key of those of these scopes that exist."""

    @abstractmethod
    def make_scope(self, scope: Scope) -> None:
        """Adds a scope, unless it is there."""

    def scopes(self) -> Scopes:
        return [self._learn(*row) for row in self.read(None, "SELECT number, kind, key FROM scopes ORDER BY number")]

    def numbers(self, scopes: Sequence[Scope]) -> list[int]:
        """The numbers of the scopes that exist here. Reading from a scope never creates it."""
        new = [scope for scope in scopes if scope not in self._numbers]
        for row in self.find_scopes(new) if new else ():
            self._learn(*row)
        return [self._numbers[scope] for scope in dict.fromkeys(scopes) if scope in self._numbers]

    def _learn(self, number: int, kind: str, key: str) -> Scope:
        scope = self._names.get(number) or Scope(kind, key)
        self._names[number] = scope
        self._numbers[scope] = number
        return scope

    def _learn_all(self, numbers: Iterable[int]) -> None:
        """Makes sure that these scopes are known by name, of which one asks that may see all of them."""
        if any(number not in self._names for number in numbers):
            self.scopes()

    def _scope(self, number: int) -> Scope:
        return self._names[number]

    # Memories

    def get(self, scopes: Sequence[Scope], refs: Sequence[str | int]) -> Memories:
        numbers = self.numbers(scopes)
        if not numbers:
            return []
        found: dict[str | int, Memory] = {}
        for column, kind in (("id", str), ("seq", int)):
            wanted = [ref for ref in refs if isinstance(ref, kind)]
            for start in range(0, len(wanted), PAGE):
                page = wanted[start : start + PAGE]
                among, values = self.dialect.among(f"m.{column}", page)
                for memory in self._select(numbers, f"{among} AND m.scope IN ({marks(numbers)})", (*values, *numbers)):
                    found.setdefault(memory.id, memory)
                    found[memory.seq] = memory
        return [found[ref] for ref in refs if ref in found]

    def list(
        self,
        where: Filter,
        *,
        limit: int | None = None,
        after: int | None = None,
        order: Literal["newest", "oldest"] = "newest",
    ) -> Memories:
        numbers = self.numbers(where.scopes)
        condition, values = where_clause(where, numbers, self.dialect)
        direction, beyond = ("DESC", "<") if order == "newest" else ("ASC", ">")
        if after is not None:
            condition, values = f"{condition} AND m.seq {beyond} ?", [*values, after]
        tail = f"ORDER BY m.seq {direction}" + ("" if limit is None else f" LIMIT {int(limit)}")
        return self._select(numbers, condition, values, tail) if numbers else []

    def _select(self, reach: Reach, condition: str, values: Sequence[Any], tail: str = "") -> Memories:
        rows = self.read(reach, f"SELECT {SELECT_MEMORY} FROM memories m WHERE {condition} {tail}", values)
        return [memory_from(row, self._scope) for row in rows]

    def neighbours(self, memories: Sequence[Memory], reach: int) -> dict[int, Memories]:
        self.numbers([memory.scope for memory in memories])
        around: dict[int, list[Memory]] = {memory.seq: [] for memory in memories}
        placed = [(memory, spot) for memory in memories if (spot := self._spot(memory))]
        there = {spot: memory for memory, spot in placed if memory.status == "active"}
        steps = (*range(-reach, 0), *range(1, reach + 1))
        wanted = {(number, session, at + step) for _, (number, session, at) in placed for step in steps}
        there |= self._at(sorted(wanted - there.keys()))
        for memory, (number, session, at) in placed:
            near = (there.get((number, session, at + step)) for step in steps)
            around[memory.seq] = [other for other in near if other is not None]
        return around

    def _spot(self, memory: Memory) -> Spot | None:
        """Where a memory stands: its scope's number, its session and its position there."""
        if memory.session is None or memory.position is None or memory.scope not in self._numbers:
            return None
        return self._numbers[memory.scope], memory.session, memory.position

    def _at(self, spots: Sequence[Spot]) -> dict[Spot, Memory]:
        found: dict[Spot, Memory] = {}
        for start in range(0, len(spots), PAGE):
            page = spots[start : start + PAGE]
            table, values = self.dialect.table(page, "bigint", "text", "bigint")
            rows = self.read(
                sorted({number for number, _, _ in page}),
                f"WITH spot (scope, session, position) AS ({table}) "
                # A cross join keeps the planner from reading the whole scope and looking each row up among the spots.
                f"SELECT {SELECT_MEMORY} FROM spot s CROSS JOIN memories m WHERE m.scope = s.scope "
                "AND m.session = s.session AND m.position = s.position AND m.status = 'active'",
                values,
            )
            for memory in (memory_from(row, self._scope) for row in rows):
                if spot := self._spot(memory):
                    found[spot] = memory
        return found

    def authors(self, scopes: Sequence[Scope]) -> Names:
        # Jumps from one author to the next along the index instead of reading every row.
        names: set[str] = set()
        for number in self.numbers(scopes):
            rows = self.read(
                (number,),
                "WITH RECURSIVE step (author) AS ("
                "SELECT (SELECT min(author) FROM memories WHERE scope = ? AND author <> '') UNION ALL "
                "SELECT (SELECT min(author) FROM memories WHERE scope = ? AND author > s.author AND author <> '') "
                "FROM step s WHERE s.author IS NOT NULL) SELECT author FROM step WHERE author IS NOT NULL LIMIT 200",
                (number, number),
            )
            names.update(row[0] for row in rows)
        return sorted(names)[:200]

    def counts(self, scopes: Sequence[Scope]) -> dict[str, dict[str, int]]:
        numbers = self.numbers(scopes)
        rows = self.read(
            numbers,
            f"SELECT kind, status, count(*) FROM memories WHERE scope IN ({marks(numbers)}) "
            "GROUP BY kind, status ORDER BY kind, status",
            numbers,
        )
        counted: dict[str, dict[str, int]] = {}
        for kind, status, count in rows:
            counted.setdefault(kind, {})[status] = count
        return counted

    def by_entity(self, where: Filter, folded_names: Sequence[str], limit: int) -> Ranked:
        numbers = self.numbers(where.scopes)
        if not numbers or not folded_names:
            return []
        condition, values = where_clause(where, numbers, self.dialect)
        entities = self.read(
            numbers,
            f"SELECT DISTINCT entity FROM entity_names WHERE scope IN ({marks(numbers)}) "
            f"AND folded IN ({marks(folded_names)})",
            (*numbers, *folded_names),
        )
        if not entities:
            return []
        rows = self.read(
            numbers,
            # A cross join keeps the planner from starting with every memory of the scope.
            "SELECT m.seq, count(*) FROM mentions t CROSS JOIN memories m WHERE m.scope = t.scope AND m.id = t.memory "
            f"AND t.scope IN ({marks(numbers)}) AND t.entity IN ({marks(entities)}) AND {condition} "
            "GROUP BY m.seq ORDER BY count(*) DESC, m.seq DESC LIMIT ?",
            (*numbers, *(entity for (entity,) in entities), *values, limit),
        )
        return [(seq, min(1.0, count / len(set(folded_names)))) for seq, count in rows]

    def touch(self, scopes: Sequence[Scope], uses: Mapping[int, int], at: Micros) -> None:
        numbers = self.numbers(scopes)
        # In order, so that two processes that touch the same memories never wait for each other in a circle.
        rows = [(uses[seq], at, number, seq) for number in sorted(numbers) for seq in sorted(uses)]
        if rows:
            self.transact(
                numbers,
                lambda execute: execute.many(
                    "UPDATE memories SET access_count = access_count + ?, last_accessed = ? "
                    "WHERE scope = ? AND seq = ?",
                    rows,
                ),
            )

    # Vectors

    @abstractmethod
    def model_row(self, execute: Callable[..., Rows], scope: int, identity: str) -> Rows:
        """Number and dimensions of a model in a scope, or nothing."""

    @abstractmethod
    def scope_models(self, scope: int) -> Rows:
        """Identity and number of the models in a scope, and the number up to which it is wholly embedded."""

    @abstractmethod
    def make_model(self, execute: Statements, scope: int, identity: str, dimensions: int) -> int:
        """Adds a model and returns its number."""

    @abstractmethod
    def drop_models(self, execute: Statements, identity: str, numbers: Reach) -> None:
        """Forgets a model that has no vectors any more, so that it may come back with another length."""

    def pack(self, vector: Vector) -> Any:
        """A vector as its column takes it."""
        return np.asarray(vector, np.float32).tobytes()

    def unpack(self, value: Any) -> Vector:
        """A vector as its column gives it."""
        return np.frombuffer(value, np.float32)

    @abstractmethod
    def newest(self, read: Read, scope: int) -> tuple[Any, ...]:
        """How far a scope's journal and vectors have come, and how often its vectors were dropped."""

    @abstractmethod
    def nearest(self, where: Filter, number: int, model: int, vector: Vector, limit: int) -> Ranked:
        """The memories of one scope that are nearest to a vector of length one."""

    @abstractmethod
    def scan(self, where: Filter, number: int, model: int, vector: Vector, limit: int) -> Ranked:
        """Like `nearest`, from what is stored, without anything kept in this process."""

    def forget_cache(self) -> None:
        """Drops the vectors that this process keeps in memory."""
        self._matrices = Matrices(self.newest, self.dialect)

    def by_vector(self, where: Filter, model: str, vector: Vector, limit: int) -> Ranked:
        found: Ranked = []
        vector = np.asarray(vector, np.float32) / (float(np.linalg.norm(vector)) or 1.0)
        for number in self.numbers(where.scopes):
            known = self.model(number, model)
            if known is not None and known[1] == len(vector) and limit > 0:
                found += self.nearest(where, number, known[0], vector, limit)
        found.sort(key=lambda pair: (-pair[1], pair[0]))
        return found[:limit]

    def nearest_cached(self, where: Filter, number: int, model: int, vector: Vector, limit: int) -> Ranked:
        """`nearest` by the vectors kept in this process, where they are worth keeping and are asked as they are."""
        matrix = None if where.narrow else self._matrices.get(partial(self.read, (number,)), model, number)
        if matrix is None:
            return self.scan(where, number, model, vector, limit)
        return matrix.nearest(vector, limit, self._hidden(where, number))

    def _hidden(self, where: Filter, number: int) -> set[int]:
        if where.valid_at is None:
            return set()
        values = (number, where.valid_at, where.valid_at)
        return {row[0] for row in self.read((number,), invalid_now((number,)), values)}

    def model(self, scope: int, identity: str) -> tuple[int, int] | None:
        """Number and dimensions of a model in the scope with this number, or None."""
        for number, dimensions in self.model_row(partial(self.read, (scope,)), scope, identity):
            return number, dimensions
        return None

    def vectors(self, scopes: Sequence[Scope], model: str, seqs: Sequence[int]) -> dict[int, Vector]:
        found: dict[int, Vector] = {}
        for scope in self.numbers(scopes):
            if known := self.model(scope, model):
                for start in range(0, len(seqs), PAGE):
                    found |= self._vectors(scope, known[0], seqs[start : start + PAGE])
        return found

    def _vectors(self, scope: int, model: int, seqs: Sequence[int]) -> dict[int, Vector]:
        found = self._matrices.vectors(partial(self.read, (scope,)), model, scope, seqs)
        rest = [seq for seq in seqs if seq not in found]
        if rest:
            among, values = self.dialect.among("seq", rest)
            rows = self.read(
                (scope,),
                f"SELECT seq, vector FROM vectors WHERE model = ? AND scope = ? AND {among}",
                (model, scope, *values),
            )
            found |= {seq: self.unpack(vector) for seq, vector in rows}
        return found

    def add_vectors(self, scopes: Sequence[Scope], model: str, vectors: Mapping[int, Vector]) -> None:
        lengths = sorted({len(vector) for vector in vectors.values()})
        if len(lengths) > 1:
            raise DimensionMismatchError(f"Vectors of {model} differ in length: {lengths}. None was stored.")
        numbers = self.numbers(scopes)
        if vectors and numbers:
            self.transact(numbers, lambda execute: self._add_vectors(execute, numbers, model, lengths[0], vectors))

    def _add_vectors(
        self, execute: Statements, numbers: Numbers, identity: str, dimensions: int, vectors: Mapping[int, Vector]
    ) -> None:
        seqs, there = sorted(vectors), dict[int, list[int]]()
        for start in range(0, len(seqs), PAGE):
            page = seqs[start : start + PAGE]
            for scope, seq in execute(
                f"SELECT scope, seq FROM memories WHERE scope IN ({marks(numbers)}) AND seq IN ({marks(page)})",
                (*numbers, *page),
            ):
                there.setdefault(scope, []).append(seq)
        for scope, found in sorted(there.items()):
            model = self._model_number(execute, scope, identity, dimensions)
            # Replaced, not changed: a new row has a new number, by which caches see that it is new.
            for start in range(0, len(found), PAGE):
                page = found[start : start + PAGE]
                execute(
                    f"DELETE FROM vectors WHERE model = ? AND scope = ? AND seq IN ({marks(page)})",
                    (model, scope, *page),
                )
            execute.many(
                "INSERT INTO vectors (model, scope, seq, vector) VALUES (?, ?, ?, ?)",
                [(model, scope, seq, self.pack(vectors[seq])) for seq in found],
            )
            _advance(execute, model, scope)

    def _model_number(self, execute: Statements, scope: int, identity: str, dimensions: int) -> int:
        for number, length in self.model_row(execute, scope, identity):
            if length != dimensions:
                raise DimensionMismatchError(
                    f"The store has {length}d vectors of {identity}, but {dimensions}d were given. None was stored. "
                    "Run `holdfast reembed --fresh` to make them anew."
                )
            return int(number)
        return self.make_model(execute, scope, identity, dimensions)

    def without_vector(self, model: str, limit: int, scopes: Sequence[Scope] | None = None) -> Memories:
        if scopes is None:
            scopes = self.scopes()
        found: list[Memory] = []
        for number in self.numbers(scopes):
            if len(found) < limit:
                found += self._without_vector(model, number, limit - len(found))
        return found

    def _without_vector(self, model: str, number: int, limit: int, order: str = NEXT_FIRST) -> Memories:
        model_number = (self.model(number, model) or (0, 0))[0]
        done = self.read((number,), "SELECT seq FROM embedded WHERE model = ? AND scope = ?", (model_number, number))
        start = done[0][0] if done else 0
        return self._select(
            (number,),
            "m.scope = ? AND m.seq > ? AND NOT EXISTS "
            "(SELECT 1 FROM vectors v WHERE v.model = ? AND v.scope = m.scope AND v.seq = m.seq)",
            (number, start, model_number),
            f"ORDER BY {order} LIMIT {int(limit)}",
        )

    def behind(self, model: str, scopes: Sequence[Scope] | None = None) -> dict[Scope, int]:
        numbers = self.numbers(self.scopes() if scopes is None else scopes)
        newest = dict[int, int]()
        for start in range(0, len(numbers), PAGE):
            page = numbers[start : start + PAGE]
            newest |= self._beyond_marks(None if scopes is None else page, model, page)
        # A mark may lag behind when a memory without a vector was removed, so those it accuses are looked at.
        return {
            self._scope(number): newest[number]
            for number in numbers
            if number in newest and self._without_vector(model, number, 1, "m.seq")
        }

    def _beyond_marks(self, reach: Reach, model: str, numbers: Numbers) -> dict[int, int]:
        """The highest `seq` of each scope that is not marked as wholly embedded."""
        marked = self.read(
            reach,
            "SELECT e.scope, e.seq, (SELECT max(m.seq) FROM memories m WHERE m.scope = e.scope) FROM embedded e "
            f"WHERE e.scope IN ({marks(numbers)}) AND e.model IN (SELECT number FROM models WHERE identity = ?)",
            (*numbers, model),
        )
        beyond = {scope: last for scope, mark, last in marked if last is not None and last > mark}
        if without := sorted({*numbers} - {scope for scope, *_ in marked}):
            sql = f"SELECT scope, max(seq) FROM memories WHERE scope IN ({marks(without)}) GROUP BY scope"
            beyond |= dict(self.read(reach, sql, without))
        return beyond

    def models(self, scopes: Sequence[Scope]) -> dict[str, bool]:
        complete: dict[str, bool] = {}
        for scope in self.numbers(scopes):
            for identity, model, mark in self.scope_models(scope):
                ((any_, all_),) = self.read(
                    (scope,),
                    "SELECT EXISTS (SELECT 1 FROM vectors v WHERE v.model = ? AND v.scope = ?), NOT EXISTS "
                    "(SELECT 1 FROM memories m WHERE m.scope = ? AND m.seq > ? AND NOT EXISTS "
                    "(SELECT 1 FROM vectors v WHERE v.model = ? AND v.scope = m.scope AND v.seq = m.seq))",
                    (model, scope, scope, mark, model),
                )
                if any_:
                    complete[identity] = bool(all_) and complete.get(identity, True)
        return complete

    def coverage(self, scopes: Sequence[Scope] | None = None) -> dict[str, int]:
        numbers = None if scopes is None else self.numbers(scopes)
        within = "" if numbers is None else f" AND v.scope IN ({marks(numbers)})"
        rows = self.read(
            numbers,
            "SELECT d.identity, count(*) FROM models d JOIN vectors v ON v.model = d.number JOIN memories m "
            f"ON m.scope = v.scope AND m.seq = v.seq WHERE m.status = 'active'{within} "
            "GROUP BY d.identity ORDER BY d.identity",
            numbers or (),
        )
        return {row[0]: row[1] for row in rows}

    def drop_vectors(self, model: str, scopes: Sequence[Scope] | None = None) -> int:
        numbers = None if scopes is None else self.numbers(scopes)
        return self.transact(numbers, lambda execute: self._drop_vectors(execute, model, numbers))

    def _drop_vectors(self, execute: Statements, model: str, numbers: Reach) -> int:
        within = "" if numbers is None else f" AND scope IN ({marks(numbers)})"
        of_model = f"model IN (SELECT number FROM models WHERE identity = ?){within}"
        values = (model, *(numbers or ()))
        ((count,),) = execute(f"SELECT count(*) FROM vectors WHERE {of_model}", values)
        execute(f"DELETE FROM vectors WHERE {of_model}", values)
        execute(f"DELETE FROM embedded WHERE {of_model}", values)
        self.drop_models(execute, model, numbers)
        return int(count)

    # Sessions, edges, journal

    def sessions(self, scopes: Sequence[Scope], *, open_only: bool = False) -> Sessions:
        numbers = self.numbers(scopes)
        ended = " AND ended_at IS NULL" if open_only else ""
        rows = self.read(
            numbers,
            f"SELECT scope, {', '.join(SESSIONS.columns)} FROM sessions WHERE scope IN ({marks(numbers)}){ended} "
            "ORDER BY last_activity DESC, id DESC",
            numbers,
        )
        return [session_from(row, self._scope) for row in rows]

    def edges(self, scope: Scope, memory: str) -> Edges:
        numbers = self.numbers((scope,))
        rows = self.read(
            numbers,
            f"SELECT scope, {', '.join(EDGES.columns)} FROM edges WHERE scope IN ({marks(numbers)}) "
            "AND (source = ? OR target = ?) ORDER BY created_at, source, target, relation",
            (*numbers, memory, memory),
        )
        return [edge_from(row, self._scope) for row in rows]

    def events(
        self,
        scopes: Sequence[Scope],
        *,
        run: str | None = None,
        target: str | None = None,
        limit: int | None = None,
    ) -> Events:
        numbers = self.numbers(scopes)
        condition = f"scope IN ({marks(numbers)})"
        values: list[Any] = list(numbers)
        for column, value in (("run", run), ("target", target)):
            if value is not None:
                condition, values = f"{condition} AND {column} = ?", [*values, value]
        if target is not None:
            condition += " AND noun = 'memory'"
        tail = "" if limit is None else f" LIMIT {int(limit)}"
        rows = self.read(
            numbers,
            f"SELECT seq, scope, {', '.join(EVENTS.columns)} FROM events WHERE {condition} ORDER BY seq DESC{tail}",
            values,
        )
        return [event_from(row, self._scope) for row in rows]

    def rows(self, noun: str, scope: Scope) -> Iterator[dict[str, Any]]:
        return self.rows_through(self.stream, noun, scope)

    def rows_through(self, stream: Stream, noun: str, scope: Scope) -> Iterator[dict[str, Any]]:
        """`rows` read through a connection of the caller's choice."""
        if noun == "vector":
            yield from self._vector_rows(stream, scope)
            return
        table = TABLES[noun]
        for number in self.numbers((scope,)):
            for values in stream(
                (number,),
                f"SELECT {', '.join(table.columns)} FROM {table.name} WHERE scope = ? ORDER BY {table.order}",
                (number,),
            ):
                yield exported(table, values)

    def _vector_rows(self, stream: Stream, scope: Scope) -> Iterator[dict[str, Any]]:
        for number in self.numbers((scope,)):
            for identity, memory, vector in stream(
                (number,),
                "SELECT d.identity, m.id, v.vector FROM vectors v JOIN models d ON d.number = v.model "
                "JOIN memories m ON m.scope = v.scope AND m.seq = v.seq WHERE v.scope = ? ORDER BY d.identity, v.seq",
                (number,),
            ):
                yield {"model": identity, "memory": memory, "vector": b64encode(self.unpack(vector).tobytes()).decode()}

    # Jobs

    def enqueue(self, scope: Scope, kind: str, key: str, *, watermark: int) -> None:
        if not self.numbers((scope,)):
            self.make_scope(scope)
        (number,) = self.numbers((scope,))
        self.transact(
            (number,),
            lambda execute: execute(
                "INSERT INTO jobs (scope, kind, key, status, token, worker, retries_left, error, watermark, "
                "done_watermark) VALUES (?, ?, ?, 'pending', '', '', 3, '', ?, 0) "
                "ON CONFLICT (scope, kind, key) DO UPDATE SET watermark = excluded.watermark, retries_left = 3, "
                "retry_at = NULL, status = CASE WHEN jobs.status = 'running' THEN 'running' ELSE 'pending' END "
                "WHERE excluded.watermark > jobs.watermark",
                (number, kind, key, watermark),
            ),
        )

    def claim(
        self,
        kinds: Sequence[str],
        *,
        worker: str,
        now: Micros,
        lease: Micros,
        scopes: Sequence[Scope] | None = None,
        keys: Sequence[str] | None = None,
    ) -> Job | None:
        numbers = None if scopes is None else self.numbers(scopes)
        if numbers == []:
            return None
        these = [("kind", kinds), ("scope", numbers), ("key", keys)]
        condition = " AND ".join(f"{column} IN ({marks(only)})" for column, only in these if only is not None)
        wanted = (f"watermark > done_watermark AND {condition}", [one for _, only in these for one in only or ()])
        hold = (new_id("lease", now), worker, now + lease)

        def work(execute: Statements) -> Rows:
            _give_up_lost(execute, wanted, now)
            return _take_due(execute, wanted, now, hold, self.dialect)

        rows = self.transact(numbers, work)
        self._learn_all(row[0] for row in rows)
        return job_from(rows[0], self._scope) if rows else None

    def heartbeat(self, job: Job, *, now: Micros, lease: Micros) -> bool:
        return self._if_held(job, "lease_until = ?", (now + lease,), "lease_until > ?", (now,))

    def fail(self, job: Job, *, error: str, retry_at: Micros) -> bool:
        return self._if_held(
            job,
            "status = 'error', token = '', worker = '', lease_until = NULL, error = ?, retry_at = ?, "
            "retries_left = retries_left - 1",
            (error, retry_at),
        )

    def release(self, job: Job) -> bool:
        return self._if_held(job, "status = 'pending', token = '', worker = '', lease_until = NULL", ())

    def jobs(self, scopes: Sequence[Scope] | None = None) -> Jobs:
        numbers = None if scopes is None else self.numbers(scopes)
        within = "" if numbers is None else f"WHERE scope IN ({marks(numbers)}) "
        rows = self.read(
            numbers,
            f"SELECT scope, {', '.join(JOB_COLUMNS)} FROM jobs {within}ORDER BY scope, kind, key",
            numbers or (),
        )
        self._learn_all(row[0] for row in rows)
        return [job_from(row, self._scope) for row in rows]

    def _if_held(self, job: Job, change: str, values: Sequence[Any], extra: str = "", more: Sequence[Any] = ()) -> bool:
        numbers = self.numbers((job.scope,))
        if not numbers:
            raise NotFound(f"No job {job.kind} {job.key!r} in scope '{job.scope}'.")
        held = "scope = ? AND kind = ? AND key = ? AND token = ? AND status = 'running'"
        sql = f"UPDATE jobs SET {change} WHERE {held}{f' AND {extra}' if extra else ''} RETURNING key"
        key = (numbers[0], job.kind, job.key, job.token)
        return bool(self.transact(numbers, lambda execute: execute(sql, (*values, *key, *more))))


def _give_up_lost(execute: Statements, wanted: Clause, now: Micros) -> None:
    """Ends the jobs whose worker was lost on their last try; they would look as if they were running for ever."""
    condition, values = wanted
    execute(
        f"UPDATE jobs SET status = 'error', token = '', worker = '', lease_until = NULL, retry_at = ?, "
        f"retries_left = 0, error = {LOST} WHERE {condition} AND retries_left <= 1 AND status = 'running' "
        "AND lease_until <= ?",
        (now, *values, now),
    )


def _take_due(
    execute: Statements, wanted: Clause, now: Micros, hold: tuple[str, str, Micros], dialect: Dialect
) -> Rows:
    """Takes one job for the token, worker and time in `hold`, and returns its row."""
    condition, values = wanted
    return execute(
        f"WITH due AS MATERIALIZED (SELECT scope, kind, key FROM jobs WHERE {condition} AND retries_left > 0 AND "
        "((status IN ('pending', 'error') AND coalesce(retry_at, 0) <= ?) OR "
        "(status = 'running' AND lease_until <= ?)) "
        f"ORDER BY coalesce(retry_at, 0), scope, kind, key LIMIT 1{dialect.skip_locked}) "
        "UPDATE jobs SET status = 'running', token = ?, worker = ?, lease_until = ?, "
        # A lease that ran out is a try that failed, or a job that kills its worker would come back for ever.
        f"error = CASE WHEN status = 'running' THEN {LOST} ELSE error END, "
        "retries_left = CASE WHEN status = 'running' THEN retries_left - 1 ELSE retries_left END FROM due "
        "WHERE jobs.scope = due.scope AND jobs.kind = due.kind AND jobs.key = due.key RETURNING "
        f"{', '.join(f'jobs.{column}' for column in ('scope', *JOB_COLUMNS))}",
        (*values, now, now, *hold),
    )


def _advance(execute: Statements, model: int, scope: int) -> None:
    """Moves the mark up to which the scope is wholly embedded."""
    known = execute("SELECT seq FROM embedded WHERE model = ? AND scope = ?", (model, scope))
    start = mark = known[0][0] if known else 0
    while True:
        # Side by side in small steps: usually the first one shows what is missing, and no plan can go wrong.
        memories = execute(
            f"SELECT seq FROM memories WHERE scope = ? AND seq > ? ORDER BY seq LIMIT {PAGE}", (scope, mark)
        )
        if not memories:
            break
        last = memories[-1][0]
        embedded = execute(
            "SELECT seq FROM vectors WHERE model = ? AND scope = ? AND seq > ? AND seq <= ?", (model, scope, mark, last)
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
