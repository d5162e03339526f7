"""What every SQL store does alike: reads by scope, sessions, the journal, jobs. Backends add their indexes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ..errors import NotFound
from ..types import Edges, Events, Job, Memories, Memory, Micros, Names, Scope, Scopes, Sessions, new_id
from .base import Author, Filter, Ranked, T, Vector, Writer
from .filters import marks, where_clause
from .rows import (
    EDGES,
    EVENTS,
    JOB_COLUMNS,
    SELECT_MEMORY,
    SESSIONS,
    TABLES,
    Execute,
    Row,
    Rows,
    edge_from,
    event_from,
    exported,
    job_from,
    memory_from,
    session_from,
)

DURABLE_FIRST = "m.kind IN ('turn', 'document')"
PAGE = 500
Numbers = list[int]
Spot = tuple[int, str, int]
Stream = Callable[[str, Sequence[Any]], Iterator[Row]]


class SQLStore(ABC):
    """The portable half of a store; see `Store` in base.py for what each method promises."""

    location: str

    def __init__(self) -> None:
        self._numbers: dict[Scope, int] = {}
        self._names: dict[int, Scope] = {}

    @abstractmethod
    def read(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        """Runs one SELECT and returns its rows."""

    @abstractmethod
    def transact(self, work: Callable[[Execute], T]) -> T:
        """Runs `work(execute)` in one write transaction that is not journalled: bookkeeping, not memory."""

    @abstractmethod
    def write(self, author: Author, work: Callable[[Writer], T]) -> T:
        """See Store."""

    # Scopes

    def scopes(self) -> Scopes:
        return [self._learn(*row) for row in self.read("SELECT number, kind, key FROM scopes ORDER BY number")]

    def numbers(self, scopes: Sequence[Scope]) -> Numbers:
        """The numbers of the scopes that exist here. Reading from a scope never creates it."""
        for scope in scopes:
            if scope not in self._numbers:
                for row in self.read(
                    "SELECT number, kind, key FROM scopes WHERE kind = ? AND key = ?", (scope.kind, scope.key)
                ):
                    self._learn(*row)
        return [self._numbers[scope] for scope in dict.fromkeys(scopes) if scope in self._numbers]

    def _learn(self, number: int, kind: str, key: str) -> Scope:
        scope = self._names.get(number) or Scope(kind, key)
        self._names[number] = scope
        self._numbers[scope] = number
        return scope

    def _scope(self, number: int) -> Scope:
        return self._names[number]

    # Memories

    def get(self, scopes: Sequence[Scope], refs: Sequence[str | int]) -> Memories:
        numbers = self.numbers(scopes)
        found: dict[str | int, Memory] = {}
        for column, kind in (("id", str), ("seq", int)):
            wanted = [ref for ref in refs if isinstance(ref, kind)]
            for start in range(0, len(wanted), PAGE):
                page = wanted[start : start + PAGE]
                for memory in self._select(
                    f"m.{column} IN ({marks(page)}) AND m.scope IN ({marks(numbers)})", (*page, *numbers)
                ):
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
        condition, values = where_clause(where, numbers)
        direction, beyond = ("DESC", "<") if order == "newest" else ("ASC", ">")
        if after is not None:
            condition, values = f"{condition} AND m.seq {beyond} ?", [*values, after]
        tail = f"ORDER BY m.seq {direction}" + ("" if limit is None else f" LIMIT {int(limit)}")
        return self._select(condition, values, tail) if numbers else []

    def _select(self, condition: str, values: Sequence[Any], tail: str = "") -> Memories:
        rows = self.read(f"SELECT {SELECT_MEMORY} FROM memories m WHERE {condition} {tail}", values)
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
            rows = self.read(
                f"WITH spot (scope, session, position) AS (VALUES {','.join(['(?,?,?)'] * len(page))}) "
                # A cross join keeps the planner from reading the whole scope and looking each row up among the spots.
                f"SELECT {SELECT_MEMORY} FROM spot s CROSS JOIN memories m WHERE m.scope = s.scope "
                "AND m.session = s.session AND m.position = s.position AND m.status = 'active'",
                [part for spot in page for part in spot],
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
        condition, values = where_clause(where, numbers)
        entities = self.read(
            f"SELECT DISTINCT entity FROM entity_names WHERE scope IN ({marks(numbers)}) "
            f"AND folded IN ({marks(folded_names)})",
            (*numbers, *folded_names),
        )
        if not entities:
            return []
        rows = self.read(
            # A cross join keeps the planner from starting with every memory of the scope.
            "SELECT m.seq, count(*) FROM mentions t CROSS JOIN memories m WHERE m.scope = t.scope AND m.id = t.memory "
            f"AND t.scope IN ({marks(numbers)}) AND t.entity IN ({marks(entities)}) AND {condition} "
            "GROUP BY m.seq ORDER BY count(*) DESC, m.seq DESC LIMIT ?",
            (*numbers, *(entity for (entity,) in entities), *values, limit),
        )
        return [(seq, min(1.0, count / len(set(folded_names)))) for seq, count in rows]

    def touch(self, uses: Mapping[int, int], at: Micros) -> None:
        def work(execute: Execute) -> None:
            for seq, count in uses.items():
                execute(
                    "UPDATE memories SET access_count = access_count + ?, last_accessed = ? WHERE seq = ?",
                    (count, at, seq),
                )

        if uses:
            self.transact(work)

    # Vectors

    def vectors(self, model: str, seqs: Sequence[int]) -> dict[int, Vector]:
        found: dict[int, Vector] = {}
        for start in range(0, len(seqs), PAGE):
            page = seqs[start : start + PAGE]
            rows = self.read(
                # The plus makes the planner look memories up one by one instead of reading the whole model.
                f"SELECT v.seq, v.vector FROM vectors v WHERE v.seq IN ({marks(page)}) "
                "AND +v.model IN (SELECT number FROM models WHERE identity = ?)",
                (*page, model),
            )
            found |= {seq: np.frombuffer(vector, np.float32) for seq, vector in rows}
        return found

    def without_vector(self, model: str, limit: int, scopes: Sequence[Scope] | None = None) -> Memories:
        if scopes is None:
            scopes = self.scopes()
        found: list[Memory] = []
        for number in self.numbers(scopes):
            if len(found) < limit:
                found += self._without_vector(model, number, limit - len(found))
        return found

    def _without_vector(self, model: str, number: int, limit: int) -> Memories:
        known = self.read(
            "SELECT d.number, coalesce(e.seq, 0) FROM models d LEFT JOIN embedded e ON e.model = d.number "
            "AND e.scope = ? WHERE d.identity = ?",
            (number, model),
        )
        model_number, start = known[0] if known else (0, 0)
        return self._select(
            "m.scope = ? AND m.seq > ? AND NOT EXISTS "
            "(SELECT 1 FROM vectors v WHERE v.model = ? AND v.scope = m.scope AND v.seq = m.seq)",
            (number, start, model_number),
            f"ORDER BY {DURABLE_FIRST}, m.seq DESC LIMIT {int(limit)}",
        )

    def models(self, scopes: Sequence[Scope]) -> dict[str, bool]:
        complete: dict[str, bool] = {}
        for number in self.numbers(scopes):
            rows = self.read(
                "SELECT d.identity, (SELECT 1 FROM vectors v WHERE v.model = d.number AND v.scope = ? LIMIT 1), "
                "NOT EXISTS (SELECT 1 FROM memories m WHERE m.scope = ? AND m.seq > coalesce("
                "(SELECT e.seq FROM embedded e WHERE e.model = d.number AND e.scope = ?), 0) AND NOT EXISTS "
                "(SELECT 1 FROM vectors v WHERE v.model = d.number AND v.scope = m.scope AND v.seq = m.seq)) "
                "FROM models d",
                (number, number, number),
            )
            for identity, any_, all_ in rows:
                if any_:
                    complete[identity] = bool(all_) and complete.get(identity, True)
        return complete

    def coverage(self, scopes: Sequence[Scope] | None = None) -> dict[str, int]:
        numbers = self.numbers(self.scopes() if scopes is None else scopes)
        rows = self.read(
            "SELECT d.identity, count(*) FROM models d JOIN vectors v ON v.model = d.number "
            f"JOIN memories m ON m.seq = v.seq WHERE v.scope IN ({marks(numbers)}) AND m.status = 'active' "
            "GROUP BY d.identity ORDER BY d.identity",
            numbers,
        )
        return {row[0]: row[1] for row in rows}

    def drop_vectors(self, model: str, scopes: Sequence[Scope] | None = None) -> int:
        numbers = None if scopes is None else self.numbers(scopes)
        return self.transact(lambda execute: _drop_vectors(execute, model, numbers))

    # Sessions, edges, journal

    def sessions(self, scopes: Sequence[Scope], *, open_only: bool = False) -> Sessions:
        numbers = self.numbers(scopes)
        ended = " AND ended_at IS NULL" if open_only else ""
        rows = self.read(
            f"SELECT scope, {', '.join(SESSIONS.columns)} FROM sessions WHERE scope IN ({marks(numbers)}){ended} "
            "ORDER BY last_activity DESC, id DESC",
            numbers,
        )
        return [session_from(row, self._scope) for row in rows]

    def edges(self, scope: Scope, memory: str) -> Edges:
        numbers = self.numbers((scope,))
        rows = self.read(
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
                f"SELECT {', '.join(table.columns)} FROM {table.name} WHERE scope = ? ORDER BY {table.order}",
                (number,),
            ):
                yield exported(table, values)

    def _vector_rows(self, stream: Stream, scope: Scope) -> Iterator[dict[str, Any]]:
        for number in self.numbers((scope,)):
            for identity, memory, vector in stream(
                "SELECT d.identity, m.id, v.vector FROM vectors v JOIN models d ON d.number = v.model "
                "JOIN memories m ON m.seq = v.seq WHERE v.scope = ? ORDER BY d.identity, v.seq",
                (number,),
            ):
                yield {"model": identity, "memory": memory, "vector": b64encode(vector).decode()}

    @abstractmethod
    def stream(self, sql: str, values: Sequence[Any]) -> Iterator[Row]:
        """Like `read`, but row by row in constant memory."""

    # Jobs

    def enqueue(self, scope: Scope, kind: str, key: str, *, watermark: int) -> None:
        def work(execute: Execute) -> None:
            number = self._ensure_scope(execute, scope)
            execute(
                "INSERT INTO jobs (scope, kind, key, status, token, worker, retries_left, error, watermark, "
                "done_watermark) VALUES (?, ?, ?, 'pending', '', '', 3, '', ?, 0) "
                "ON CONFLICT (scope, kind, key) DO UPDATE SET watermark = excluded.watermark, retries_left = 3, "
                "retry_at = NULL, status = CASE WHEN jobs.status = 'running' THEN 'running' ELSE 'pending' END "
                "WHERE excluded.watermark > jobs.watermark",
                (number, kind, key, watermark),
            )

        self.transact(work)

    def _ensure_scope(self, execute: Execute, scope: Scope) -> int:
        rows = execute("SELECT number FROM scopes WHERE kind = ? AND key = ?", (scope.kind, scope.key))
        rows = rows or execute(
            "INSERT INTO scopes (kind, key, created_at) VALUES (?, ?, 0) RETURNING number",
            (scope.kind, scope.key),
        )
        return int(rows[0][0])

    def claim(self, kinds: Sequence[str], *, worker: str, now: Micros, lease: Micros) -> Job | None:
        token = new_id("lease", now)
        due = (
            f"kind IN ({marks(kinds)}) AND watermark > done_watermark AND retries_left > 0 AND "
            "((status IN ('pending', 'error') AND coalesce(retry_at, 0) <= ?) OR "
            "(status = 'running' AND lease_until <= ?))"
        )

        def work(execute: Execute) -> Row | None:
            rows = execute(
                f"UPDATE jobs SET status = 'running', token = ?, worker = ?, lease_until = ? WHERE (scope, kind, key) "
                f"IN (SELECT scope, kind, key FROM jobs WHERE {due} ORDER BY coalesce(retry_at, 0), scope, kind, key "
                f"LIMIT 1{self.skip_locked}) RETURNING scope, {', '.join(JOB_COLUMNS)}",
                (token, worker, now + lease, *kinds, now, now),
            )
            return rows[0] if rows else None

        row = self.transact(work)
        self.scopes()
        return job_from(row, self._scope) if row else None

    skip_locked = ""

    def heartbeat(self, job: Job, *, now: Micros, lease: Micros) -> bool:
        return self._if_held(job, "lease_until = ?", (now + lease,), "lease_until > ?", (now,))

    def fail(self, job: Job, *, error: str, retry_at: Micros) -> bool:
        return self._if_held(
            job,
            "status = 'error', token = '', worker = '', lease_until = NULL, error = ?, retry_at = ?, "
            "retries_left = retries_left - 1",
            (error, retry_at),
        )

    def _if_held(self, job: Job, change: str, values: Sequence[Any], extra: str = "", more: Sequence[Any] = ()) -> bool:
        numbers = self.numbers((job.scope,))
        if not numbers:
            raise NotFound(f"No job {job.kind} {job.key!r} in scope '{job.scope}'.")
        held = "scope = ? AND kind = ? AND key = ? AND token = ? AND status = 'running'"
        sql = f"UPDATE jobs SET {change} WHERE {held}{f' AND {extra}' if extra else ''} RETURNING key"
        key = (numbers[0], job.kind, job.key, job.token)
        return bool(self.transact(lambda execute: execute(sql, (*values, *key, *more))))


def _drop_vectors(execute: Execute, model: str, numbers: Numbers | None) -> int:
    known = execute("SELECT number FROM models WHERE identity = ?", (model,))
    if not known:
        return 0
    number = known[0][0]
    within = "" if numbers is None else f" AND scope IN ({marks(numbers)})"
    values = (number, *(numbers or ()))
    ((count,),) = execute(f"SELECT count(*) FROM vectors WHERE model = ?{within}", values)
    execute(f"DELETE FROM vectors WHERE model = ?{within}", values)
    execute(f"DELETE FROM embedded WHERE model = ?{within}", values)
    # A model without vectors may come back with another length; caches notice by the count of drops.
    execute(
        "DELETE FROM models WHERE number = ? AND NOT EXISTS (SELECT 1 FROM vectors WHERE model = ?)", (number, number)
    )
    execute(
        "INSERT INTO meta (key, value) VALUES ('vector_drops', '1') "
        "ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(meta.value AS INTEGER) + 1 AS TEXT)"
    )
    return int(count)
