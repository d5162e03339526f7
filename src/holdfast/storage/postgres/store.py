"""The store on a Postgres server; see `Store` in protocol.py for what each method promises."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from ...errors import NotFound, StoreError
from ...types import Micros, Names, Scope, system_clock
from ..damage import AFRESH
from ..filters import POSTGRES, Clause, invalid_now, marks
from ..migrations_runner import pending
from ..protocol import T, Transaction
from ..row_codec import faults
from ..schema import EVENTS, MEMORIES, Row, Rows, Statements
from ..sql_store import SQLStore
from ..store_types import Author, Corpus, Filter, Finding, Places, Ranked
from ..table_access import Reach
from ..transaction import SQLTransaction
from . import health, hnsw, schema
from .connections import Connections, Trace, last_entry
from .driver_errors import explained, lost, without_password
from .pgvector_type import teach_vectors
from .replica import Replica
from .scoped_session import (
    READING,
    Connection,
    PostgresStatements,
    Sight,
    passing_over,
    rows_of,
    seen,
)
from .transaction import PostgresRows, marked
from .vacuum import scrub
from .vector_table import PostgresVectors, passing

# Places where statements parse JSON: alias, table and column.
READS_JSON = (("m", MEMORIES, "metadata"), ("m", MEMORIES, "tags"), ("e", EVENTS, "before"))
UNSORTED = b"SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off"
# BM25 parameters, the same as in SQLite's FTS5.
K1 = 1.2
B = 0.75


class PostgresStore(SQLStore):
    """Memories in a Postgres database, shared by many machines."""

    dialect = POSTGRES
    totals_sql = "SELECT scope, active, terms FROM totals"
    active_sql = "SELECT coalesce(sum(active), 0)::bigint FROM totals WHERE scope IN ({scopes})"
    bytes_sql = "SELECT pg_database_size(current_database())"
    change_row = ("totals", "scope")
    # One worker at a time, or another would pass over the scopes that this one is about to gather,
    # and find nothing to do.
    hold_watches = "LOCK TABLE watches IN SHARE ROW EXCLUSIVE MODE"

    def __init__(
        self,
        url: str,
        *,
        replica: str = "",
        clock: Callable[[], Micros] = system_clock,
        create: bool = True,
    ) -> None:
        """Open the database at `url`; if there are no tables, creates them or, without `create`,
        raises NotFound.

        `replica` is the URL of a streaming replica. It serves reads once it has replayed what this
        process wrote. Raises StoreError if the tables need a migration.
        """
        self._near = PostgresVectors(self)
        super().__init__(self._near)
        self.location = without_password(url)
        self._clock = clock
        self._primary = Connections(url, self.location, configure=self._adapt)
        with explained(self.location):
            # `connect` fails immediately if the server does not exist.
            self._state = self._primary.again(self._look)
        if not self._state.version and not create:
            self._primary.close()
            raise NotFound(
                f"{self.location} has no tables of Holdfast, and none were made. Check the "
                "database's name, or make them with: holdfast store init, with the URL of an "
                "administrator"
            )
        if not self._state.version:
            self._state = schema.initialise(self._primary)
        elif pending("postgres", self._state.version, self.location):
            raise StoreError(
                f"{self.location} has the tables of an older Holdfast (schema "
                f"{self._state.version}). Nothing was "
                "changed. Bring them up to date with `holdfast store migrate`, when no older "
                "version uses them."
            )
        self._replica = Replica(replica, self._adapt) if replica else None

    def _look(self) -> schema.State:
        with self._primary.connect() as connection:
            return schema.state(connection)

    @property
    def state(self) -> schema.State:
        """State of the database when it was opened."""
        return self._state

    @property
    def has_extension(self) -> bool:
        """Whether the server compares vectors (pgvector)."""
        return self._state.vectors == "vector"

    def _adapt(self, connection: Connection) -> None:
        """Register pgvector's type on a connection, if the vector column uses it."""
        if self.has_extension:
            teach_vectors(connection, f"{self._state.extension_schema}.vector")

    def close(self) -> None:
        self._primary.close()
        if self._replica is not None:
            self._replica.close()

    # Primitives

    def _sight(self, reach: Reach, *names: str) -> Sight:
        return Sight(
            None if reach is None else tuple(reach),
            names,
            search_path=self._state.search_path,
            citus=self._state.citus,
        )

    def read(
        self,
        reach: Reach,
        sql: str,
        values: Sequence[Any] = (),
    ) -> Rows:
        return self._read(self._sight(reach), sql, values)

    @contextmanager
    def reading(self, scopes: Sequence[Scope]) -> Iterator[None]:
        # Names are included because a scope that does not exist yet is looked up on every read.
        sight = self._sight(self.numbers(scopes), *map(str, scopes))
        with ExitStack() as stack:
            if self._replica is None and self._shared() is None:
                with explained(self.location):
                    connection = stack.enter_context(
                        self._primary.transaction(sight, begin=READING)
                    )
                    self._here.shared = (sight, connection)
                    stack.callback(setattr, self._here, "shared", None)
            yield

    def short_busy_timeout(self) -> AbstractContextManager[None]:
        # Nothing to shorten: on a server such a write waits only for writers of the same row.
        return nullcontext()

    @property
    def _here(self) -> threading.local:
        return self._primary.here

    def _shared(self) -> tuple[Sight, Connection] | None:
        """Return the transaction that reads of this thread share, unless it has failed."""
        shared: tuple[Sight, Connection] | None = getattr(self._here, "shared", None)
        return (
            shared
            if shared and shared[1].info.transaction_status == TransactionStatus.INTRANS
            else None
        )

    def _read(
        self,
        sight: Sight,
        sql: str,
        values: Sequence[Any],
    ) -> Rows:
        with explained(self.location):
            shared = self._shared()
            if shared is not None and shared[0].covers(sight):
                try:
                    return rows_of(shared[1], sql, values)
                except psycopg.Error as error:
                    another = (psycopg.OperationalError, psycopg.errors.InvalidTextRepresentation)
                    if not (lost(error) or isinstance(error, another)):
                        raise
                    # Connection lost, timeout or damaged JSON: retry the statement on its own.
            if self._replica is not None:
                rows = self._replica.read(sight, sql, values)
                if rows is not None:
                    return rows
            try:
                return self._primary.again(lambda: self._primary.read(sight, sql, values))
            except psycopg.errors.InvalidTextRepresentation:
                if (sound := self._passing_damage(sight, sql)) == sql:
                    raise
                return self._primary.again(lambda: self._primary.read(sight, sound, values))

    def _passing_damage(self, sight: Sight, sql: str) -> str:
        """Rewrite a statement that failed on damaged JSON so that it skips the damaged rows."""
        for alias, table, column in READS_JSON:
            if f"{alias}.{column}::json" in sql:
                within = f"WHERE {column} IS NOT NULL AND scope = ANY (?)"
                rows = self._primary.read(
                    sight,
                    f"SELECT seq, {column} FROM {table.name} {within}",
                    (list(sight.numbers or ()),),
                )
                bad = [seq for seq, value in rows if faults(table, (column,), (value,))]
                sql = passing_over(sql, alias, column, bad)
        return sql

    def stream(
        self,
        reach: Reach,
        sql: str,
        values: Sequence[Any],
    ) -> Iterator[Row]:
        with explained(self.location), self._primary.transaction(self._sight(reach)) as connection:
            yield from self._primary.stream(connection, sql, values)

    @contextmanager
    def snapshot(self) -> Iterator[Callable[[str, Scope], Iterator[dict[str, Any]]]]:
        with self._moment(self._sight(())) as connection:

            def stream(
                reach: Reach,
                sql: str,
                values: Sequence[Any],
            ) -> Iterator[Row]:
                connection.execute(seen(self._sight(reach)))
                return self._primary.stream(connection, sql, values)

            yield partial(self.rows_through, stream)

    @contextmanager
    def _moment(self, sight: Sight) -> Iterator[Connection]:
        """Begin a read-only transaction on one snapshot, without a statement timeout."""
        begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        with explained(self.location), self._primary.transaction(sight, begin=begin) as connection:
            # The snapshot is taken by the first query; on a cluster by the first on each worker, so
            # one that asks all of them.
            connection.execute("SET LOCAL statement_timeout = 0")
            connection.execute("SELECT count(*) FROM totals" if self._state.citus else "SELECT 1")
            yield connection

    def transact(self, reach: Reach, work: Callable[[Statements], T]) -> T:
        sight = self._sight(reach)
        return self._commit(
            sight, lambda connection: (work(self._statements(connection, sight)), None)
        )

    def _statements(self, connection: Connection, sight: Sight) -> PostgresStatements:
        # With Citus, INSERT … SELECT becomes COPY on the workers, which row-level security forbids.
        return PostgresStatements(connection, sight, one_by_one=self._state.citus)

    def write(self, author: Author, work: Callable[[Transaction], T]) -> T:
        return self._write(author, lambda rows: work(SQLTransaction(rows)))

    def _write(self, author: Author, work: Callable[[PostgresRows], T]) -> T:
        sight = self._sight(())

        def attempt(connection: Connection) -> tuple[tuple[T, PostgresRows], Trace | None]:
            rows = PostgresRows(author, self._statements(connection, sight), self._numbers)
            result = work(rows)
            rows.close()
            self.damages.learn(rows.damages, afresh=author.verb in AFRESH)
            return (result, rows), rows.trace(sight)

        result, rows = self._commit(sight, attempt)
        # Only now: a scope that was made in a transaction that failed does not exist.
        for scope, number in rows.scopes_met():
            if scope not in self._numbers:
                self._learn(number, *scope)
        return result

    def _commit(self, sight: Sight, work: Callable[[Connection], tuple[T, Trace | None]]) -> T:
        if getattr(self._here, "writing", False):
            raise RuntimeError("A transaction is already open in this thread; use that one.")
        self._here.writing = True
        try:
            with explained(self.location):
                return self._primary.again(lambda: self._attempt(sight, work))
        finally:
            self._here.writing = False

    def _attempt(self, sight: Sight, work: Callable[[Connection], tuple[T, Trace | None]]) -> T:
        with self._primary.transaction(sight) as connection:
            result, trace = work(connection)
            if self._state.citus and trace is not None:
                trace = replace(trace, entry=last_entry(connection, trace))
            ((transaction,),) = connection.execute("SELECT pg_current_xact_id()::text").fetchall()
            try:
                connection.execute("COMMIT")
            except psycopg.Error as error:
                # A connection was lost during COMMIT, so only the server knows whether it
                # succeeded. Citus reports one between two machines as an internal error.
                between = self._state.citus and isinstance(error, psycopg.errors.InternalError_)
                if not lost(error) and not between:
                    raise
                if self._primary.outcome(transaction, trace) != "committed":
                    raise psycopg.errors.ConnectionFailure(str(error)) from error
            if self._replica is not None:
                self._replica.must_have(connection, self._primary)
            return result

    def read_by_index(
        self,
        number: int,
        sql: str,
        values: Sequence[Any],
    ) -> Rows:
        """Run one SELECT that searches the approximate index of a scope."""

        return self._read_with(hnsw.SEARCHING, (number,), sql, values)

    def read_in_order(
        self,
        reach: Reach,
        sql: str,
        values: Sequence[Any] = (),
    ) -> Rows:
        # The planner has no statistics of a scope and expects few rows: it would read and sort all
        # of them to return the first.
        return self._read_with(UNSORTED, reach, sql, values)

    def _read_with(
        self,
        settings: bytes,
        reach: Reach,
        sql: str,
        values: Sequence[Any],
    ) -> Rows:
        """Run one SELECT with settings of its own."""

        def attempt() -> Rows:
            with self._primary.transaction(self._sight(reach), begin=READING) as connection:
                connection.execute(settings)
                return rows_of(connection, sql, values)

        with explained(self.location):
            return self._primary.again(attempt)

    # Scopes

    def find_scopes(self, scopes: Sequence[Scope]) -> Rows:
        return self._read(
            self._sight((), *map(str, scopes)),
            (
                "SELECT number, kind, key FROM scopes WHERE (kind, key) IN "
                f"({','.join(['(?,?)'] * len(scopes))})"
            ),
            [part for scope in scopes for part in scope],
        )

    def make_scope(self, scope: Scope) -> None:
        if not self.numbers((scope,)):
            author = Author("store", "", 0, "scope")
            self._write(author, lambda rows: rows.number(scope))

    # Words

    def by_text(
        self,
        where: Filter,
        terms: Sequence[str],
        limit: int,
    ) -> Ranked:
        numbers = self.numbers(where.scopes)
        corpus = self.corpus(where.scopes, terms)
        wanted = [
            (mark, self._rarity(corpus, term))
            for term in set(terms)
            for mark in self._marked(where, term)
        ]
        if not numbers or not wanted:
            return []
        condition, values = _passing_words(where, numbers)
        mean = corpus.mean_length or 1.0
        rows = self.read(
            numbers,
            "SELECT p.seq, sum(w.rarity * p.times * (? + 1.0) / (p.times + ? * (1.0 - ? + ? * "
            "p.length / ?))) AS score "
            "FROM unnest(?::text[], ?::float8[]) AS w (term, rarity) JOIN memory_terms p ON "
            "p.term = w.term "
            f"WHERE p.scope IN ({marks(numbers)}) AND {condition} GROUP BY p.scope, p.seq "
            "ORDER BY score DESC, p.seq LIMIT ?",
            (K1, K1, B, B, mean, *map(list, zip(*wanted, strict=True)), *numbers, *values, limit),
        )
        return [(seq, score / (1.0 + score)) for seq, score in rows]

    def _marked(self, where: Filter, term: str) -> Names:
        only_active = where.statuses == ("active",) and where.as_of is None
        term = term.replace("\x00", " ")
        return [
            marked(term, active=active) for active in ((True,) if only_active else (True, False))
        ]

    def _rarity(self, corpus: Corpus, term: str) -> float:
        having = corpus.frequency.get(term, 0)
        return math.log(1.0 + max(corpus.size - having + 0.5, 0.5) / (having + 0.5))

    def corpus(self, scopes: Sequence[Scope], terms: Sequence[str]) -> Corpus:
        numbers = self.numbers(scopes)
        if not numbers:
            return Corpus(0, 0.0, dict.fromkeys(terms, 0))
        ((size, length),) = self.read(
            numbers,
            "SELECT coalesce(sum(active), 0)::bigint, coalesce(sum(terms), 0)::bigint FROM totals "
            f"WHERE scope IN ({marks(numbers)})",
            numbers,
        )
        rows = self.read(
            numbers,
            f"SELECT term, count(*) FROM memory_terms WHERE scope IN ({marks(numbers)}) AND term "
            "= ANY (?::text[]) "
            "GROUP BY term",
            (*numbers, [marked(term.replace("\x00", " "), active=True) for term in terms]),
        )
        counted = {term[1:]: count for term, count in rows}
        return Corpus(
            size, length / size if size else 0.0, {term: counted.get(term, 0) for term in terms}
        )

    # Upkeep

    def tend(self) -> Names:
        if not self.has_extension:
            return []
        with self._primary.connect() as connection, explained(self.location):
            done = hnsw.build(connection, self._state.extension_schema)
        self._near.indexes.forget()
        return done

    def check(
        self, *, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> Iterator[Finding]:
        with self._moment(self._sight(None)) as connection:
            yield from health.check(
                lambda sql: self._primary.stream(connection, sql, ()),
                self.vector_index.unpack,
                progress,
            )

    def repair(self) -> None:
        self.transact(
            None, lambda execute: health.repair(execute, self.vector_index.unpack, at=self._clock())
        )
        self.damages.clear()
        self.vector_index.forget_cache()

    def scrub(self, *, wait: float = 10.0) -> Places:
        with self._primary.connect() as connection, explained(self.location):
            return scrub(connection, wait, citus=self._state.citus)


def _passing_words(where: Filter, numbers: Sequence[int]) -> Clause:
    """Return the condition on a posting besides its term.

    Active memories have their own terms, so usually almost nothing is left to check.
    """
    if where.narrow:
        return passing(where, numbers, "p")
    if where.valid_at is None:
        return "true", []
    return f"p.seq NOT IN ({invalid_now(numbers)})", [*numbers, where.valid_at, where.valid_at]
