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
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakSet

import apsw
import numpy as np
import sqlite_vec

from ..errors import (
    DimensionMismatchError,
    InvalidInput,
    StoreBusy,
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from ..types import Micros, Names, Scope, system_clock
from . import checkup, migrate
from .base import Author, Corpus, Filter, Finding, Ranked, T, Vector, Writer
from .filters import marks, where_clause
from .matrix import Matrices
from .rows import TABLES, Execute, Row, Rows
from .sql import SQLStore
from .writer import Indexed, RowWriter

APPLICATION_ID = 0x484C4446  # "HLDF": tells our files from other SQLite files
BUSY_MILLISECONDS = 30_000
IN_MEMORY = ":memory:"


class SQLiteWriter(RowWriter):
    """A transaction on the writing connection."""

    def __init__(self, connection: apsw.Connection, author: Author) -> None:
        super().__init__(author)
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        return self._connection.execute(sql, values).fetchall()

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        self._connection.executemany(sql, rows)

    def next_seq(self) -> int:
        rows = self.execute("SELECT seq FROM sqlite_sequence WHERE name = 'memories'")
        return rows[0][0] + 1 if rows else 1

    def restore_row(self, noun: str, row: Mapping[str, Any], *, journal: bool) -> bool:
        try:
            return super().restore_row(noun, row, journal=journal)
        except apsw.ConstraintError as error:
            raise InvalidInput(f"This {noun} cannot be stored: {error}.") from error

    def index(self, memories: Sequence[Indexed]) -> None:
        rows = []
        for seq, number, terms, active in memories:
            prefix = scope_prefix(number, active=active)
            rows.append((seq, prefix + f" {prefix}".join(terms) if terms else ""))
        self._connection.executemany("INSERT INTO memory_terms (rowid, terms) VALUES (?, ?)", rows)

    def unindex(self, seq: int) -> None:
        self._connection.execute("DELETE FROM memory_terms WHERE rowid = ?", (seq,))


class SQLiteStore(SQLStore):
    """Memories in one SQLite file; see `Store` in base.py for what each method promises."""

    def __init__(self, path: str | Path, *, clock: Callable[[], Micros] = system_clock) -> None:
        """Opens the file at `path`, making it (0600) and its folder (0700) when they are missing.

        `":memory:"` keeps everything in this process and writes nothing to disk.
        """
        super().__init__()
        self.location = str(path)
        self._clock = clock
        self._lock = threading.RLock()
        self._local = threading.local()
        self._matrices = Matrices()
        self._closed = False
        self._pid = os.getpid()
        self._writing = False
        self._connections: WeakSet[apsw.Connection] = WeakSet()
        self._private = self.location == IN_MEMORY
        # In memory, all connections of this store share one database under a name nobody else has.
        self._uri = f"file:/{uuid.uuid4().hex}?vfs=memdb" if self._private else self.location
        if not self._private:
            self.location = self._uri = str(Path(path).expanduser().absolute())
            _make_private_file(Path(self._uri))
        with translated(self.location):
            self._writer = self._connect()
            self._migrate()

    # Connections

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(*self._how_to_open())
        self._connections.add(connection)
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        self._refuse_foreign_file(connection)
        if not connection.readonly("main"):
            _use_log(connection)
        # NORMAL: a killed process loses nothing; a power cut may lose the last commits but damages nothing.
        connection.execute("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -32000")
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
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
        with self._transaction() as connection:
            # Asked again inside the transaction: another process may have migrated in between.
            steps = migrate.pending("sqlite", connection.pragma("user_version"), self.location)
            for step in steps:
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
            self._lock, self._local, self._matrices = threading.RLock(), threading.local(), Matrices()
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

    def read(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        with translated(self.location):
            return self._reader().execute(sql, values).fetchall()

    def stream(self, sql: str, values: Sequence[Any]) -> Iterator[Row]:
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
                yield partial(self.rows_through, lambda sql, values: connection.cursor().execute(sql, values))
            finally:
                connection.close()

    def _copied(self) -> Callable[[str, Scope], Iterator[dict[str, Any]]]:
        """In memory a reader would hold up the writers, so the moment is a copy: it is all in memory anyway."""
        with self._lock:
            copied = {
                (noun, scope): list(self.rows(noun, scope)) for noun in (*TABLES, "vector") for scope in self.scopes()
            }
        return lambda noun, scope: iter(copied.get((noun, scope), ()))

    @contextmanager
    def _transaction(self) -> Iterator[apsw.Connection]:
        self._check_open()  # before the lock, which in a forked child may be held by a thread that is not there
        with self._lock:
            self._check_open()
            if self._writing:
                raise RuntimeError("A transaction is already open in this thread; use its writer.")
            self._writing = True
            try:
                with translated(self.location):
                    self._writer.execute("BEGIN IMMEDIATE")
                    try:
                        yield self._writer
                        self._writer.execute("COMMIT")
                    except BaseException:
                        if not self._writer.get_autocommit():
                            self._writer.execute("ROLLBACK")
                        raise
            finally:
                self._writing = False

    def transact(self, work: Callable[[Execute], T]) -> T:
        with self._transaction() as connection:
            return work(lambda sql, values=(): connection.execute(sql, values).fetchall())

    def write(self, author: Author, work: Callable[[Writer], T]) -> T:
        with self._transaction() as connection:
            writer = SQLiteWriter(connection, author)
            result = work(writer)
            writer.close()
            return result

    # Words

    def by_text(self, where: Filter, terms: Sequence[str], limit: int) -> Ranked:
        numbers = self.numbers(where.scopes)
        if not numbers or not terms:
            return []
        match = " OR ".join(quoted(prefix + term) for prefix in self._prefixes(where, numbers) for term in terms)
        condition, values = self._beside_match(where, numbers)
        rows = self.read(
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
            condition, values = where_clause(where, numbers)
            return f"f.rowid IN (SELECT m.seq FROM memories m WHERE m.seq = f.rowid AND {condition})", values
        if where.valid_at is None:
            return "1", []
        return f"f.rowid NOT IN ({invalid_now(numbers)})", [*numbers, where.valid_at, where.valid_at]

    def corpus(self, scopes: Sequence[Scope], terms: Sequence[str]) -> Corpus:
        numbers = self.numbers(scopes)
        ((size, length),) = self.read(
            f"SELECT coalesce(sum(active), 0), coalesce(sum(terms), 0) FROM scopes WHERE number IN ({marks(numbers)})",
            numbers,
        )
        frequency = {
            term: sum(
                row[0]
                for number in numbers
                for row in self.read(
                    "SELECT doc FROM memory_vocabulary WHERE term = ?",
                    (scope_prefix(number, active=True) + term,),
                )
            )
            for term in terms
        }
        return Corpus(size, length / size if size else 0.0, frequency)

    # Vectors

    def by_vector(self, where: Filter, model: str, vector: Vector, limit: int) -> Ranked:
        numbers = self.numbers(where.scopes)
        known = self.read("SELECT number, dimensions FROM models WHERE identity = ?", (model,))
        if not numbers or not known or known[0][1] != len(vector) or limit <= 0:
            return []
        found: Ranked = []
        vector = np.asarray(vector, np.float32) / (float(np.linalg.norm(vector)) or 1.0)
        for number in numbers:
            matrix = None if where.narrow else self._matrices.get(self.read, known[0][0], number)
            if matrix is None:
                found += self._scan(where, number, known[0][0], vector, limit)
            else:
                found += matrix.nearest(vector, limit, self._hidden(where, number))
        found.sort(key=lambda pair: (-pair[1], pair[0]))
        return found[:limit]

    def vectors(self, model: str, seqs: Sequence[int]) -> dict[int, Vector]:
        known = self.read("SELECT number FROM models WHERE identity = ?", (model,))
        held = self._matrices.vectors(self.read, known[0][0], seqs) if known else {}
        rest = [seq for seq in seqs if seq not in held]
        return held | super().vectors(model, rest) if rest else held

    def _scan(self, where: Filter, number: int, model: int, vector: Vector, limit: int) -> Ranked:
        condition, values = where_clause(where, (number,))
        rows = self.read(
            "SELECT v.seq, coalesce(vec_distance_cosine(v.vector, ?), 1.0) AS distance FROM vectors v "
            f"JOIN memories m ON m.seq = v.seq WHERE v.model = ? AND v.scope = ? AND {condition} "
            "ORDER BY distance, v.seq LIMIT ?",
            (np.asarray(vector, np.float32).tobytes(), model, number, *values, limit),
        )
        return [(seq, min(1.0, max(0.0, 1.0 - distance))) for seq, distance in rows]

    def _hidden(self, where: Filter, number: int) -> set[int]:
        if where.valid_at is None:
            return set()
        return {row[0] for row in self.read(invalid_now((number,)), (number, where.valid_at, where.valid_at))}

    def add_vectors(self, model: str, vectors: Mapping[int, Vector]) -> None:
        if vectors:
            self.transact(lambda execute: _add_vectors(execute, model, vectors))

    # Upkeep

    def check(self) -> Iterator[Finding]:
        self._check_open()
        # A connection of its own: FTS5 checks what it has cached, which may be older than the last write.
        with translated(self.location), closing(self._connect()) as connection:
            connection.execute("BEGIN")  # one moment for all checks, or a write in between would look like damage
            yield from checkup.check_sqlite(connection)

    def repair(self) -> None:
        with self._transaction() as connection:
            checkup.repair_sqlite(connection, at=self._clock())
        self._matrices = Matrices()  # vectors may have been dropped without a word in the journal

    def scrub(self) -> None:
        """Overwrites what deleted rows left behind in the file, its free pages and its log."""
        self._check_open()
        with self._lock, translated(self.location):
            self._check_open()
            self._writer.execute("INSERT INTO memory_terms (memory_terms) VALUES ('optimize')")
            self._writer.execute("VACUUM")
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")


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


def scope_prefix(number: int, *, active: bool) -> str:
    """What stands before each term of a memory in the full-text index."""
    return f"{number}~" if active else f"{number}_"


def quoted(term: str) -> str:
    """A term as an FTS5 string, whatever is in it: nothing in a term may end the string and reach other words."""
    return '"' + term.replace("\x00", " ").replace('"', '""') + '"'


def invalid_now(numbers: Sequence[int]) -> str:
    """SQL for the active memories whose validity has ended or not begun; its index holds only bounded ones."""
    return (
        f"SELECT m.seq FROM memories m WHERE m.scope IN ({marks(numbers)}) AND m.status = 'active' "
        "AND (m.valid_until IS NOT NULL OR m.valid_from IS NOT NULL) AND (m.valid_until <= ? OR m.valid_from > ?)"
    )


def _add_vectors(execute: Execute, model: str, vectors: Mapping[int, Vector]) -> None:
    lengths = {len(vector) for vector in vectors.values()}
    if len(lengths) != 1:
        raise DimensionMismatchError(f"Vectors of {model} differ in length: {sorted(lengths)}. None was stored.")
    number = _model_number(execute, model, lengths.pop())
    touched: set[int] = set()
    for seq, vector in vectors.items():
        for (scope,) in execute("SELECT scope FROM memories WHERE seq = ?", (seq,)):
            execute(
                "INSERT OR REPLACE INTO vectors (model, scope, seq, vector) VALUES (?, ?, ?, ?)",
                (number, scope, seq, np.asarray(vector, np.float32).tobytes()),
            )
            touched.add(scope)
    for scope in touched:
        _advance(execute, number, scope)


def _model_number(execute: Execute, model: str, dimensions: int) -> int:
    rows = execute("SELECT number, dimensions FROM models WHERE identity = ?", (model,))
    if rows and rows[0][1] != dimensions:
        raise DimensionMismatchError(
            f"The store has {rows[0][1]}d vectors of {model}, but {dimensions}d were given. None was stored. "
            "Run `holdfast reembed --fresh` to make them anew."
        )
    rows = rows or execute(
        "INSERT INTO models (identity, dimensions) VALUES (?, ?) RETURNING number", (model, dimensions)
    )
    return int(rows[0][0])


def _advance(execute: Execute, model: int, scope: int) -> None:
    """Moves the mark up to which the scope is wholly embedded."""
    start = execute("SELECT seq FROM embedded WHERE model = ? AND scope = ?", (model, scope))
    first_missing = execute(
        "SELECT m.seq FROM memories m WHERE m.scope = ? AND m.seq > ? AND NOT EXISTS "
        "(SELECT 1 FROM vectors v WHERE v.model = ? AND v.scope = m.scope AND v.seq = m.seq) ORDER BY m.seq LIMIT 1",
        (scope, start[0][0] if start else 0, model),
    )
    if first_missing:
        upto = first_missing[0][0] - 1
    else:
        upto = execute("SELECT max(seq) FROM memories WHERE scope = ?", (scope,))[0][0]
    execute("INSERT OR REPLACE INTO embedded (model, scope, seq) VALUES (?, ?, ?)", (model, scope, upto))


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
    except apsw.Error as error:
        for kinds, ours, advice in _TRANSLATIONS:
            if isinstance(error, kinds):
                raise ours(f"{location} {advice} ({error})") from error
        raise StoreError(f"{location}: {error}") from error
