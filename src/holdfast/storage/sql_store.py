"""What every SQL store does alike: memories, sessions, the journal. Vectors, jobs, entities, files:
next door.
"""

from __future__ import annotations

import json
from binascii import b2a_base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..types import (
    Edges,
    Events,
    Memories,
    Memory,
    Messages,
    Micros,
    Names,
    ProgressMarks,
    Scope,
    Session,
    Sessions,
)
from .damage import Damage
from .entity_table import SQLEntities
from .file_table import SQLFiles
from .filters import marks, where_clause
from .job_table import SQLJobs
from .progress_table import progress_from
from .protocol import Filter, Order
from .schema import (
    EDGES,
    EVENTS,
    MESSAGES,
    POINTS_TO,
    PROGRESS,
    SELECT_MEMORY,
    SESSIONS,
    TABLES,
    Row,
    Rows,
    Table,
    edge_from,
    event_from,
    exported,
    key_of,
    message_from,
    profile_from,
    session_from,
)
from .scope_numbers import Reach
from .spend_table import SQLSpend
from .vector_index import SQLVectors

PAGE = 500
Spot = tuple[int, str, int]
Stream = Callable[[Reach, str, Sequence[Any]], Iterator[Row]]


class SQLStore(SQLVectors, SQLJobs, SQLEntities, SQLFiles, SQLSpend):
    """The portable half of a store; see `Store` in protocol.py for what each method promises."""

    # Damage

    def damaged(self, scopes: Sequence[Scope] | None) -> list[Damage]:
        return [one for one in self._damages if scopes is None or one.scope in scopes]

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
                for memory in self._select(
                    numbers, f"{among} AND m.scope IN ({marks(numbers)})", (*values, *numbers)
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
        order: Order = "newest",
    ) -> Memories:
        numbers = self.numbers(where.scopes)
        condition, values = where_clause(where, numbers, self.dialect)
        direction, beyond = ("DESC", "<") if order in ("newest", "latest") else ("ASC", ">")
        if after is not None:
            # The plus keeps a planner from reading all that comes behind instead of the few in a
            # namespace.
            seq = "+m.seq" if where.namespace else "m.seq"
            condition = f"{condition} AND {seq} {beyond} ?"
            values = [*values, after]
        by_time = f"m.created_at {direction}, " if order in ("latest", "earliest") else ""
        order_by = f"ORDER BY {by_time}m.seq {direction}"
        if not numbers or limit is None:
            return self._select(numbers, condition, values, order_by) if numbers else []
        sql = f"SELECT {SELECT_MEMORY} FROM memories m WHERE {condition} {order_by} LIMIT ?"
        wanted = int(limit)
        while True:
            rows = self.read(numbers, sql, (*values, wanted))
            found = self._memories(rows)
            if len(rows) < wanted or len(found) >= limit:
                return found[:limit]
            # Damaged ones were left out: as many more, or who reads page by page would take this
            # one for the last.
            wanted += limit - len(found)

    def namespaces(self, where: Filter) -> Sequence[tuple[str, ...]]:
        numbers = self.numbers(where.scopes)
        condition, values = where_clause(where, numbers, self.dialect)
        found = f"SELECT DISTINCT {self.dialect.namespace()} FROM memories m WHERE {condition}"
        return (
            [tuple(json.loads(name)) for (name,) in self.read(numbers, found, values)]
            if numbers
            else []
        )

    def neighbours(self, memories: Sequence[Memory], reach: int) -> dict[int, Memories]:
        self.numbers([memory.scope for memory in memories])
        around: dict[int, list[Memory]] = {memory.seq: [] for memory in memories}
        placed = [(memory, spot) for memory in memories if (spot := self._spot(memory))]
        there = {spot: memory for memory, spot in placed if memory.status == "active"}
        steps = (*range(-reach, 0), *range(1, reach + 1))
        wanted = {
            (number, session, at + step) for _, (number, session, at) in placed for step in steps
        }
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
                # A cross join keeps the planner from reading the whole scope and looking each row
                # up among the spots.
                f"SELECT {SELECT_MEMORY} FROM spot s CROSS JOIN memories m WHERE m.scope = s.scope "
                "AND m.session = s.session AND m.position = s.position AND m.status = 'active'",
                values,
            )
            for memory in self._memories(rows):
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
                "SELECT (SELECT min(author) FROM memories WHERE scope = ? AND author <> '') UNION "
                "ALL "
                "SELECT (SELECT min(author) FROM memories WHERE scope = ? AND author > s.author "
                "AND author <> '') "
                "FROM step s WHERE s.author IS NOT NULL) SELECT author FROM step WHERE author IS "
                "NOT NULL LIMIT 200",
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

    def touch(self, scopes: Sequence[Scope], uses: Mapping[int, int], at: Micros) -> None:
        numbers = self.numbers(scopes)
        # In order, so that two processes that touch the same memories never wait for each other in
        # a circle.
        rows = [(uses[seq], at, number, seq) for number in sorted(numbers) for seq in sorted(uses)]
        if rows:
            self.transact(
                numbers,
                lambda execute: execute.many(
                    "UPDATE memories SET access_count = access_count + ?, last_accessed = ? "
                    # What was retired since, or recalled as it was known once, is not in use.
                    "WHERE scope = ? AND seq = ? AND status = 'active'",
                    rows,
                ),
            )

    # Sessions, messages, edges, journal

    def settle(self, scopes: Sequence[Scope], confidences: Mapping[int, float], at: Micros) -> None:
        numbers = self.numbers(scopes)
        rows = [
            (confidences[seq], at, number, seq)
            for number in sorted(numbers)
            for seq in sorted(confidences)
        ]
        if rows:
            self.transact(
                numbers,
                lambda execute: execute.many(
                    "UPDATE memories SET strength = coalesce(strength, confidence), confidence = "
                    "?, decayed_at = ? "
                    "WHERE scope = ? AND seq = ?",
                    rows,
                ),
            )

    def sessions(
        self,
        scopes: Sequence[Scope],
        *,
        open_only: bool = False,
        active_since: Micros | None = None,
    ) -> Sessions:
        numbers = self.numbers(scopes)
        ended = " AND ended_at IS NULL" if open_only else ""
        since = "" if active_since is None else " AND last_activity >= ?"
        rows = self.read(
            numbers,
            f"SELECT scope, {', '.join(SESSIONS.columns)} FROM sessions "
            f"WHERE scope IN ({marks(numbers)}){ended}{since} ORDER BY last_activity DESC, id DESC",
            (*numbers, *(() if active_since is None else (active_since,))),
        )
        return self._sessions_of(rows)

    def unread(self, scopes: Sequence[Scope] | None = None) -> Sessions:
        numbers = self.numbers(self.scopes() if scopes is None else scopes)
        within = "" if scopes is None else f"s.scope IN ({marks(numbers)}) AND "
        columns = ", ".join(f"s.{column}" for column in ("scope", *SESSIONS.columns))
        rows = self.read(
            None if scopes is None else numbers,
            f"SELECT {columns} FROM sessions s WHERE {within}s.ended_at IS NOT NULL "
            "AND NOT EXISTS (SELECT 1 FROM progress p WHERE p.scope = s.scope AND p.session = s.id "
            "AND p.sink = 'summary' AND p.position >= s.last_activity) "
            "AND EXISTS (SELECT 1 FROM memories m WHERE m.scope = s.scope AND m.session = s.id) "
            "ORDER BY s.last_activity, s.id",
            () if scopes is None else numbers,
        )
        return self._sessions_of(rows)

    def progress(self, scope: Scope, session: str | None = None) -> ProgressMarks:
        numbers = self.numbers((scope,))
        wanted = "" if session is None else " AND session = ?"
        rows = self.read(
            numbers,
            f"SELECT scope, {', '.join(PROGRESS.columns)} FROM progress "
            f"WHERE scope IN ({marks(numbers)}){wanted} ORDER BY {PROGRESS.order}",
            (*numbers, *(() if session is None else (session,))),
        )
        return self._damages.sound(rows, lambda row: progress_from(row, self._scope))

    def _sessions_of(self, rows: Rows) -> Sessions:
        return self._damages.sound(rows, lambda row: session_from(row, self._scope))

    def session(self, scope: Scope, id: str) -> Session | None:
        numbers = self.numbers((scope,))
        rows = self.read(
            numbers,
            (
                f"SELECT scope, {', '.join(SESSIONS.columns)} FROM sessions WHERE scope IN "
                f"({marks(numbers)}) AND id = ?"
            ),
            (*numbers, id),
        )
        return session_from(rows[0], self._scope) if rows else None

    def profile(self, scope: Scope) -> Mapping[str, Any]:
        numbers = self.numbers((scope,))
        rows = self.read(
            numbers, f"SELECT settings FROM profiles WHERE scope IN ({marks(numbers)})", numbers
        )
        for found in self._damages.sound(rows, lambda row: profile_from(row, scope)):
            return found
        return {}

    def messages(self, scope: Scope, session: str, *, last: int | None = None) -> Messages:
        numbers = self.numbers((scope,))
        tail = (
            "ORDER BY position" if last is None else f"ORDER BY position DESC LIMIT {max(0, last)}"
        )
        rows = self.read(
            numbers,
            f"SELECT scope, {', '.join(MESSAGES.columns)} FROM messages WHERE scope IN "
            f"({marks(numbers)}) "
            f"AND session = ? {tail}",
            (*numbers, session),
        )
        said = self._damages.sound(rows, lambda row: message_from(row, self._scope))
        return said if last is None else said[::-1]

    def message_counts(self, scope: Scope, sessions: Sequence[str]) -> dict[str, int]:
        numbers = self.numbers((scope,))
        counted = dict[str, int]()
        for start in range(0, len(sessions), PAGE):
            among, values = self.dialect.among("session", sessions[start : start + PAGE])
            counted |= dict(
                self.read(
                    numbers,
                    f"SELECT session, count(*) FROM messages WHERE scope IN ({marks(numbers)}) "
                    f"AND {among} "
                    "GROUP BY session",
                    (*numbers, *values),
                )
            )
        return counted

    def edges(self, scope: Scope, memory: str) -> Edges:
        numbers = self.numbers((scope,))
        rows = self.read(
            numbers,
            f"SELECT scope, {', '.join(EDGES.columns)} FROM edges WHERE scope IN "
            f"({marks(numbers)}) "
            "AND (source = ? OR target = ?) ORDER BY created_at, source, target, relation",
            (*numbers, memory, memory),
        )
        return self._damages.sound(rows, lambda row: edge_from(row, self._scope))

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
                condition = f"{condition} AND {column} = ?"
                values = [*values, value]
        if target is not None:
            condition += " AND noun = 'memory'"
        tail = "" if limit is None else f" LIMIT {int(limit)}"
        rows = self.read(
            numbers,
            (
                f"SELECT seq, scope, {', '.join(EVENTS.columns)} FROM events WHERE {condition} "
                "ORDER "
                f"BY seq DESC{tail}"
            ),
            values,
        )
        return self._damages.sound(rows, lambda row: event_from(row, self._scope))

    def rows(self, noun: str, scope: Scope) -> Iterator[dict[str, Any]]:
        return self.rows_through(self.stream, noun, scope)

    def rows_through(self, stream: Stream, noun: str, scope: Scope) -> Iterator[dict[str, Any]]:
        """`rows` read through a connection of the caller's choice."""
        if noun == "vector":
            yield from self._vector_rows(stream, scope)
            return
        table = TABLES[noun]
        shared = f" AND NOT ({table.local})" if table.local else ""
        for number in self.numbers((scope,)):
            rows = stream(
                (number,),
                (
                    f"SELECT {', '.join(table.columns)} FROM {table.name} "
                    f"WHERE scope = ?{shared} ORDER BY {table.order}"
                ),
                (number,),
            )
            sound = self._damages.each_sound(rows, lambda values: exported(table, values, scope))
            gone = {(one.noun, one.name) for one in self._damages if one.scope == scope}
            yield from (row for row in sound if not gone or not _is_about(table, row, gone))

    def _vector_rows(self, stream: Stream, scope: Scope) -> Iterator[dict[str, Any]]:
        for number in self.numbers((scope,)):
            for identity, memory, vector in stream(
                (number,),
                "SELECT d.identity, m.id, v.vector FROM vectors v JOIN models d ON d.number = "
                "v.model "
                "JOIN memories m ON m.scope = v.scope AND m.seq = v.seq WHERE v.scope = ? ORDER "
                "BY d.identity, v.seq",
                (number,),
            ):
                written = b2a_base64(self.unpack(vector).tobytes(), newline=False).decode()
                yield {"model": identity, "memory": memory, "vector": written}


def _is_about(table: Table, row: Mapping[str, Any], gone: set[tuple[str, str]]) -> bool:
    """Whether a row points to, or tells of, one that was left out: without it, it would say
    nothing.
    """
    if table is EVENTS:
        target = " ".join(map(str, key_of(row["noun"], row["target"])))
        return (row["noun"], target) in gone
    return any((other.noun, row[column]) in gone for column, other in POINTS_TO.get(table.noun, ()))
