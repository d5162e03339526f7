"""Backend-independent part of an SQL store: scopes, memories and the journal; other nouns have
their own tables.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..floats import Vector
from ..types import SCOPE_KINDS, Edges, Events, Memories, Memory, Micros, Names, Scope, Scopes
from .damage import NOT_TEXT, Damage, Damages, GarbledRow
from .filters import Dialect, marks, where_clause
from .journal import read_events
from .protocol import (
    EntityReads,
    FileReads,
    JobTable,
    LookTable,
    ProfileReads,
    ProgressReads,
    SpendTable,
    StoreSessions,
    T,
    TimelineReads,
    Transaction,
    VectorTable,
)
from .row_codec import (
    SELECT_CANDIDATE,
    candidate_from,
    candidates_from,
    edge_from,
    exported,
    memory_from,
)
from .schema import (
    EDGES,
    EVENTS,
    POINTS_TO,
    SELECT_MEMORY,
    TABLES,
    Row,
    Rows,
    Statements,
    Table,
    key_of,
)
from .store_types import (
    Author,
    Candidate,
    Candidates,
    EventOrder,
    Filter,
    Order,
    OwnerSize,
    Ranked,
    Sizes,
)
from .table_access import Reach, counted
from .vector_index import SQLVectors

if TYPE_CHECKING:
    from .entity_table import SQLEntityReads

# Ids per statement, well below SQLite's limit on bound parameters.
PAGE = 500
Stream = Callable[[Reach, str, Sequence[Any]], Iterator[Row]]


class SQLStore(ABC):
    """The portable part of a store; see `Store` in protocol.py.

    A backend implements statements, full-text search and vectors.
    """

    location: str
    dialect: Dialect
    totals_sql: str
    """Selects scope, active memories and words in them."""
    active_sql: str
    """Selects the number of active memories in {scopes}."""
    bytes_sql: str
    """Selects the size of the whole store."""
    change_row: tuple[str, str]
    """Table and column with the scope of the row that notes when a scope has changed."""
    hold_watches: str = ""
    """Keeps other workers from gathering changes and adding watches until the transaction ends,
    where writers are parallel.
    """

    def __init__(self, vectors: SQLVectors) -> None:
        self._numbers: dict[Scope, int] = {}
        self._names: dict[int, Scope] = {}
        self.damages = Damages()
        self.vector_index = vectors
        self.vectors: VectorTable = vectors

    # Tables, each imported on first use: a recall needs few of them.

    @cached_property
    def entities(self) -> EntityReads:
        return self._entities

    @cached_property
    def _entities(self) -> SQLEntityReads:
        from .entity_table import SQLEntityReads  # noqa: PLC0415

        return SQLEntityReads(self)

    @cached_property
    def timeline(self) -> TimelineReads:
        from .timeline_table import SQLTimeline  # noqa: PLC0415

        return SQLTimeline(self)

    @cached_property
    def sessions(self) -> StoreSessions:
        from .session_table import SQLStoreSessions  # noqa: PLC0415

        return SQLStoreSessions(self)

    @cached_property
    def progress(self) -> ProgressReads:
        from .progress_table import SQLProgressReads  # noqa: PLC0415

        return SQLProgressReads(self)

    @cached_property
    def profiles(self) -> ProfileReads:
        from .profile_table import SQLProfileReads  # noqa: PLC0415

        return SQLProfileReads(self)

    @cached_property
    def files(self) -> FileReads:
        from .file_table import SQLFileReads  # noqa: PLC0415

        return SQLFileReads(self)

    @cached_property
    def jobs(self) -> JobTable:
        from .job_table import SQLJobs  # noqa: PLC0415

        return SQLJobs(self)

    @cached_property
    def looks(self) -> LookTable:
        from .look_table import SQLLooks  # noqa: PLC0415

        return SQLLooks(self)

    @cached_property
    def spend(self) -> SpendTable:
        from .spend_table import SQLSpend  # noqa: PLC0415

        return SQLSpend(self)

    # Statements, implemented by a backend

    @abstractmethod
    def read(
        self,
        reach: Reach,
        sql: str,
        values: Sequence[Any] = (),
    ) -> Rows:
        """Run one SELECT that may see only these scopes; return its rows."""

    def read_cached(
        self,
        reach: Reach,
        sql: str,
        values: Sequence[Any] = (),
    ) -> Rows:
        """Like `read`, for a small answer that every recall needs. Inside `reading`, a backend may
        give it from memory while nothing has been written.
        """
        return self.read(reach, sql, values)

    def read_in_order(
        self,
        reach: Reach,
        sql: str,
        values: Sequence[Any] = (),
    ) -> Rows:
        """Like `read`, for the first of many rows in the order of an index: they are not sorted.

        Only a backend whose planner may not know better needs to tell it.
        """
        return self.read(reach, sql, values)

    @abstractmethod
    def stream(
        self,
        reach: Reach,
        sql: str,
        values: Sequence[Any],
    ) -> Iterator[Row]:
        """Like `read`, but row by row in constant memory."""

    @abstractmethod
    def transact(self, reach: Reach, work: Callable[[Statements], T]) -> T:
        """Run `work` in one write transaction without journal: for bookkeeping, not for
        memories.
        """

    @abstractmethod
    def write(self, author: Author, work: Callable[[Transaction], T]) -> T:
        """See Store."""

    # Scopes

    @abstractmethod
    def find_scopes(self, scopes: Sequence[Scope]) -> Rows:
        """Return number, kind and key of those of these scopes that exist."""

    @abstractmethod
    def make_scope(self, scope: Scope) -> None:
        """Create a scope if it does not exist."""

    def scopes(self) -> Scopes:
        rows = self.read(None, "SELECT number, kind, key FROM scopes ORDER BY number")
        return self.damages.sound(rows, self._named)

    def _named(self, row: Row) -> Scope:
        """Return the scope of a row of number, kind and key; raises RowDamaged if its name cannot
        be read.
        """
        if type(row) is GarbledRow or row[1] not in SCOPE_KINDS:
            raise Damage(None, "scope", f"number {row[0]}", f"its name {NOT_TEXT}").error()
        return self._learn(*row)

    def numbers(self, scopes: Sequence[Scope]) -> list[int]:
        """Return the numbers of the scopes that exist. Reading from a scope never creates it."""
        new = [scope for scope in scopes if scope not in self._numbers]
        for row in self.find_scopes(new) if new else ():
            self._learn(*row)
        return [self._numbers[scope] for scope in dict.fromkeys(scopes) if scope in self._numbers]

    def _learn(
        self,
        number: int,
        kind: str,
        key: str,
    ) -> Scope:
        scope = self._names.get(number) or Scope(kind, key)
        self._names[number] = scope
        self._numbers[scope] = number
        return scope

    def learn_scopes(self, numbers: Iterable[int]) -> None:
        """Load the names of these scopes if necessary. Needs a caller that may see all scopes."""
        new = sorted({number for number in numbers if number not in self._names})
        for start in range(0, len(new), PAGE):
            page = new[start : start + PAGE]
            sql = f"SELECT number, kind, key FROM scopes WHERE number IN ({marks(page)})"
            self.damages.sound(self.read(None, sql, page), self._named)

    def scope_of(self, number: int) -> Scope:
        if number not in self._names:
            raise Damage(None, "scope", f"number {number}", "its name cannot be read").error()
        return self._names[number]

    def memories(self, rows: Rows) -> Memories:
        """Decode rows read as SELECT_MEMORY; damaged ones are skipped and recorded."""
        return self.damages.sound(rows, lambda row: memory_from(row, self.scope_of))

    def _select(
        self,
        reach: Reach,
        condition: str,
        values: Sequence[Any],
        tail: str = "",
    ) -> Memories:
        rows = self.read(
            reach, f"SELECT {SELECT_MEMORY} FROM memories m WHERE {condition} {tail}", values
        )
        return self.memories(rows)

    # Damage

    def damaged(self, scopes: Sequence[Scope] | None) -> list[Damage]:
        return [one for one in self.damages if scopes is None or one.scope in scopes]

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
            # Unary plus disables the index on `seq`: the planner would scan everything after it
            # instead of using the index of the namespace.
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
            found = self.memories(rows)
            if len(rows) < wanted or len(found) >= limit:
                return found[:limit]
            # Damaged rows were skipped. Read as many more, because a short page would look like the
            # last.
            wanted += limit - len(found)

    def by_vector(
        self,
        where: Filter,
        model: str,
        vector: Vector,
        limit: int,
    ) -> Ranked:
        return self.vector_index.nearest(where, model, vector, limit)

    def by_entity(
        self,
        where: Filter,
        folded_names: Sequence[str],
        limit: int,
    ) -> Ranked:
        return self._entities.search(where, folded_names, limit)

    def namespaces(self, where: Filter) -> Sequence[tuple[str, ...]]:
        numbers = self.numbers(where.scopes)
        condition, values = where_clause(where, numbers, self.dialect)
        found = f"SELECT DISTINCT {self.dialect.namespace()} FROM memories m WHERE {condition}"
        return (
            [tuple(json.loads(name)) for (name,) in self.read(numbers, found, values)]
            if numbers
            else []
        )

    def candidates(
        self,
        where: Filter,
        seqs: Sequence[int],
        best: Sequence[int] = (),
        reach: int = 0,
    ) -> Candidates:
        numbers = self.numbers(where.scopes)
        if not numbers:
            return []
        near = self._around(where, numbers, best, reach) if best and where.as_of is None else ()
        wanted = list(dict.fromkeys((*seqs, *near)))
        found: dict[int, Candidate] = {}
        for start in range(0, len(wanted), PAGE):
            among, values = self.dialect.among("m.seq", wanted[start : start + PAGE])
            rows = self.read(
                numbers,
                f"SELECT {SELECT_CANDIDATE} FROM memories m WHERE {among} "
                f"AND {self.dialect.unindexed}m.scope IN ({marks(numbers)})",
                (*values, *numbers),
            )
            sound = candidates_from(rows)
            if sound is None:
                sound = self.damages.sound(rows, lambda row: candidate_from(row, self.scope_of))
            found |= {one.seq: one for one in sound}
        return [found[seq] for seq in wanted if seq in found]

    def _around(
        self,
        where: Filter,
        numbers: Sequence[int],
        best: Sequence[int],
        reach: int,
    ) -> Iterator[int]:
        """Yield the active turns within reach of these memories that pass the filter, by `seq`."""
        among, values = self.dialect.among("b.seq", best)
        condition, more = where_clause(where, numbers, self.dialect)
        # With an index on its scope, SQLite would start with every turn of the scope.
        scope = f"{self.dialect.unindexed}b.scope"
        rows = self.read(
            numbers,
            "SELECT DISTINCT m.seq FROM memories b CROSS JOIN memories m "
            f"WHERE {among} AND {scope} IN ({marks(numbers)}) "
            f"AND m.scope = {scope} AND m.session = b.session AND m.status = 'active' "
            f"AND m.position BETWEEN b.position - {int(reach)} AND b.position + {int(reach)} "
            f"AND {condition} ORDER BY m.seq",
            (*values, *numbers, *more),
        )
        return (row[0] for row in rows)

    def authors(self, scopes: Sequence[Scope]) -> Names:
        # A recursive query jumps from author to author along the index instead of reading every
        # row.
        names: set[str] = set()
        for number in self.numbers(scopes):
            rows = self.read_cached(
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

    def sizes(self) -> Sizes:
        totals = {row[0]: (row[1], row[2]) for row in self.read(None, self.totals_sql)}
        used = self.read(None, "SELECT scope, max(last_activity) FROM sessions GROUP BY scope")
        last: dict[int, Micros] = {row[0]: row[1] for row in used}
        owners = []
        for scope in self.scopes():
            number = self.numbers([scope])[0]
            memories, words = totals.get(number, (0, 0))
            owners.append(OwnerSize(scope, memories, words, last.get(number)))
        return Sizes(self.read(None, self.bytes_sql)[0][0], owners)

    def counts(self, scopes: Sequence[Scope]) -> dict[str, dict[str, int]]:
        numbers = self.numbers(scopes)
        here = f"m.scope IN ({marks(numbers)})"
        # Turns are most of a memory. Active ones are what is left of the running total, and all
        # others are counted in an index; one statement, so that all see the same moment.
        rows = self.read(
            numbers,
            "SELECT kind, status, memories FROM ("
            "SELECT m.kind AS kind, m.status AS status, count(*) AS memories FROM memories m "
            f"WHERE {here} AND m.kind <> 'turn' GROUP BY m.kind, m.status UNION ALL "
            "SELECT m.kind, m.status, count(*) FROM memories m "
            f"WHERE {here} AND m.kind = 'turn' AND m.status <> 'active' GROUP BY m.kind, m.status "
            f"UNION ALL SELECT 'turn', 'active', ({self.active_sql.format(scopes=marks(numbers))}) "
            "- (SELECT count(*) FROM memories m "
            f"WHERE {here} AND m.kind <> 'turn' AND m.status = 'active')"
            ") AS counts WHERE memories > 0 ORDER BY kind, status",
            (*numbers, *numbers, *numbers, *numbers),
        )
        return counted(rows)

    def touch(
        self,
        scopes: Sequence[Scope],
        uses: Mapping[int, int],
        at: Micros,
    ) -> None:
        numbers = self.numbers(scopes)
        # Sorted, so that two processes touching the same memories cannot deadlock.
        rows = [(uses[seq], at, number, seq) for number in sorted(numbers) for seq in sorted(uses)]
        if rows:
            self.transact(
                numbers,
                lambda execute: execute.many(
                    "UPDATE memories SET access_count = access_count + ?, last_accessed = ? "
                    # A memory that has been retired, or was recalled with `as_of`, is not in use.
                    "WHERE scope = ? AND seq = ? AND status = 'active'",
                    rows,
                ),
            )

    def settle(
        self,
        scopes: Sequence[Scope],
        confidences: Mapping[int, float],
        at: Micros,
    ) -> None:
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

    # Edges, journal, export

    def edges(self, scope: Scope, memory: str) -> Edges:
        numbers = self.numbers((scope,))
        rows = self.read(
            numbers,
            f"SELECT scope, {', '.join(EDGES.columns)} FROM edges WHERE scope IN "
            f"({marks(numbers)}) "
            "AND (source = ? OR target = ?) ORDER BY created_at, source, target, relation",
            (*numbers, memory, memory),
        )
        return self.damages.sound(rows, lambda row: edge_from(row, self.scope_of))

    def sources(
        self, scopes: Sequence[Scope], memories: Sequence[str]
    ) -> dict[str, frozenset[str]]:
        if not memories:
            return {}
        numbers = self.numbers(scopes)
        rows = self.read(
            numbers,
            f"SELECT source, target FROM edges WHERE scope IN ({marks(numbers)}) "
            f"AND source IN ({marks(memories)}) AND relation = 'derived_from'",
            (*numbers, *memories),
        )
        found: dict[str, set[str]] = {}
        for source, target in rows:
            found.setdefault(source, set()).add(target)
        return {source: frozenset(targets) for source, targets in found.items()}

    def events(
        self,
        scopes: Sequence[Scope],
        *,
        run: str | None = None,
        target: str | None = None,
        after: int | None = None,
        limit: int | None = None,
        order: EventOrder = "newest",
        strict: bool = False,
    ) -> Events:
        return read_events(
            self,
            scopes,
            run=run,
            target=target,
            after=after,
            limit=limit,
            order=order,
            strict=strict,
        )

    def rows(self, noun: str, scope: Scope) -> Iterator[dict[str, Any]]:
        return self.rows_through(self.stream, noun, scope)

    def rows_through(
        self,
        stream: Stream,
        noun: str,
        scope: Scope,
    ) -> Iterator[dict[str, Any]]:
        """`rows`, read through the given stream."""
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
            sound = self.damages.each_sound(rows, lambda values: exported(table, values, scope))
            gone = {(one.noun, one.name) for one in self.damages if one.scope == scope}
            yield from (row for row in sound if not gone or not _is_about(table, row, gone))

    def _vector_rows(self, stream: Stream, scope: Scope) -> Iterator[dict[str, Any]]:
        for number in self.numbers((scope,)):
            for identity, memory, vector in stream(
                (number,),
                "SELECT d.identity, m.id, v.vector FROM vectors v JOIN models d ON "
                f"{self.dialect.of_model('v')} "
                "JOIN memories m ON m.scope = v.scope AND m.seq = v.seq WHERE v.scope = ? ORDER "
                "BY d.identity, v.seq",
                (number,),
            ):
                written = b2a_base64(
                    self.vector_index.unpack(vector).tobytes(), newline=False
                ).decode()
                yield {"model": identity, "memory": memory, "vector": written}


def _is_about(
    table: Table,
    row: Mapping[str, Any],
    gone: set[tuple[str, str]],
) -> bool:
    """Whether a row refers to a damaged row that was skipped: without it, it is useless."""
    if table is EVENTS:
        target = " ".join(map(str, key_of(row["noun"], row["target"])))
        return (row["noun"], target) in gone
    points = POINTS_TO.get(table.noun, ())
    return any((other.noun, row[column]) in gone for column, other in points)
