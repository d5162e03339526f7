"""Connections to one Postgres server: a pool, transactions bound to scopes, and recovery from lost
connections.

Every transaction first switches from the login to a role that owns nothing and sets the scopes it
may see. Both settings end with the transaction, so neither a pooler nor the next user of the
connection inherits them.
"""

from __future__ import annotations

import os
import random
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, LiteralString

import psycopg
from psycopg import errors
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8BinaryDumper
from psycopg_pool import ConnectionPool, PoolTimeout

from ...errors import InvalidInput, StoreBusy, StoreClosed, StoreError
from ..protocol import T
from ..schema import Row, Rows
from .driver_errors import conflicting, explained, lost, well_formed
from .scoped_session import (
    READING,
    UNKNOWN,
    WRITING,
    Connection,
    Sight,
    UnknownType,
    enter,
    findable,
    rows_of,
    translated,
)

# Maximum pool size per process.
CONNECTIONS = 10
# Seconds for which a call retries while the server is down or busy.
PATIENCE = 30.0
# Seconds between checks whether a lost server is back.
STEP = 1.0
STATEMENT_MILLISECONDS = 30_000
# Rows per round trip of a stream.
FETCH = 500


@dataclass(frozen=True, slots=True)
class Trace:
    """Proof that a transaction committed: journal entries under its run in these scopes.

    A transaction that only appended messages has no entries; the last message identifies it.
    """

    sight: Sight
    run: str
    message: tuple[Any, ...] | None = None
    """Scope, session, position and time of a message."""
    entry: int | None = None
    """Number of its last journal entry, if the rows are on other machines (Citus). Only they know
    then whether it committed: a worker commits before the coordinator, and rows have no transaction
    id of the coordinator.
    """


@dataclass(eq=False)
class Connections:
    """Connection pool of one server, opened on first use and again after a fork."""

    url: str = field(repr=False)
    location: str
    configure: Callable[[Connection], None] = lambda connection: None
    patience: float | None = None
    """Seconds for which a call retries; None means PATIENCE."""
    most: int | None = None
    """Connections of the pool, at most; None means CONNECTIONS."""
    name: str | None = None
    """Name of the pool in the driver's log."""
    here: threading.local = field(default_factory=threading.local, repr=False)
    """State of the current thread. Empty in a forked child."""
    _pool: ConnectionPool[Connection] | None = None
    _closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _inherited: list[Any] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        if not well_formed(self.url):
            raise InvalidInput(
                "The URL of the server cannot be understood. Write it as "
                "postgresql://user:password@host:port/database "
                "and spell whatever is special in the password with a percent sign: %40 for @, "
                "%2F for /, %3A for :."
            )
        _living.add(self)

    def connect(self) -> Connection:
        """Open a connection outside the pool with the login's own rights, to create tables or to
        report why the server is unreachable.
        """
        if self._closed:
            raise StoreClosed()
        with explained(self.location):
            # A pooler may give each statement another session, so none is prepared in this one.
            return psycopg.connect(self.url, prepare_threshold=None, **self._options())

    def _options(self) -> dict[str, Any]:
        seconds = 10 if self.patience is None else max(1, round(self.patience))
        return {"autocommit": True, "connect_timeout": seconds, "client_encoding": "UTF8"}

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        if self._pool is not None:
            self._pool.close()

    @contextmanager
    def lent(self) -> Iterator[Connection]:
        """Lend a connection from the pool; an open transaction is rolled back at the end."""
        pool = self._open_pool()
        pid = os.getpid()
        connection = self._borrow(pool)
        try:
            yield connection
        finally:
            # In a forked child the connection belongs to the parent.
            if pid == os.getpid():
                _leave(connection)
                pool.putconn(connection)

    def _borrow(self, pool: ConnectionPool[Connection]) -> Connection:
        deadline = self._deadline()
        while True:
            try:
                # Short timeouts, because each call makes the pool check again whether the server is
                # back.
                return pool.getconn(timeout=max(0.01, min(STEP, deadline - time.monotonic())))
            except PoolTimeout as error:
                if time.monotonic() < deadline:
                    continue
                if self.patience is None:
                    # Raises the actual reason if the server cannot be reached at all.
                    self.connect().close()
                raise StoreBusy(
                    f"{self.location} has no free connection. Try again in a moment."
                ) from error

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
                    max_size=self.most or CONNECTIONS,
                    configure=self._prepare,
                    # Otherwise the pool would wait longer and longer between attempts to reconnect.
                    reconnect_timeout=2 * STEP,
                    kwargs=self._options(),
                    name=self.name,
                    open=True,
                )
        return self._pool

    def begin_anew(self) -> None:
        """Reset the state in a freshly forked child, which must neither use nor close the parent's
        connections.
        """
        if self._pool is not None:
            # Otherwise the finalizer would wait for threads that do not exist in this process.
            self._pool._closed = True
            self._inherited.append(self._pool)
        self._pool = None
        self._lock = threading.Lock()
        self.here = threading.local()

    def _prepare(self, connection: Connection) -> None:
        # psycopg sends an integer as int2, int4 or int8 depending on its value. With one type, the
        # same statement always has the same parameter types for the planner.
        connection.adapters.register_dumper(int, Int8BinaryDumper)
        connection.adapters.register_loader(UNKNOWN, UnknownType)
        if connection.execute("SELECT pg_backend_pid()").fetchall() != [
            (connection.info.backend_pid,)
        ]:
            # A pooler between us and the server: each transaction may get another session, in which
            # the name of a prepared statement is unknown or stands for another statement.
            connection.prepare_threshold = None
        self.configure(connection)

    @contextmanager
    def transaction(self, sight: Sight, *, begin: str = WRITING) -> Iterator[Connection]:
        """Begin a transaction with this sight; it is rolled back unless the caller commits it."""
        with ExitStack() as stack:
            yield self.again(lambda: self._begun(stack, sight, begin))

    def _begun(self, stack: ExitStack, sight: Sight, begin: str) -> Connection:
        """Return a connection with a transaction begun. A connection lost while idle fails only
        here.
        """
        with ExitStack() as trial:
            connection = trial.enter_context(self.lent())
            enter(connection, sight, begin, STATEMENT_MILLISECONDS)
            stack.push(trial.pop_all())
        return connection

    def read(
        self,
        sight: Sight,
        statement: str,
        values: Sequence[Any],
    ) -> Rows:
        """Return the rows of one SELECT."""
        with self.transaction(sight, begin=READING) as connection:
            return rows_of(connection, statement, values)

    def stream(
        self,
        connection: Connection,
        statement: str,
        values: Sequence[Any],
    ) -> Iterator[Row]:
        """Yield the rows of one SELECT inside an open transaction, FETCH rows per round trip."""
        with connection.cursor(name=f"stream_{random.getrandbits(48)}") as cursor:
            cursor.itersize = FETCH
            yield from cursor.execute(translated(statement), findable(values), binary=True)

    def again(self, attempt: Callable[[], T]) -> T:
        """Return the result of `attempt`, retrying after conflicts and lost connections.

        Raises StoreBusy after repeated conflicts, and the driver's error if the server stays away.
        """
        deadline = self._deadline()
        pause = 0.01
        while True:
            try:
                return attempt()
            except psycopg.Error as error:
                conflict = conflicting(error)
                if not conflict and not lost(error):
                    raise
                if time.monotonic() > deadline:
                    if conflict:
                        raise StoreBusy(
                            f"{self.location}: others kept changing the same rows ({error})."
                        ) from error
                    raise
                if not conflict:
                    with suppress(psycopg.Error, StoreError):
                        # the other connections to that server are gone as well
                        self._open_pool().check()
            time.sleep(random.uniform(pause / 2, pause))
            pause = min(pause * 2, 1.0)

    def outcome(self, transaction: str, trace: Trace | None = None) -> str:
        """Return 'committed' or 'aborted' for a transaction whose COMMIT got no answer.

        Raises StoreError if the server stays away or the transaction is still in progress.
        """
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with suppress(psycopg.Error, StoreError), self.connect() as connection:
                if trace is not None and trace.entry is not None:
                    return "committed" if _left_there(connection, trace) else "aborted"
                try:
                    row = connection.execute(
                        "SELECT pg_xact_status(%s::xid8)", (transaction,)
                    ).fetchone()
                except errors.InvalidParameterValue:
                    # The id lies in the future: the server crashed and lost it.
                    return "aborted"
                if (
                    row == ("committed",)
                    and trace is not None
                    and not _left(connection, transaction, trace)
                ):
                    return "aborted"
                if row in (("committed",), ("aborted",)):
                    return str(row[0])
            time.sleep(0.1)
        raise StoreError(
            f"The connection to {self.location} was lost while a change was being committed, and "
            "the server did not "
            "come back to say whether it was. `holdfast history` shows it if it was; if not, "
            "make it "
            "again."
        )


_living: weakref.WeakSet[Connections] = weakref.WeakSet()


def _forked() -> None:
    for connections in list(_living):
        connections.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _left(
    connection: Connection,
    transaction: str,
    trace: Trace,
) -> bool:
    """Whether a transaction that the server reports as committed was this one.

    A server that crashes before a transaction id reaches its disk gives the id to another one.
    """
    enter(connection, trace.sight, READING, STATEMENT_MILLISECONDS)
    look, values = _looking(trace)
    rows = connection.execute(
        f"{look} AND xmin = %s::xid8::xid LIMIT 1", (*values, transaction)
    ).fetchall()
    connection.execute("ROLLBACK")
    return bool(rows)


def _left_there(connection: Connection, trace: Trace) -> bool:
    """Whether a transaction committed on the machines that have its rows."""
    enter(connection, trace.sight, WRITING, STATEMENT_MILLISECONDS)
    for number in sorted(trace.sight.numbers or ()):
        # It held this lock; when we get it, it has ended there.
        connection.execute("SELECT scope FROM totals WHERE scope = %s FOR NO KEY UPDATE", (number,))
    look, values = _looking(trace)
    if trace.message is None:
        look, values = f"{look} AND seq >= %s", (*values, trace.entry)
    rows = connection.execute(f"{look} LIMIT 1", values).fetchall()
    connection.execute("ROLLBACK")
    return bool(rows)


def last_entry(connection: Connection, trace: Trace) -> int:
    """Return the number of the last journal entry of a transaction that is still open."""
    ((entry,),) = connection.execute(
        "SELECT coalesce(max(seq), 0) FROM events WHERE scope = ANY (%s::bigint[]) AND run = %s",
        (list(trace.sight.numbers or ()), trace.run),
    ).fetchall()
    return int(entry)


def _looking(trace: Trace) -> tuple[LiteralString, tuple[Any, ...]]:
    """Return the query for the proof of a transaction, and its parameters."""
    if trace.message is not None:
        return (
            "SELECT 1 FROM messages WHERE scope = %s AND session = %s AND position = %s AND "
            "created_at = %s"
        ), trace.message
    return ("SELECT 1 FROM events WHERE scope = ANY (%s::bigint[]) AND run = %s"), (
        list(trace.sight.numbers or ()),
        trace.run,
    )


def _leave(connection: Connection) -> None:
    """Roll back the open transaction, if any, so that the connection can be reused; close a broken
    connection.
    """
    with suppress(psycopg.Error):
        if connection.info.transaction_status != TransactionStatus.IDLE:
            connection.execute("ROLLBACK")
            return
    if connection.info.transaction_status == TransactionStatus.UNKNOWN:
        connection.close()
