"""The embedded store: one SQLite file through apsw, with FTS5 for full text and sqlite-vec for
vectors.

One connection writes and each thread reads through its own; WAL lets them overlap. BEGIN IMMEDIATE
with a busy timeout queues the writers of several processes. Besides the file there are only
SQLite's own -wal and -shm, so a copy of the three is a copy of the memory.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakSet

import apsw

from ...errors import StoreClosed
from ...types import Micros, Names, Scope, system_clock
from .. import migrations_runner
from ..damage import AFRESH
from ..filters import SQLITE, invalid_now, marks, where_clause
from ..protocol import T, Transaction
from ..schema import TABLES, Row, Rows, Statements
from ..sql_store import PAGE, SQLStore
from ..store_types import WAIT, Author, Corpus, ErasureTarget, Filter, Finding, Places, Ranked
from ..table_access import Reach
from .connection import (
    APPLICATION_ID,
    BUSY_MILLISECONDS,
    SQLiteStatements,
    check_key,
    connect,
    each_row,
    make_private_file,
    quoted,
    refuse_foreign_file,
    rows_of,
    scope_prefix,
    translated,
    use_log,
    vector_extension,
)
from .encryption import read_key
from .vector_table import SQLiteVectors

# Busy timeout of optional writes, such as use counts.
MOMENT_MILLISECONDS = 250
IN_MEMORY = ":memory:"
# Small answers kept in memory until something is written: a few for each scope.
MOST_KEPT = 1_000
# Order matters: remove deleted terms from the index, then rewrite every page, then truncate the
# log.
SCRUBBING = {
    "full-text index": "INSERT INTO memory_terms (memory_terms) VALUES ('optimize')",
    "free pages": "VACUUM",
    "log": "PRAGMA wal_checkpoint(TRUNCATE)",
}


class SQLiteStore(SQLStore):
    """Memories in one SQLite file; see `Store` in protocol.py for what each method promises."""

    dialect = SQLITE
    totals_sql = "SELECT number, active, terms FROM scopes"
    active_sql = "SELECT coalesce(sum(active), 0) FROM scopes WHERE number IN ({scopes})"
    bytes_sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    change_row = ("scopes", "number")

    def __init__(
        self,
        path: str | Path,
        *,
        key_file: str | Path = "",
        clock: Callable[[], Micros] = system_clock,
    ) -> None:
        """Open the file at `path`; creates it (0600) if missing, but no folder other than that of
        the per-user file (0700).

        `":memory:"` keeps everything in this process and writes nothing to disk. `key_file` holds
        the key of an encrypted file, or is `keyring:NAME`; see `read_key`.
        """
        super().__init__(SQLiteVectors(self))
        self.location = str(path)
        self._clock = clock
        # Reentrant, so that a nested transaction in one thread raises an error instead of
        # deadlocking.
        self._lock = threading.RLock()
        self._local = threading.local()
        self._closed = False
        self._pid = os.getpid()
        self._writing = False
        self._connections: WeakSet[apsw.Connection] = WeakSet()
        self._private = self.location == IN_MEMORY
        # Connections to an in-memory store share one database under a random name.
        self._uri = f"file:/{os.urandom(16).hex()}?vfs=memdb" if self._private else self.location
        self._key = ""
        if not self._private:
            self.location = self._uri = str(Path(path).expanduser().absolute())
            self._key = read_key(key_file) if key_file else ""
            # Before the file is made: a store that cannot be opened leaves none behind.
            check_key(Path(self._uri), self._key)
            make_private_file(Path(self._uri))
        try:
            with translated(self.location):
                self._writer = self._connect()
                self._migrate()
        except BaseException:
            self.close()
            raise

    # Connections

    def _connect(self) -> apsw.Connection:
        connection = connect(self._uri, self._key, private=self._private)
        self._connections.add(connection)
        refuse_foreign_file(connection, self.location)
        if not connection.readonly("main"):
            use_log(connection)
        # NORMAL: a killed process loses nothing. A power failure may lose the last commits but
        # never damages the file.
        connection.execute(
            "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -32000"
        )
        # Query planner stability: otherwise SQLite plans most statements again for each bound
        # value.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        if self._private:
            # Large sorts must not spill to a file.
            connection.execute("PRAGMA temp_store = MEMORY")
        connection.enable_load_extension(True)
        connection.load_extension(vector_extension())
        connection.enable_load_extension(False)
        return connection

    def _migrate(self) -> None:
        connection = self._writer
        if not migrations_runner.pending(
            "sqlite", connection.pragma("user_version"), self.location
        ):
            return
        self._in_transaction(self._take_steps)

    def _take_steps(self, connection: apsw.Connection) -> None:
        # Checked again inside the transaction: another process may have migrated meanwhile.
        for step in migrations_runner.pending(
            "sqlite", connection.pragma("user_version"), self.location
        ):
            connection.execute(step.sql)
            connection.execute(f"PRAGMA user_version = {step.version}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def _reader(self) -> apsw.Connection:
        self._check_open()
        if getattr(self._local, "pid", None) != os.getpid():
            self._local.connection = self._connect()
            # A search reads every vector only once, so caching all of them would waste memory.
            self._local.connection.execute("PRAGMA cache_size = -2000")
            self._local.pid = os.getpid()
        connection: apsw.Connection = self._local.connection
        return connection

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed()
        if self._pid != os.getpid():
            # After a fork the child must neither use nor close the parent's connections.
            self._inherited = [self._local, *self._connections]
            self._lock = threading.RLock()
            self._local = threading.local()
            self.vector_index.forget_cache()
            self._connections = WeakSet()
            self._writing = False
            self._writer = self._connect()
            self._pid = os.getpid()

    def close(self) -> None:
        if self._pid != os.getpid():
            self._closed = True
            return
        with self._lock:
            self._closed = True
            for connection in list(self._connections):
                with suppress(apsw.Error):
                    # A thread in the middle of a read finishes it and closes its own connection.
                    connection.close()

    # Primitives

    def read(
        self,
        reach: Reach,  # noqa: ARG002
        sql: str,
        values: Sequence[Any] = (),
    ) -> Rows:
        # Every statement filters by scope itself; a file has one owner and no roles.
        with translated(self.location):
            return rows_of(self._reader(), sql, values)

    def read_cached(
        self,
        reach: Reach,
        sql: str,
        values: Sequence[Any] = (),
    ) -> Rows:
        answers: dict[tuple[Any, ...], Rows] | None = getattr(self._local, "answers", None)
        if answers is None:
            return self.read(reach, sql, values)
        key = (sql, *values)
        if key not in answers:
            answers[key] = self.read(reach, sql, values)
        return answers[key]

    @contextmanager
    def reading(self, scopes: Sequence[Scope]) -> Iterator[None]:  # noqa: ARG002
        # Sharing a transaction would not make reads of a file faster. Not reading again what has
        # not changed does: one look at the version of the file serves all statements of the block.
        ((version,),) = self.read((), "PRAGMA data_version")
        kept = getattr(self._local, "kept", None)
        if kept is None or kept[0] != version or len(kept[1]) > MOST_KEPT:
            kept = self._local.kept = (version, {})
        self._local.answers = kept[1]
        try:
            yield
        finally:
            self._local.answers = None

    def stream(
        self,
        reach: Reach,  # noqa: ARG002
        sql: str,
        values: Sequence[Any],
    ) -> Iterator[Row]:
        with translated(self.location):
            yield from each_row(self._reader(), sql, values)

    @contextmanager
    def snapshot(self) -> Iterator[Callable[[str, Scope], Iterator[dict[str, Any]]]]:
        if self._private:
            yield self._copied()
            return
        with translated(self.location):
            self._check_open()
            connection = self._connect()
            try:
                # The snapshot is taken by the first read.
                connection.execute("BEGIN; SELECT count(*) FROM meta")
                yield partial(
                    self.rows_through, lambda _, sql, values: each_row(connection, sql, values)
                )
            finally:
                connection.close()

    def _copied(self) -> Callable[[str, Scope], Iterator[dict[str, Any]]]:
        """Copy all rows as a snapshot. An open reader would block the writers of an in-memory
        database.
        """
        with self._lock:
            copied = {
                (noun, scope): list(self.rows(noun, scope))
                for noun in (*TABLES, "vector")
                for scope in self.scopes()
            }
        return lambda noun, scope: iter(copied.get((noun, scope), ()))

    def _in_transaction(self, work: Callable[[apsw.Connection], T]) -> T:
        # Checked before locking: in a forked child the lock may be held by a thread that does not
        # exist there.
        self._check_open()
        with self._lock:
            self._check_open()
            if self._writing:
                raise RuntimeError("A transaction is already open in this thread; use that one.")
            self._writing = True
            connection = self._writer
            try:
                self._begin(connection)
                result = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                with translated(self.location):
                    if not connection.get_autocommit():
                        connection.execute("ROLLBACK")
                    raise
            finally:
                self._writing = False
            return result

    def _begin(self, connection: apsw.Connection) -> None:
        if not getattr(self._local, "short_busy_timeout", False):
            connection.execute("BEGIN IMMEDIATE")
            return
        connection.set_busy_timeout(MOMENT_MILLISECONDS)
        try:
            connection.execute("BEGIN IMMEDIATE")
        finally:
            connection.set_busy_timeout(BUSY_MILLISECONDS)

    @contextmanager
    def short_busy_timeout(self) -> Iterator[None]:
        self._local.short_busy_timeout = True
        try:
            yield
        finally:
            self._local.short_busy_timeout = False

    def transact(self, reach: Reach, work: Callable[[Statements], T]) -> T:  # noqa: ARG002
        return self._in_transaction(lambda connection: work(SQLiteStatements(connection)))

    def write(self, author: Author, work: Callable[[Transaction], T]) -> T:
        # Deferred imports: a process that only reads does not need them.
        from ..transaction import SQLTransaction  # noqa: PLC0415
        from .transaction import SQLiteRows  # noqa: PLC0415

        def attempt(connection: apsw.Connection) -> tuple[T, SQLiteRows]:
            rows = SQLiteRows(author, SQLiteStatements(connection), self._numbers)
            result = work(SQLTransaction(rows))
            rows.close()
            return result, rows

        result, rows = self._in_transaction(attempt)
        self.damages.learn(rows.damages, afresh=author.verb in AFRESH)
        for scope, number in rows.scopes_met():
            if scope not in self._numbers:
                self._learn(number, *scope)
        return result

    # Scopes

    def find_scopes(self, scopes: Sequence[Scope]) -> Rows:
        return self.read(
            (),
            (
                "SELECT number, kind, key FROM scopes WHERE (kind, key) IN (VALUES "
                f"{','.join(['(?,?)'] * len(scopes))})"
            ),
            [part for scope in scopes for part in scope],
        )

    def make_scope(self, scope: Scope) -> None:
        sql = "INSERT INTO scopes (kind, key, created_at) VALUES (?, ?, 0) ON CONFLICT DO NOTHING"
        self.transact((), lambda execute: execute(sql, (scope.kind, scope.key)))

    # Words

    def by_text(
        self,
        where: Filter,
        terms: Sequence[str],
        limit: int,
    ) -> Ranked:
        numbers = self.numbers(where.scopes)
        if not numbers or not terms:
            return []
        match = " OR ".join(
            quoted(prefix + term) for prefix in self._prefixes(where, numbers) for term in terms
        )
        condition, values = self._beside_match(where, numbers)
        rows = self.read(
            numbers,
            "SELECT f.rowid, -f.rank FROM memory_terms f WHERE memory_terms MATCH ? AND "
            f"{condition} "
            "ORDER BY f.rank, f.rowid LIMIT ?",
            (match, *values, limit),
        )
        return [(seq, score / (1.0 + score)) for seq, score in rows]

    def _prefixes(self, where: Filter, numbers: Sequence[int]) -> Names:
        only_active = where.statuses == ("active",) and where.as_of is None
        states = (True,) if only_active else (True, False)
        return [scope_prefix(number, active=active) for number in numbers for active in states]

    def _beside_match(self, where: Filter, numbers: Sequence[int]) -> tuple[str, list[Any]]:
        """Return the condition on a row besides MATCH.

        Scope and status are part of the terms, so usually almost nothing is left to check.
        """
        if where.narrow:
            condition, values = where_clause(where, numbers, SQLITE)
            if where.namespace:
                # Evaluated once through the namespace index. Unary plus keeps SQLite from running
                # MATCH again for each row.
                return f"+f.rowid IN (SELECT m.seq FROM memories m WHERE {condition})", values
            return (
                f"f.rowid IN (SELECT m.seq FROM memories m WHERE m.seq = f.rowid AND {condition})",
                values,
            )
        if where.valid_at is None:
            return "1", []
        return f"f.rowid NOT IN ({invalid_now(numbers)})", [
            *numbers,
            where.valid_at,
            where.valid_at,
        ]

    def corpus(self, scopes: Sequence[Scope], terms: Sequence[str]) -> Corpus:
        numbers = self.numbers(scopes)
        ((size, length),) = self.read_cached(
            numbers,
            (
                "SELECT coalesce(sum(active), 0), coalesce(sum(terms), 0) FROM scopes WHERE number "
                f"IN ({marks(numbers)})"
            ),
            numbers,
        )
        frequency = dict.fromkeys(terms, 0)
        named = {
            scope_prefix(number, active=True) + term: term for number in numbers for term in terms
        }
        for start in range(0, len(named), PAGE):
            page = list(named)[start : start + PAGE]
            for name, count in self.read(
                numbers,
                f"SELECT term, doc FROM memory_vocabulary WHERE term IN ({marks(page)})",
                page,
            ):
                frequency[named[name]] += count
        return Corpus(size, length / size if size else 0.0, frequency)

    # Upkeep

    def check(
        self, *, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> Iterator[Finding]:
        # Deferred import: a recall does not need it.
        from .health import check_sqlite  # noqa: PLC0415

        self._check_open()
        # A new connection, because FTS5 checks its cached state, which may be older than the last
        # write.
        with translated(self.location), closing(self._connect()) as connection:
            # One snapshot for all checks: a write in between would look like damage.
            connection.execute("BEGIN")
            yield from check_sqlite(connection, self.vector_index.unpack, progress)

    def repair(self) -> None:
        # Deferred import: a recall does not need it.
        from .health import repair_sqlite  # noqa: PLC0415

        self._in_transaction(
            lambda connection: repair_sqlite(
                connection, SQLiteStatements(connection), self.vector_index.unpack, at=self._clock()
            )
        )
        self.damages.clear()
        # Dropped vectors leave no journal entries, so the cache cannot notice them.
        self.vector_index.forget_cache()

    def tend(self) -> Names:
        self._check_open()
        with self._lock, translated(self.location):
            self._check_open()
            self._writer.execute("INSERT INTO memory_terms (memory_terms) VALUES ('optimize')")
            self._writer.execute("PRAGMA optimize")
        return ["merged the full-text index"]

    def scrub(self, *, wait: float = WAIT) -> Places:
        self._check_open()
        with self._lock, translated(self.location):
            self._check_open()
            self._writer.set_busy_timeout(int(wait * 1000))
            try:
                return [self._scrubbed(name, sql) for name, sql in SCRUBBING.items()]
            finally:
                self._writer.set_busy_timeout(BUSY_MILLISECONDS)

    def _scrubbed(self, name: str, sql: str) -> ErasureTarget:
        try:
            rows = self._writer.execute(sql).fetchall()
        except (apsw.BusyError, apsw.LockedError):
            return ErasureTarget(
                name,
                "pending",
                "Another process was writing all the time. Run `holdfast purge --finish`.",
            )
        except apsw.FullError:
            return ErasureTarget(
                name,
                "pending",
                "The disk has no room for a second copy of the file. Free some "
                "space, then run "
                "`holdfast purge --finish`.",
            )
        # The first column is 1 if a reader blocked the checkpoint.
        if rows and rows[0][0]:
            return ErasureTarget(
                name,
                "pending",
                "Another process is reading an older state. Run `holdfast purge --finish`.",
            )
        return ErasureTarget(name, "clean")


class InMemoryStore(SQLiteStore):
    """A store that writes nothing to disk and ends with its process; used for incognito mode."""

    supports_incognito = True

    def __init__(self, *, clock: Callable[[], Micros] = system_clock) -> None:
        super().__init__(IN_MEMORY, clock=clock)
