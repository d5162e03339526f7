"""The embedded store: one SQLite file through apsw, with FTS5 for words and sqlite-vec for vectors.

One connection writes, each thread reads through its own, WAL lets them overlap, and BEGIN IMMEDIATE with a
busy time-out lines up the writers of many processes. Nothing is kept beside the file but SQLite's own -wal
and -shm, so a copy of the three is a copy of the memory.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from weakref import WeakSet

import apsw

from ..errors import (
    InvalidInput,
    NotFound,
    StoreBusy,
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from ..floats import Vector, packed
from ..types import Micros, Names, Scope, system_clock
from . import migrate
from .base import WAIT, Author, Corpus, Filter, Finding, Place, Places, Ranked, T, Writer
from .filters import SQLITE, invalid_now, marks, where_clause
from .matrices import Read
from .rows import TABLES, Row, Rows, Statements
from .scoped import Reach
from .sql import PAGE, SQLStore
from .sqlite_terms import ADD_TO_META, quoted, scope_prefix
from .status import Status, jobs_by_status, rows_by_noun

_DISTANCE = "coalesce(vec_distance_cosine(v.vector, ?), 1.0) AS distance"
APPLICATION_ID = 0x484C4446  # "HLDF": tells our files from other SQLite files
BUSY_MILLISECONDS = 30_000
IN_MEMORY = ":memory:"
# In this order: words of removed rows leave the index, then every page is written anew, then the log is emptied.
SCRUBBING = {
    "full-text index": "INSERT INTO memory_terms (memory_terms) VALUES ('optimize')",
    "free pages": "VACUUM",
    "log": "PRAGMA wal_checkpoint(TRUNCATE)",
}


class SQLiteStatements:
    """Statements on one connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def __call__(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        return self._connection.execute(sql, values).fetchall()

    def many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        self._connection.executemany(sql, rows)


class SQLiteStore(SQLStore):
    """Memories in one SQLite file; see `Store` in base.py for what each method promises."""

    dialect = SQLITE

    def __init__(self, path: str | Path, *, clock: Callable[[], Micros] = system_clock) -> None:
        """Opens the file at `path`, making it (0600) and its folder (0700) when they are missing.

        `":memory:"` keeps everything in this process and writes nothing to disk.
        """
        super().__init__()
        self.location = str(path)
        self._clock = clock
        self._lock = threading.RLock()
        self._local = threading.local()
        self._closed = False
        self._pid = os.getpid()
        self._writing = False
        self._connections: WeakSet[apsw.Connection] = WeakSet()
        self._private = self.location == IN_MEMORY
        # In memory, all connections of this store share one database under a name nobody else has.
        self._uri = f"file:/{os.urandom(16).hex()}?vfs=memdb" if self._private else self.location
        if not self._private:
            self.location = self._uri = str(Path(path).expanduser().absolute())
            _make_private_file(Path(self._uri))
        try:
            with translated(self.location):
                self._writer = self._connect()
                self._migrate()
        except BaseException:
            self.close()
            raise

    # Connections

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(*_how_to_open(self._uri, private=self._private))
        self._connections.add(connection)
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        _refuse_foreign_file(connection, self.location)
        if not connection.readonly("main"):
            _use_log(connection)
        # NORMAL: a killed process loses nothing; a power cut may lose the last commits but damages nothing.
        connection.execute("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -32000")
        # One plan for one statement: otherwise SQLite plans most of them anew for every value that is bound to them.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        if self._private:
            connection.execute("PRAGMA temp_store = MEMORY")  # or large sorts would go through a file
        connection.enable_load_extension(True)
        connection.load_extension(_vector_extension())
        connection.enable_load_extension(False)
        return connection

    def _how_to_open(self) -> tuple[str, int]:
        if self._private or os.access(self._uri, os.W_OK):
            return self._uri, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
        path = Path(self._uri)
        # Where SQLite can neither find nor make its log, as on a read-only disk, the file is all there is.
        alone = not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()
        return path.as_uri() + ("?immutable=1" if alone else ""), apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI

    def _refuse_foreign_file(self, connection: apsw.Connection) -> None:
        # Tables first: a store that another process makes at this moment gets both in one commit.
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables and tables[0] and connection.pragma("application_id") != APPLICATION_ID:
            raise StoreCorrupt(
                f"{self.location} is an SQLite file of another program, not a Holdfast store. Nothing was changed. "
                "Choose another path with --store."
            )

    def _migrate(self) -> None:
        connection = self._writer
        if not migrate.pending("sqlite", connection.pragma("user_version"), self.location):
            return
        self._in_transaction(self._take_steps)

    def _take_steps(self, connection: apsw.Connection) -> None:
        # Asked again inside the transaction: another process may have migrated in between.
        for step in migrate.pending("sqlite", connection.pragma("user_version"), self.location):
            connection.execute(step.sql)
            connection.execute(f"PRAGMA user_version = {step.version}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def _reader(self) -> apsw.Connection:
        self._check_open()
        if getattr(self._local, "pid", None) != os.getpid():
            self._local.connection = self._connect()
            self._local.pid = os.getpid()
        connection: apsw.Connection = self._local.connection
        return connection

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed()
        if self._pid != os.getpid():
            # After a fork the parent's connections must not be used, nor closed, by the child.
            self._inherited = [self._local, *self._connections]
            self._lock, self._local = threading.RLock(), threading.local()
            self.forget_cache()
            self._connections, self._writing = WeakSet(), False
            self._writer, self._pid = self._connect(), os.getpid()

    def close(self) -> None:
        if self._pid != os.getpid():
            self._closed = True
            return
        with self._lock:
            self._closed = True
            for connection in list(self._connections):
                with suppress(apsw.Error):  # a thread in the middle of a read ends it and closes by itself
                    connection.close()

    # Primitives

    def read(self, reach: Reach, sql: str, values: Sequence[Any] = ()) -> Rows:  # noqa: ARG002
        # Who may see what is in each statement; a file belongs to one person and knows no roles.
        with translated(self.location):
            return self._reader().execute(sql, values).fetchall()

    def reading(self, scopes: Sequence[Scope]) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()  # a file is read as quickly without

    def stream(self, reach: Reach, sql: str, values: Sequence[Any]) -> Iterator[Row]:  # noqa: ARG002
        with translated(self.location):
            yield from self._reader().cursor().execute(sql, values)

    @contextmanager
    def snapshot(self) -> Iterator[Callable[[str, Scope], Iterator[dict[str, Any]]]]:
        if self._private:
            yield self._copied()
            return
        with translated(self.location):
            self._check_open()
            connection = self._connect()
            try:
                connection.execute("BEGIN; SELECT count(*) FROM meta")  # the first read fixes the moment
                yield partial(self.rows_through, lambda _, sql, values: connection.cursor().execute(sql, values))
            finally:
                connection.close()

    def _copied(self) -> Callable[[str, Scope], Iterator[dict[str, Any]]]:
        """In memory a reader would hold up the writers, so the moment is a copy: it is all in memory anyway."""
        with self._lock:
            copied = {
                (noun, scope): list(self.rows(noun, scope)) for noun in (*TABLES, "vector") for scope in self.scopes()
            }
        return lambda noun, scope: iter(copied.get((noun, scope), ()))

    def _in_transaction(self, work: Callable[[apsw.Connection], T]) -> T:
        self._check_open()  # before the lock, which in a forked child may be held by a thread that is not there
        with self._lock:
            self._check_open()
            if self._writing:
                raise RuntimeError("A transaction is already open in this thread; use its writer.")
            self._writing, connection = True, self._writer
            try:
                connection.execute("BEGIN IMMEDIATE")
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

    def transact(self, reach: Reach, work: Callable[[Statements], T]) -> T:  # noqa: ARG002
        return self._in_transaction(lambda connection: work(SQLiteStatements(connection)))

    def write(self, author: Author, work: Callable[[Writer], T]) -> T:
        from .sqlite_writer import SQLiteWriter  # noqa: PLC0415 (who only asks need not wait for it)

        def attempt(connection: apsw.Connection) -> tuple[T, SQLiteWriter]:
            writer = SQLiteWriter(author, SQLiteStatements(connection), self._numbers)
            result = work(writer)
            writer.close()
            return result, writer

        result, writer = self._in_transaction(attempt)
        for scope, number in writer.scopes_met():
            if scope not in self._numbers:
                self._learn(number, *scope)
        return result

    # Scopes

    def find_scopes(self, scopes: Sequence[Scope]) -> Rows:
        return self.read(
            (),
            f"SELECT number, kind, key FROM scopes WHERE (kind, key) IN (VALUES {','.join(['(?,?)'] * len(scopes))})",
            [part for scope in scopes for part in scope],
        )

    def make_scope(self, scope: Scope) -> None:
        sql = "INSERT INTO scopes (kind, key, created_at) VALUES (?, ?, 0) ON CONFLICT DO NOTHING"
        self.transact((), lambda execute: execute(sql, (scope.kind, scope.key)))

    # Words

    def by_text(self, where: Filter, terms: Sequence[str], limit: int) -> Ranked:
        numbers = self.numbers(where.scopes)
        if not numbers or not terms:
            return []
        match = " OR ".join(quoted(prefix + term) for prefix in self._prefixes(where, numbers) for term in terms)
        condition, values = self._beside_match(where, numbers)
        rows = self.read(
            numbers,
            f"SELECT f.rowid, -f.rank FROM memory_terms f WHERE memory_terms MATCH ? AND {condition} "
            "ORDER BY f.rank, f.rowid LIMIT ?",
            (match, *values, limit),
        )
        return [(seq, score / (1.0 + score)) for seq, score in rows]

    def _prefixes(self, where: Filter, numbers: Sequence[int]) -> Names:
        only_active = where.statuses == ("active",) and where.as_of is None
        states = (True,) if only_active else (True, False)
        return [scope_prefix(number, active=active) for number in numbers for active in states]

    def _beside_match(self, where: Filter, numbers: Sequence[int]) -> tuple[str, list[Any]]:
        """What has to hold beside the words. Scope and status are part of the words, so usually next to nothing."""
        if where.narrow:
            condition, values = where_clause(where, numbers, SQLITE)
            return f"f.rowid IN (SELECT m.seq FROM memories m WHERE m.seq = f.rowid AND {condition})", values
        if where.valid_at is None:
            return "1", []
        return f"f.rowid NOT IN ({invalid_now(numbers)})", [*numbers, where.valid_at, where.valid_at]

    def corpus(self, scopes: Sequence[Scope], terms: Sequence[str]) -> Corpus:
        numbers = self.numbers(scopes)
        ((size, length),) = self.read(
            numbers,
            f"SELECT coalesce(sum(active), 0), coalesce(sum(terms), 0) FROM scopes WHERE number IN ({marks(numbers)})",
            numbers,
        )
        frequency = {
            term: sum(
                row[0]
                for number in numbers
                for row in self.read(
                    (number,),
                    "SELECT doc FROM memory_vocabulary WHERE term = ?",
                    (scope_prefix(number, active=True) + term,),
                )
            )
            for term in terms
        }
        return Corpus(size, length / size if size else 0.0, frequency)

    # Vectors

    def model_row(self, execute: Callable[..., Rows], scope: int, identity: str) -> Rows:  # noqa: ARG002
        return execute("SELECT number, dimensions FROM models WHERE identity = ?", (identity,))

    def scope_models(self, scope: int) -> Rows:
        return self.read(
            (scope,),
            "SELECT d.identity, d.number, coalesce(e.seq, 0) FROM models d "
            "LEFT JOIN embedded e ON e.model = d.number AND e.scope = ?",
            (scope,),
        )

    def make_model(self, execute: Statements, scope: int, identity: str, dimensions: int) -> int:  # noqa: ARG002
        sql = "INSERT INTO models (identity, dimensions) VALUES (?, ?) RETURNING number"
        return int(execute(sql, (identity, dimensions))[0][0])

    def drop_models(self, execute: Statements, identity: str, numbers: Reach) -> None:  # noqa: ARG002
        execute(
            "DELETE FROM models WHERE identity = ? AND NOT EXISTS (SELECT 1 FROM vectors WHERE model = models.number)",
            (identity,),
        )
        execute(ADD_TO_META, ("vector_drops", "1"))

    def newest(self, read: Read, scope: int) -> tuple[Any, ...]:  # noqa: ARG002 (the file's ends are quicker to read)
        ((event, vector, drops),) = read(
            "SELECT (SELECT coalesce(max(seq), 0) FROM events), (SELECT coalesce(max(number), 0) FROM vectors), "
            "coalesce((SELECT value FROM meta WHERE key = 'vector_drops'), '')",
            (),
        )
        return event, vector, drops

    def nearest(self, where: Filter, number: int, model: int, vector: Vector, limit: int) -> Ranked:
        return self.nearest_cached(where, number, model, vector, limit)

    def scan(self, where: Filter, number: int, model: int, vector: Vector, limit: int) -> Ranked:
        rows = None if where.narrow or limit > PAGE else self._scan_bare(where, number, model, vector, limit)
        if rows is None:
            condition, values = where_clause(where, (number,), SQLITE)
            rows = self.read(
                (number,),
                f"SELECT v.seq, {_DISTANCE} FROM vectors v JOIN memories m ON m.seq = v.seq "
                f"WHERE v.model = ? AND v.scope = ? AND {condition} ORDER BY distance, v.seq LIMIT ?",
                (packed(vector), model, number, *values, limit),
            )
        return [(seq, min(1.0, max(0.0, 1.0 - distance))) for seq, distance in rows]

    def _scan_bare(self, where: Filter, number: int, model: int, vector: Vector, limit: int) -> Rows | None:
        """The nearest without a look at the memories of all the others; None when too many of the nearest may not show.

        Nearly all memories of a scope are active and valid, and reading them takes longer than comparing.
        """
        more = 2 * limit
        rows = self.read(
            (number,),
            f"SELECT v.seq, {_DISTANCE} FROM vectors v WHERE v.model = ? AND v.scope = ? "
            "ORDER BY distance, v.seq LIMIT ?",
            (packed(vector), model, number, more),
        )
        condition, values = where_clause(where, (number,), SQLITE)
        among, seqs = self.dialect.among("m.seq", [seq for seq, _ in rows])
        passing = {
            seq
            for (seq,) in self.read(
                (number,), f"SELECT m.seq FROM memories m WHERE {among} AND {condition}", (*seqs, *values)
            )
        }
        found = [row for row in rows if row[0] in passing][:limit]
        return found if len(found) == limit or len(rows) < more else None

    def compare(self, number: int, model: int, vector: Vector, seqs: Sequence[int]) -> dict[int, float]:
        among, values = self.dialect.among("seq", seqs)
        rows = self.read(
            (number,),
            "SELECT seq, 1.0 - coalesce(vec_distance_cosine(vector, ?), 1.0) FROM vectors "
            f"WHERE model = ? AND scope = ? AND {among}",
            (packed(vector), model, number, *values),
        )
        return dict(rows)

    # Upkeep

    def check(self) -> Iterator[Finding]:
        from .sqlite_checkup import check_sqlite  # noqa: PLC0415 (a recall does without)

        self._check_open()
        # A connection of its own: FTS5 checks what it has cached, which may be older than the last write.
        with translated(self.location), closing(self._connect()) as connection:
            connection.execute("BEGIN")  # one moment for all checks, or a write in between would look like damage
            yield from check_sqlite(connection, self.unpack)

    def repair(self) -> None:
        from .sqlite_checkup import repair_sqlite  # noqa: PLC0415 (as above)

        self._in_transaction(
            lambda connection: repair_sqlite(connection, SQLiteStatements(connection), self.unpack, at=self._clock())
        )
        self.forget_cache()  # vectors may have been dropped without a word in the journal

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

    def _scrubbed(self, name: str, sql: str) -> Place:
        try:
            rows = self._writer.execute(sql).fetchall()
        except (apsw.BusyError, apsw.LockedError):
            return Place(name, "pending", "Another process was writing all the time. Run `holdfast purge --finish`.")
        except apsw.FullError:
            return Place(
                name, "pending", "The disk has no room for a second copy of the file. Free some space, then run "
                "`holdfast purge --finish`.",
            )  # fmt: skip
        if rows and rows[0][0]:  # a checkpoint says whether it had to stop for a reader
            return Place(name, "pending", "Another process is reading an older state. Run `holdfast purge --finish`.")
        return Place(name, "clean")


class InMemoryStore(SQLiteStore):
    """A store that writes nothing to disk and ends with its process: the one for incognito sessions."""

    supports_incognito = True

    def __init__(self, *, clock: Callable[[], Micros] = system_clock) -> None:
        super().__init__(IN_MEMORY, clock=clock)


def status(path: str | Path, scopes: Sequence[Scope] = ()) -> Status:
    """How the file at `path` stands, whatever version its tables have; NotFound when it is not there.

    Rows are counted in these scopes or, when none is named, in all.
    """
    file = Path(path).expanduser().absolute()
    if not file.is_file():
        raise NotFound(f"There is no store at {file}. Make one with `holdfast store init`.")
    with translated(str(file)), closing(apsw.Connection(*_how_to_open(str(file), private=False))) as connection:
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        _refuse_foreign_file(connection, str(file))
        version, execute = int(connection.pragma("user_version")), SQLiteStatements(connection)
        tables = {name for (name,) in execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        return Status(
            "sqlite",
            str(file),
            version,
            tuple(step.name for step in migrate.pending("sqlite", version, str(file))),
            sum(part.stat().st_size for part in (file, file.with_name(f"{file.name}-wal")) if part.exists()),
            rows_by_noun(execute, tables, scopes) if tables else None,
            execute("SELECT count(*) FROM scopes")[0][0] if tables else 0,
            jobs_by_status(execute) if tables else {},
        )


def _vector_extension() -> str:
    """Where sqlite-vec is. Importing the package would say so too, and load numpy on the way."""
    package = find_spec("sqlite_vec")
    assert package is not None and package.origin is not None
    return str(Path(package.origin).with_name("vec0"))


def _how_to_open(uri: str, *, private: bool) -> tuple[str, int]:
    if private or os.access(uri, os.W_OK):
        return uri, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
    path = Path(uri)
    # Where SQLite can neither find nor make its log, as on a read-only disk, the file is all there is.
    alone = not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()
    return path.as_uri() + ("?immutable=1" if alone else ""), apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


def _refuse_foreign_file(connection: apsw.Connection, location: str) -> None:
    # Tables first: a store that another process makes at this moment gets both in one commit.
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if tables and tables[0] and connection.pragma("application_id") != APPLICATION_ID:
        raise StoreCorrupt(
            f"{location} is an SQLite file of another program, not a Holdfast store. Nothing was changed. "
            "Choose another path with --store."
        )


def _use_log(connection: apsw.Connection) -> None:
    """Turns the write-ahead log on. That needs the file alone: many who make a store at once take turns."""
    connection.set_busy_timeout(0)
    deadline = time.monotonic() + BUSY_MILLISECONDS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0.001, 0.02))
    connection.set_busy_timeout(BUSY_MILLISECONDS)


def _make_private_file(path: Path) -> None:
    """Creates the file for its owner only; a folder that is made on the way is private too."""
    try:
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        if path.is_dir():
            raise InvalidInput(f"{path} is a folder. Give the path of a file, e.g. {path / 'memory.db'}.")
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except PermissionError as error:
        raise StoreReadOnly(
            f"Cannot create {path}: {error.strerror}. Choose a folder you may write to with --store."
        ) from error
    except OSError as error:
        raise StoreError(f"Cannot create {path}: {error.strerror}.") from error


_TRANSLATIONS: tuple[tuple[tuple[type[apsw.Error], ...], type[StoreError], str], ...] = (
    (
        (apsw.BusyError, apsw.LockedError),
        StoreBusy,
        "is being written by another process. Try again in a moment.",
    ),
    (
        (apsw.FullError,),
        StoreFull,
        "could not grow: the disk is full. The change was not made; free some space.",
    ),
    (
        (apsw.ReadOnlyError, apsw.PermissionsError),
        StoreReadOnly,
        "cannot be written. Check the permissions of the file and its folder.",
    ),
    (
        (apsw.NotADBError,),
        StoreCorrupt,
        "is not a Holdfast store (or is encrypted). Nothing was changed. Choose another path with --store.",
    ),
    (
        (apsw.CorruptError, apsw.FormatError),
        StoreCorrupt,
        "is damaged. Keep a copy of the file, then restore a backup, or export what can still be read: "
        "`holdfast export -o rescue.jsonl`.",
    ),
    ((apsw.CantOpenError,), StoreError, "cannot be opened. Check that the path is right and readable."),
)


@contextmanager
def translated(location: str) -> Iterator[None]:
    """Turns SQLite's errors into ours, with what to do next."""
    try:
        yield
    except apsw.ConnectionClosedError as error:
        raise StoreClosed() from error
    except UnicodeEncodeError as error:
        raise InvalidInput("A text holds half a surrogate pair, which no database can keep. Remove it.") from error
    except apsw.Error as error:
        for kinds, ours, advice in _TRANSLATIONS:
            if isinstance(error, kinds):
                raise ours(f"{location} {advice} ({error})") from error
        raise StoreError(f"{location}: {error}") from error
