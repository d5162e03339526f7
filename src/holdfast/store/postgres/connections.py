"""Connections to one Postgres: a pool, transactions that name their scopes, and what happens when one breaks.

Every statement runs in a transaction that first gives up the login's own rights for those of a role that owns
nothing, and says which scopes it is for. Nothing of that outlives the transaction, so a pooler in between, or
the next user of the connection, finds none of it.
"""

from __future__ import annotations

import json
import os
import random
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, LiteralString

import psycopg
from psycopg import errors, sql
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Format, TransactionStatus
from psycopg.types.numeric import Int8BinaryDumper
from psycopg_pool import ConnectionPool, PoolTimeout

from ...errors import InvalidInput, StoreBusy, StoreClosed, StoreError, StoreFull, StoreReadOnly
from ..base import T
from ..rows import Row, Rows

APP, WORKER = "holdfast_app", "holdfast_worker"
# Said each time: the login or the server may have other defaults.
WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED"
READING = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"
CONNECTIONS = 10  # per process
PATIENCE = 30.0  # seconds that a call goes on trying when the server is away or busy
STEP = 1.0  # seconds between looks whether a server that was away is back
STATEMENT_MILLISECONDS = 30_000
FETCH = 500  # rows per round trip of a stream
ROWS_TOGETHER = 5_000  # rows of one insert
BYTES_TOGETHER = 16_000_000  # of one insert, if it has several rows; a server takes at most a gigabyte
UNKNOWN = 0  # the type of a value for which nothing else is registered
CHANGED = "has other tables than when it was opened. Open it again."
SEPARATOR = "\x1f"  # no scope's name has a control character

_INSERT = re.compile(r"INSERT INTO (?P<table>\w+) \((?P<columns>[\w, ]+)\) VALUES \([?, ]+\)")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_NAMES = [f"c{number}" for number in range(64)]
_TYPES: dict[str, dict[str, str]] = {}

Connection = psycopg.Connection[Row]


@dataclass(frozen=True, slots=True)
class Sight:
    """What a transaction may see: scopes by number, scopes by name (to find or make them), or all there is."""

    numbers: tuple[int, ...] | None = ()
    names: tuple[str, ...] = ()
    search_path: str = "holdfast, public"

    def covers(self, other: Sight) -> bool:
        """Whether whatever another one sees can be seen with this one, and no role is changed by it."""
        return (
            self.numbers is not None
            and other.numbers is not None
            and set(other.numbers) <= set(self.numbers)
            and set(other.names) <= set(self.names)
        )


@lru_cache(maxsize=1024)
def opening(sight: Sight, begin: str, milliseconds: int) -> bytes:
    """The start of a transaction, with what it may see and how long a statement may take, in one round trip."""
    return (
        f"{begin}; SET LOCAL ROLE {WORKER if sight.numbers is None else APP}; "
        f"SET LOCAL search_path = {sight.search_path}; SET LOCAL statement_timeout = {milliseconds}; "
        "SET LOCAL row_security = on; SET LOCAL jit = off; "
    ).encode() + seen(sight)


def seen(sight: Sight) -> bytes:
    """The statements that say which scopes a transaction may see.

    They are SET LOCAL and not set_config: Citus passes those on to the machines that hold the rows.
    """
    numbers = ",".join(map(str, sight.numbers or ()))
    names = sql.Literal(SEPARATOR.join(sight.names)).as_bytes(None)
    return f"SET LOCAL holdfast.scopes = '{numbers}'; SET LOCAL holdfast.names = ".encode() + names


class PostgresStatements:
    """Statements on one connection, inside its transaction. Placeholders are `?`."""

    def __init__(self, connection: Connection, sight: Sight, *, one_by_one: bool = False) -> None:
        self._connection = connection
        self._sight = sight
        self._one_by_one = one_by_one

    def __call__(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        cursor = self._connection.execute(translated(sql), values, binary=True)
        return cursor.fetchall() if cursor.description else []

    def many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        insert = _INSERT.fullmatch(sql)
        if insert is None or self._one_by_one or "vector" in insert["columns"]:
            if rows:
                self._connection.cursor().executemany(translated(sql), rows)
            return
        # As one JSON value: the driver would spend longer on each value than the server does on the row. COPY, which
        # is quicker still, is not for tables with row-level security.
        statement = self._inserting(insert["table"], insert["columns"].split(", "))
        for start in range(0, len(rows), ROWS_TOGETHER):
            page = [dict(zip(_NAMES, row, strict=False)) for row in rows[start : start + ROWS_TOGETHER]]
            self._insert(statement, page)

    def _insert(self, statement: bytes, page: Sequence[dict[str, Any]]) -> None:
        packed = json.dumps(page, default=_hex)
        if len(packed) <= BYTES_TOGETHER or len(page) == 1:
            self._connection.execute(statement, (packed,))
            return
        half = len(page) // 2
        self._insert(statement, page[:half])
        self._insert(statement, page[half:])

    def _inserting(self, table: str, columns: Sequence[str]) -> bytes:
        if table not in _TYPES:
            rows = self._connection.execute(
                "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = %s::regclass",
                (f"holdfast.{table}",),
            )
            _TYPES[table] = dict(rows.fetchall())
        shape = ", ".join(f"{name} {_TYPES[table][column]}" for name, column in zip(_NAMES, columns, strict=False))
        return (
            f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(_NAMES[: len(columns)])} "
            f"FROM json_to_recordset(%s::json) AS r ({shape})"
        ).encode()

    def widen(self, *, number: int | None = None, name: str | None = None) -> None:
        """Lets this transaction see one more scope: by its name to look it up, by its number to use it."""
        sight = self._sight
        if name is not None:
            sight = replace(sight, names=(*sight.names, name))
        if number is not None:
            sight = replace(sight, numbers=(*(sight.numbers or ()), number))
        self._sight = sight
        self._connection.execute(seen(sight))


class UnknownType(Loader):
    """A value of a type that the tables did not have when the store was opened: its bytes would be misread."""

    format = Format.BINARY

    def load(self, data: Buffer) -> Any:  # noqa: ARG002
        raise StoreError(f"The database {CHANGED}")


@dataclass(frozen=True, slots=True)
class Trace:
    """What a transaction leaves behind and no other does: entries in these scopes' journals, under its run.

    One that only appended messages journals nothing, and is told by the last of them.
    """

    sight: Sight
    run: str
    message: tuple[Any, ...] | None = None
    """Scope, session, position and time of a message."""


@dataclass(eq=False)
class Connections:
    """The pool of one server, made when it is first needed and anew after a fork."""

    url: str = field(repr=False)
    location: str
    configure: Callable[[Connection], None] = lambda connection: None
    patience: float | None = None
    """Seconds that a call goes on trying; PATIENCE if it is None."""
    here: threading.local = field(default_factory=threading.local, repr=False)
    """What this thread of this process is in the middle of. A forked child is in the middle of nothing."""
    _pool: ConnectionPool[Connection] | None = None
    _closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _inherited: list[Any] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        if not well_formed(self.url):
            raise InvalidInput(
                "The URL of the server cannot be understood. Write it as postgresql://user:password@host:port/database "
                "and spell whatever is special in the password with a percent sign: %40 for @, %2F for /, %3A for :."
            )
        _living.add(self)

    def connect(self) -> Connection:
        """One connection outside the pool, with the login's own rights: for making tables and for telling errors."""
        if self._closed:
            raise StoreClosed()
        with explained(self.location):
            return psycopg.connect(self.url, **self._options())

    def _options(self) -> dict[str, Any]:
        seconds = 10 if self.patience is None else max(1, round(self.patience))
        return {"autocommit": True, "connect_timeout": seconds, "client_encoding": "UTF8"}

    def close(self) -> None:
        """Ends all connections."""
        self._closed = True
        if self._pool is not None:
            self._pool.close()

    @contextmanager
    def lent(self) -> Iterator[Connection]:
        """A connection from the pool. A transaction that was left open ends without a trace."""
        pool, pid = self._open_pool(), os.getpid()
        connection = self._borrow(pool)
        try:
            yield connection
        finally:
            if pid == os.getpid():  # or this is a child, and the connection is its parent's
                _leave(connection)
                pool.putconn(connection)

    def _borrow(self, pool: ConnectionPool[Connection]) -> Connection:
        deadline = self._deadline()
        while True:
            try:
                # In small steps: each one has the pool try anew whether the server is back.
                return pool.getconn(timeout=max(0.01, min(STEP, deadline - time.monotonic())))
            except PoolTimeout as error:
                if time.monotonic() < deadline:
                    continue
                if self.patience is None:
                    self.connect().close()  # says why, if the server cannot be reached at all
                raise StoreBusy(f"{self.location} has no free connection. Try again in a moment.") from error

    def _deadline(self) -> float:
        return time.monotonic() + (PATIENCE if self.patience is None else self.patience)

    def _open_pool(self) -> ConnectionPool[Connection]:
        if self._closed:
            raise StoreClosed()
        with self._lock:
            if self._pool is None:
                self._pool = ConnectionPool(
                    self.url,
                    min_size=1,
                    max_size=CONNECTIONS,
                    configure=self._prepare,
                    reconnect_timeout=2 * STEP,  # or it would look for the server more and more seldom
                    kwargs=self._options(),
                    open=True,
                )
        return self._pool

    def begin_anew(self) -> None:
        """In a child that was forked just now: the parent's connections must not be used, nor closed, here."""
        if self._pool is not None:
            self._pool._closed = True  # or its end would wait for threads that are not in this process
            self._inherited.append(self._pool)
        self._pool, self._lock, self.here = None, threading.Lock(), threading.local()

    def _prepare(self, connection: Connection) -> None:
        # One type for all whole numbers: a list of small and large ones is still one list to the planner.
        connection.adapters.register_dumper(int, Int8BinaryDumper)
        connection.adapters.register_loader(UNKNOWN, UnknownType)
        self.configure(connection)

    @contextmanager
    def transaction(self, sight: Sight, *, begin: str = WRITING) -> Iterator[Connection]:
        """A transaction with this sight; it ends without a trace unless the caller commits it."""
        with ExitStack() as stack:
            yield self.again(lambda: self._begun(stack, opening(sight, begin, STATEMENT_MILLISECONDS)))

    def _begun(self, stack: ExitStack, begin: bytes) -> Connection:
        """A connection that has begun a transaction. One that was lost while nobody used it shows only now."""
        with ExitStack() as trial:
            connection = trial.enter_context(self.lent())
            connection.execute(begin)
            stack.push(trial.pop_all())
        return connection

    def read(self, sight: Sight, statement: str, values: Sequence[Any]) -> Rows:
        """The rows of one SELECT."""
        with self.transaction(sight, begin=READING) as connection:
            return rows_of(connection, statement, values)

    def stream(self, connection: Connection, statement: str, values: Sequence[Any]) -> Iterator[Row]:
        """The rows of one SELECT inside an open transaction, a few at a time."""
        with connection.cursor(name=f"stream_{random.getrandbits(48)}") as cursor:
            cursor.itersize = FETCH
            yield from cursor.execute(translated(statement), findable(values), binary=True)

    def again(self, attempt: Callable[[], T]) -> T:
        """What `attempt` returns; it is made again when others got in its way or the server was lost.

        It gives up, with an error that says why, when the server stays away.
        """
        deadline, pause = self._deadline(), 0.01
        while True:
            try:
                return attempt()
            except (errors.SerializationFailure, errors.DeadlockDetected) as error:
                if time.monotonic() > deadline:
                    raise StoreBusy(f"{self.location}: others kept changing the same rows ({error}).") from error
            except psycopg.Error as error:
                if not lost(error) or time.monotonic() > deadline:
                    raise
                with suppress(psycopg.Error, StoreError):
                    self._open_pool().check()  # the other connections to that server are gone as well
            time.sleep(random.uniform(pause / 2, pause))
            pause = min(pause * 2, 1.0)

    def outcome(self, transaction: str, trace: Trace | None = None) -> str:
        """What became of a transaction whose COMMIT was never answered: 'committed' or 'aborted'.

        Raises StoreError when the server stays away, or still works on it.
        """
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with suppress(psycopg.Error, StoreError), self.connect() as connection:
                try:
                    row = connection.execute("SELECT pg_xact_status(%s::xid8)", (transaction,)).fetchone()
                except errors.InvalidParameterValue:  # it lies in the future: the server crashed and forgot it
                    return "aborted"
                if row == ("committed",) and trace is not None and not _left(connection, transaction, trace):
                    return "aborted"
                if row in (("committed",), ("aborted",)):
                    return str(row[0])
            time.sleep(0.1)
        raise StoreError(
            f"The connection to {self.location} was lost while a change was being committed, and the server did not "
            "come back to say whether it was. `holdfast log` shows it if it was; if not, make it again."
        )


_living: weakref.WeakSet[Connections] = weakref.WeakSet()


def _forked() -> None:
    for connections in list(_living):
        connections.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _left(connection: Connection, transaction: str, trace: Trace) -> bool:
    """Whether a transaction that counts as committed was ours.

    A server that crashes before a transaction's number is on its disk gives the same number to another one.
    """
    connection.execute(opening(trace.sight, READING, STATEMENT_MILLISECONDS))
    look: LiteralString = "SELECT 1 FROM events WHERE scope = ANY (%s::bigint[]) AND run = %s"
    values: tuple[Any, ...] = (list(trace.sight.numbers or ()), trace.run)
    if trace.message is not None:
        look = "SELECT 1 FROM messages WHERE scope = %s AND session = %s AND position = %s AND created_at = %s"
        values = trace.message
    rows = connection.execute(f"{look} AND xmin = %s::xid8::xid LIMIT 1", (*values, transaction)).fetchall()
    connection.execute("ROLLBACK")
    return bool(rows)


def rows_of(connection: Connection, statement: str, values: Sequence[Any]) -> Rows:
    """The rows of one SELECT inside an open transaction."""
    return connection.execute(translated(statement), findable(values), binary=True).fetchall()


def findable(values: Sequence[Any]) -> Sequence[Any]:
    """Values to look for. A text that no table can hold is looked for in vain, and not an error."""
    return [_findable(value) for value in values]


def _findable(value: Any) -> Any:
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    return [_findable(one) for one in value] if type(value) is list else value


def _leave(connection: Connection) -> None:
    """Ends the transaction that is open, if one is, so that the connection can be used again, or drops it."""
    with suppress(psycopg.Error):
        if connection.info.transaction_status != TransactionStatus.IDLE:
            connection.execute("ROLLBACK")
            return
    if connection.info.transaction_status == TransactionStatus.UNKNOWN:
        connection.close()


# What the server says when it ends a connection: shut down, crashed, not ready yet, idle for too long.
_GONE = ("57P01", "57P02", "57P03", "57P05", "25P03")


def lost(error: BaseException) -> bool:
    """Whether an error means that the connection is gone, rather than that the server said no."""
    if not isinstance(error, psycopg.Error):
        return False
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return error.sqlstate in _GONE or error.sqlstate.startswith("08")


@lru_cache(maxsize=2048)
def translated(statement: str) -> bytes:
    """A statement with our placeholders as the driver spells them."""
    return statement.replace("%", "%%").replace("?", "%s").encode()


def _hex(value: Any) -> str:
    """Bytes as the server reads them from text."""
    return "\\x" + bytes(value).hex()


def well_formed(url: str) -> bool:
    """Whether a URL says what it seems to say; one whose password has a bare @ or / in it does not."""
    try:
        known = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except psycopg.Error:
        return False
    host, database = known.get("host", ""), known.get("dbname", "")
    return (
        all(not port or port.isdecimal() for port in known.get("port", "").split(","))
        and "@" not in host[1:]
        and ("@" not in database or "%40" in url)
    )


def without_password(url: str) -> str:
    """A URL for people: no password, nor any other parameter that could hold one."""
    if not well_formed(url):
        return "postgresql://…"  # there is no telling which part of it is the password
    known = conninfo_to_dict(url)
    user = f"{known['user']}@" if known.get("user") else ""
    port = f":{known['port']}" if known.get("port") else ""
    return f"postgresql://{user}{known.get('host', 'localhost')}{port}/{known.get('dbname', '')}"


_ADVICE: tuple[tuple[tuple[type[psycopg.Error], ...], type[StoreError], str], ...] = (
    ((errors.LockNotAvailable, errors.QueryCanceled), StoreBusy, "took too long to answer. Try again in a moment."),
    ((errors.TooManyConnections,), StoreBusy, "has no free connection. Try again in a moment."),
    ((errors.DiskFull,), StoreFull, "could not grow: its disk is full. The change was not made; free some space."),
    ((errors.ReadOnlySqlTransaction,), StoreReadOnly, "is read-only, as a replica is. Write to the primary."),
    (
        (errors.InsufficientPrivilege,),
        StoreError,
        f"refused: this login lacks a right. It needs the role {APP}, and {WORKER} for upkeep of all scopes: "
        f"GRANT {APP}, {WORKER} TO the_login",
    ),
    (
        (errors.InvalidPassword, errors.InvalidAuthorizationSpecification),
        StoreError,
        "refused the login. Check user and password in the URL.",
    ),
    ((errors.DatatypeMismatch,), StoreError, CHANGED),
    ((errors.InvalidCatalogName,), StoreError, "does not exist. Create the database first, e.g. with createdb."),
)
# The driver does not say which error kept it from connecting, but the server's words are in its message.
_REFUSALS: tuple[tuple[str, type[psycopg.Error]], ...] = (
    ("too many clients|remaining connection slots|too many connections", errors.TooManyConnections),
    (r'database "[^"]*" does not exist', errors.InvalidCatalogName),
    (r"authentication failed|no password supplied|no pg_hba\.conf entry", errors.InvalidPassword),
    (r'role "[^"]*" does not exist|not permitted to log in', errors.InvalidPassword),
)


@contextmanager
def explained(location: str) -> Iterator[None]:
    """Turns the server's and the driver's errors into ours, with what to do next."""
    try:
        yield
    except (errors.DataError, UnicodeEncodeError) as error:
        raise InvalidInput(f"Postgres cannot store this: {_first_line(error)}.") from error
    except psycopg.Error as error:
        kind = _kind(error)
        for kinds, ours, advice in _ADVICE:
            if issubclass(kind, kinds):
                raise ours(f"{location} {advice} ({_first_line(error)})") from error
        if lost(error):
            raise StoreError(
                f"{location} cannot be reached: {_first_line(error)}. Check that the server runs and the URL is right."
            ) from error
        raise StoreError(f"{location}: {_first_line(error)}") from error


def _kind(error: psycopg.Error) -> type[psycopg.Error]:
    if error.sqlstate is None:
        for words, kind in _REFUSALS:
            if re.search(words, str(error)):
                return kind
    return type(error)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
