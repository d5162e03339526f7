"""Small tables with expiring rows, stored apart from memories: in their own file, schema or
process.

This module knows nothing of memories, and nothing that reads memories imports it, so these rows are
never recalled or exported with them. The first write creates the file; reading creates nothing.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Generic, TypeVar

import apsw

from .errors import StoreClosed, StoreError
from .scopes import hash_session_id
from .storage.connect import check_place, is_server, shown
from .storage.schema import Rows
from .storage.sqlite.connection import connect, form_of, make_private_file, translated
from .storage.sqlite.encryption import check_driver, read_key
from .storage.sqlite.rekey import change_key
from .storage.sqlite.store import IN_MEMORY
from .types import Clock, new_id

Entry = TypeVar("Entry")
# Connections of a process to a server for one hot table.
HOT_CONNECTIONS = 2
# Key of the advisory lock under which tables are created.
MAKING = 0x484C4454


class Table:
    """Statements on one side table. `name` names its file and schema; `columns` is the body of
    CREATE TABLE.

    A `hot` table is written with nearly every request, and a power cut may take its last rows: it
    keeps its connections to a server, and waits for no disk.
    """

    def __init__(
        self,
        store: str | Path,
        *,
        name: str,
        columns: str,
        hot: bool = False,
        key_file: str | Path = "",
    ) -> None:
        check_place(store)
        self._hot = hot
        self._pool: Any = None
        self._made = False
        self.ephemeral = str(store) == IN_MEMORY
        self.name = name
        self._columns = columns
        self._closed = False
        self._url = str(store) if is_server(store) else ""
        self._file: Path | None = None
        self._key = ""
        if not self.ephemeral and not self._url:
            self._file = Path(store).expanduser().absolute().with_name(f"{name}.db")
            self._key = read_key(key_file)
        self.location = str(self._file or IN_MEMORY)
        if self._url:
            self.location = f"{shown(store)}, schema holdfast_{name}"
        # An apsw connection must not be used by two threads at once.
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = None

    def read(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        """Run one SELECT; return no rows if the table does not exist yet."""
        return self._run(sql, values, make=False)

    def write(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        """Run one statement in its own transaction; create the table first if needed."""
        return self._run(sql, values, make=True)

    def close(self) -> None:
        """Close the table. Idempotent; later calls raise StoreClosed."""
        with self._lock:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
            if self._pool is not None:
                self._pool.close()

    def _run(
        self,
        sql: str,
        values: Sequence[Any],
        *,
        make: bool,
    ) -> Rows:
        if self._closed:
            raise StoreClosed()
        if self._url:
            return self._run_on_server(sql, values, make=make)
        with self._lock, translated(self.location):
            missing = self._file is not None and not self._file.exists()
            if missing and not make and self._connection is None:
                return []
            return self._open().execute(sql, values).fetchall()

    def _open(self) -> apsw.Connection:
        if self._connection is None:
            if self._key:
                # Before the file is made: without it nothing may be written.
                check_driver()
            if self._file is not None:
                # Create the file with its final permissions before SQLite opens it.
                make_private_file(self._file)
            if self._file is not None and self._key and form_of(self._file) == "plain":
                # Written before the store beside it was encrypted.
                change_key(self._file, "", self._key)
            connection = connect(self.location, self._key, private=self._file is None)
            # Overwrite deleted rows at once, and leave no WAL file beside the database.
            connection.execute("PRAGMA secure_delete = ON")
            if self._hot:
                connection.execute("PRAGMA synchronous = OFF")
            connection.execute(f"CREATE TABLE IF NOT EXISTS {self.name} ({self._columns})")
            self._connection = connection
        return self._connection

    def _run_on_server(
        self,
        sql: str,
        values: Sequence[Any],
        *,
        make: bool,
    ) -> Rows:
        # The driver is an optional extra.
        from .storage.postgres.connections import Connections  # noqa: PLC0415
        from .storage.postgres.driver_errors import explained  # noqa: PLC0415

        if not self._hot:
            connections = Connections(self._url, self.location)
            with connections.connect() as connection, explained(self.location):
                return self._run_there(connection, sql, values, make=make)
        with self._lock:
            if self._pool is None:
                self._pool = Connections(self._url, self.location, most=HOT_CONNECTIONS)
            pool = self._pool

        def attempt() -> Rows:
            with pool.lent() as connection:
                return self._run_there(connection, sql, values, make=make)

        with explained(self.location):
            rows: Rows = pool.again(attempt)
        return rows

    def _run_there(
        self,
        connection: Any,
        sql: str,
        values: Sequence[Any],
        *,
        make: bool,
    ) -> Rows:
        if make and not self._made:
            self._make_schema(connection)
            self._made = self._hot
        elif not make and connection.execute(
            f"SELECT to_regclass('holdfast_{self.name}.{self.name}')"
        ).fetchone() == (None,):
            return []
        # Settings end with the transaction: a pooler may give the session to somebody else.
        with connection.transaction():
            connection.execute(f"SET LOCAL search_path = holdfast_{self.name}".encode())
            if self._hot:
                connection.execute("SET LOCAL synchronous_commit = off")
            cursor = connection.execute(sql.replace("?", "%s").encode(), values)
            return cursor.fetchall() if cursor.description else []

    def _make_schema(self, connection: Any) -> None:
        # The driver is an optional extra.
        from psycopg import errors  # noqa: PLC0415

        schema = f"holdfast_{self.name}"
        table = f"{schema}.{self.name}"
        if connection.execute(f"SELECT to_regclass('{table}')").fetchone() != (None,):
            return
        try:
            with connection.transaction():
                # IF NOT EXISTS fails when another process creates the same at the same time.
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (MAKING,))
                if connection.execute(f"SELECT to_regnamespace('{schema}')").fetchone() == (None,):
                    connection.execute(f"CREATE SCHEMA {schema}")
                connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({self._columns})")
        except errors.InsufficientPrivilege as error:
            raise StoreError(
                f"The login {connection.info.user} may not create {schema} here. Have an "
                f"administrator run: CREATE SCHEMA {schema} AUTHORIZATION {connection.info.user}"
            ) from error


class SessionLog(Generic[Entry]):
    """Log of what happened in sessions, in one side table.

    `entry` is a dataclass whose fields are the columns; the first four are `id`, `at`, `session`
    and `owner`.
    """

    def __init__(
        self,
        table: Table,
        clock: Clock,
        entry: Any,
    ) -> None:
        self._table = table
        self._clock = clock
        self._entry: Callable[..., Entry] = entry
        self._columns = [field.name for field in fields(entry)]
        self.location = table.location

    def list(self, *, owner: str | None = None, limit: int | None = None) -> builtins.list[Entry]:
        """Return entries, newest first, of one owner or of all."""
        tail = "" if limit is None else f" LIMIT {max(0, int(limit))}"
        condition, values = _owner_clause(owner)
        return self._select(f"{condition} ORDER BY at DESC, id DESC{tail}", values)

    def count(self, *, owner: str | None = None) -> int:
        """Count entries of one owner or of all."""
        condition, values = _owner_clause(owner)
        rows = self._table.read(f"SELECT count(*) FROM {self._table.name}{condition}", values)
        return int(rows[0][0]) if rows else 0

    def close(self) -> None:
        """Close the log. Idempotent; later calls raise StoreClosed."""
        self._table.close()

    def _insert(
        self,
        prefix: str,
        session: str,
        owner: str | None,
        *values: Any,
    ) -> Entry:
        """Store an entry with a new id, the time of now and the hash of its session."""
        at = self._clock()
        # An incognito session leaves nothing that names a person.
        stored_owner = None if self._table.ephemeral else owner
        hashed = hash_session_id(session)
        row = (new_id(prefix, at), at, hashed, stored_owner, *values)
        # Columns without a value stay empty, as the last fields of an entry do.
        columns = ", ".join(self._columns[: len(row)])
        marks = ", ".join("?" * len(row))
        self._table.write(f"INSERT INTO {self._table.name} ({columns}) VALUES ({marks})", row)
        return self._entry(*row)

    def _select(self, tail: str, values: Sequence[Any]) -> builtins.list[Entry]:
        columns = ", ".join(self._columns)
        rows = self._table.read(f"SELECT {columns} FROM {self._table.name}{tail}", values)
        return [self._entry(*row) for row in rows]


def _owner_clause(owner: str | None) -> tuple[str, Sequence[Any]]:
    if owner is None:
        return "", ()
    return " WHERE owner = ?", (owner,)
