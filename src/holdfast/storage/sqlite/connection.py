"""The file of an SQLite store: created private, opened with its key and read-only if necessary,
refused if it belongs to another program; error translation; and shared parts of statements:
counters, and prefixes of full-text terms.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import apsw

from ...config import data_folder
from ...errors import (
    InvalidInput,
    NotFound,
    RowDamaged,
    StoreBusy,
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    WrongKey,
)
from ...types import Scope
from .. import migrations_runner
from ..damage import ADVICE, GarbledRow
from ..schema import Row, Rows
from ..schema_status import Status, jobs_by_status, rows_by_noun
from .encryption import check_driver, how_to_install, is_available, use_key, wrong_key

PLAIN_START = b"SQLite format 3\x00"
# Bytes 20 to 23 stay readable in an encrypted file: the room for nonce and tag on each page, and
# three constants of SQLite. The 16 bytes at the start are random.
ENCRYPTED_MARK = bytes((64, 64, 32, 32))
Form = Literal["empty", "plain", "encrypted", "other"]
# "HLDF": marks the file as ours among SQLite files.
APPLICATION_ID = 0x484C4446
BUSY_MILLISECONDS = 30_000
# Adds to a counter of the file, which starts at the first addition.
ADD_TO_META = (
    "INSERT INTO meta (key, value) VALUES (?, ?) "
    "ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(meta.value AS INTEGER) + excluded.value AS "
    "TEXT)"
)


class SQLiteStatements:
    """Statements on one connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def __call__(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        return rows_of(self._connection, sql, values)

    def many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        self._connection.executemany(sql, rows)


def scope_prefix(number: int, *, active: bool) -> str:
    """Return the prefix of a memory's terms in the full-text index: its scope and whether it is
    active.
    """
    return f"{number}~" if active else f"{number}_"


def quoted(term: str) -> str:
    """Quote a term as an FTS5 string. Escapes quotes, so that no term can end the string and match
    other scopes.
    """
    return '"' + term.replace("\x00", " ").replace('"', '""') + '"'


def rows_of(
    connection: apsw.Connection,
    sql: str,
    values: Sequence[Any] = (),
) -> Rows:
    """Return the rows of one statement. A row with text that is not UTF-8 becomes a GarbledRow; the
    other rows are not affected.
    """
    cursor = connection.execute(sql, values)
    try:
        return cursor.fetchall()
    except UnicodeDecodeError:
        return list(_as_bytes(connection, cursor, sql, values))


def each_row(
    connection: apsw.Connection,
    sql: str,
    values: Sequence[Any] = (),
) -> Iterator[Row]:
    """Like `rows_of`, row by row in constant memory."""
    cursor = connection.cursor().execute(sql, values)
    done = 0
    while True:
        try:
            row = next(cursor)
        except StopIteration:
            return
        except UnicodeDecodeError:
            break
        done += 1
        yield row
    # The open cursor keeps the read transaction, so the second read sees the same snapshot.
    yield from islice(_as_bytes(connection, cursor, sql, values), done, None)


def _as_bytes(
    connection: apsw.Connection,
    cursor: apsw.Cursor,
    sql: str,
    values: Sequence[Any],
) -> Iterator[Row]:
    """Run a SELECT again with every text as bytes, after one was not UTF-8.

    Raises RowDamaged for a statement that writes.
    """
    # A statement that writes must not run twice.
    if not cursor.is_readonly:
        raise RowDamaged(
            "A row that was to be changed holds text that is not UTF-8. Nothing was changed. "
            + ADVICE
        )
    names = [f"c{place}" for place in range(len(cursor.get_description()))]
    wanted = ", ".join(
        f"typeof({name}), CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
        for name in names
    )
    again = f"WITH found ({', '.join(names)}) AS ({sql}) SELECT {wanted} FROM found"
    for row in connection.cursor().execute(again, values):
        yield _decoded(row[::2], row[1::2])


def _decoded(types: Sequence[str], values: Sequence[Any]) -> Row:
    """Build a row from column types and values in which texts are bytes."""
    decoded = list(values)
    garbled = []
    for place, type_ in enumerate(types):
        if type_ == "text":
            decoded[place] = values[place].decode("utf-8", "replace")
            if decoded[place].encode() != values[place]:
                garbled.append(place)
    return GarbledRow.of(decoded, garbled) if garbled else tuple(decoded)


def status(
    path: str | Path,
    scopes: Sequence[Scope] = (),
    *,
    key: str = "",
) -> Status:
    """Return the status of the file at `path`, whatever the version of its tables.

    Counts rows in these scopes, or in all if none is named. Raises NotFound if there is no file.
    """
    file = Path(path).expanduser().absolute()
    if not file.is_file():
        raise NotFound(f"There is no store at {file}. Make one with `holdfast store init`.")
    with (
        translated(str(file)),
        closing(connect(str(file), key)) as connection,
    ):
        refuse_foreign_file(connection, str(file))
        version = int(connection.pragma("user_version"))
        execute = SQLiteStatements(connection)
        tables = {
            name for (name,) in execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        }
        return Status(
            "sqlite",
            str(file),
            version,
            tuple(step.name for step in migrations_runner.pending("sqlite", version, str(file))),
            sum(
                part.stat().st_size
                for part in (file, file.with_name(f"{file.name}-wal"))
                if part.exists()
            ),
            rows_by_noun(execute, tables, scopes) if tables else None,
            execute("SELECT count(*) FROM scopes")[0][0] if tables else 0,
            jobs_by_status(execute) if tables else {},
        )


def vector_extension() -> str:
    """Path of the sqlite-vec library. Found without importing the package, which would load
    numpy.
    """
    package = find_spec("sqlite_vec")
    assert package is not None and package.origin is not None
    return str(Path(package.origin).with_name("vec0"))


def connect(
    uri: str,
    key: str = "",
    *,
    private: bool = False,
) -> apsw.Connection:
    """Open a file of ours, or a `private` database in memory. Every connection comes from here, so
    that none is without its key.

    Raises WrongKey if the file is encrypted and there is no key, or the reverse.
    """
    if not private:
        check_key(Path(uri), key)
    connection = apsw.Connection(*_how_to_open(uri, private=private))
    if key:
        use_key(connection, key)
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    return connection


def form_of(file: Path) -> Form:
    """Return what a file is, from its first bytes; `other` is neither SQLite nor encrypted."""
    try:
        with file.open("rb") as opened:
            start = opened.read(24)
    except OSError:
        # A missing file is created later; any other problem is reported when it is opened.
        return "empty"
    if not start:
        return "empty"
    if start.startswith(PLAIN_START):
        return "plain"
    return "encrypted" if start[20:24] == ENCRYPTED_MARK else "other"


def check_key(file: Path, key: str) -> None:
    """Raise WrongKey if the file is encrypted and there is no key, or the reverse; MissingExtra if
    the extra `encryption` is not installed.
    """
    form = form_of(file)
    if key:
        check_driver()
    if form == "encrypted" and not key:
        needs = "" if is_available() else f" {how_to_install()}"
        raise WrongKey(
            f"{file} is encrypted, and no key was given. Name its key file with --key-file or "
            f"HOLDFAST_KEY_FILE.{needs}"
        )
    if form == "plain" and key:
        raise WrongKey(
            f"{file} is not encrypted, but a key was given. Nothing was changed. Encrypt it with "
            f"`holdfast store key change {file} --key-file none --to-key-file FILE`, or open it as "
            "it is with --key-file none."
        )


def _how_to_open(uri: str, *, private: bool) -> tuple[str, int]:
    """Return URI and flags to open a file: read-write if permitted, else read-only."""
    if private or os.access(uri, os.W_OK):
        return uri, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
    path = Path(uri)
    # On a read-only disk without a log SQLite cannot create one, so it must treat the file as
    # immutable.
    alone = not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()
    return path.as_uri() + (
        "?immutable=1" if alone else ""
    ), apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


def refuse_foreign_file(connection: apsw.Connection, location: str) -> None:
    """Raise StoreCorrupt if the file belongs to another program."""
    # Tables are read first: a process that is creating the store commits tables and id together.
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if tables and tables[0] and connection.pragma("application_id") != APPLICATION_ID:
        raise StoreCorrupt(
            f"{location} is an SQLite file of another program, not a Holdfast store. Nothing was "
            "changed. "
            "Choose another path with --store."
        )


def use_log(connection: apsw.Connection) -> None:
    """Switch to write-ahead logging.

    The switch needs exclusive access, so processes that create a store at the same time retry after
    random pauses.
    """
    connection.set_busy_timeout(0)
    deadline = time.monotonic() + BUSY_MILLISECONDS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            # Deferred import: waiting is rare.
            from random import uniform  # noqa: PLC0415

            time.sleep(uniform(0.001, 0.02))
    connection.set_busy_timeout(BUSY_MILLISECONDS)


def make_private_file(path: Path) -> None:
    """Create the file readable only by its owner, and Holdfast's own folder, private too.

    Raises StoreError for another folder that does not exist: its name is likely mistyped.
    """
    try:
        if not path.parent.exists():
            if not path.is_relative_to(data_folder().absolute()):
                raise StoreError(
                    f"Cannot create {path}: there is no folder {path.parent}. Make it, or choose "
                    "another path with --store."
                )
            path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        if path.is_dir():
            raise InvalidInput(
                f"{path} is a folder. Give the path of a file, e.g. {path / 'memory.db'}."
            )
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except PermissionError as error:
        raise StoreReadOnly(
            f"Cannot create {path}: {error.strerror}. Choose a folder you may write to with "
            "--store."
        ) from error
    except (FileExistsError, NotADirectoryError) as error:
        raise StoreError(
            f"Cannot create {path}: there is a file where a folder is to be. Choose another "
            "path "
            "with --store."
        ) from error
    except OSError as error:
        raise StoreError(
            f"Cannot create {path}: {error.strerror}. Choose another path with --store."
        ) from error


_TRANSLATIONS: tuple[tuple[tuple[type[apsw.Error], ...], type[StoreError], str], ...] = (
    (
        (apsw.BusyError, apsw.LockedError),
        StoreBusy,
        "is being written by another process. Nothing was changed; try again in a moment.",
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
        "is not a Holdfast store. Nothing was changed. Choose another path with --store.",
    ),
    (
        (apsw.CorruptError, apsw.FormatError),
        StoreCorrupt,
        "is damaged. Keep a copy of the file, then restore a backup, or export what can still be "
        "read: "
        "`holdfast export -o rescue.jsonl`.",
    ),
    (
        (apsw.CantOpenError,),
        StoreError,
        "cannot be opened. Check that the path is right and readable.",
    ),
)


class translated:  # noqa: N801
    """Turn SQLite errors into Holdfast errors with advice, inside a `with` block."""

    # A class, because every statement goes through it, and a generator takes three times as long.

    def __init__(self, location: str) -> None:
        self._location = location

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: object,
    ) -> None:
        if error is not None and (ours := _translation(self._location, error)):
            raise ours from error


def _translation(location: str, error: BaseException) -> Exception | None:
    if isinstance(error, apsw.ConnectionClosedError):
        return StoreClosed()
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput(
            "A text holds half a surrogate pair, which no database can keep. Remove it."
        )
    if isinstance(error, UnicodeDecodeError):
        # A read that does not go through `rows_of` or `each_row`.
        return RowDamaged(f"{location} holds text that is not UTF-8 ({error.reason}). {ADVICE}.")
    return _of_sqlite(location, error) if isinstance(error, apsw.Error) else None


def _of_sqlite(location: str, error: apsw.Error) -> StoreError:
    if isinstance(error, apsw.NotADBError) and form_of(Path(location)) == "encrypted":
        return wrong_key(location)
    for kinds, ours, advice in _TRANSLATIONS:
        if isinstance(error, kinds):
            return ours(f"{location} {advice} ({error})")
    return StoreError(f"{location}: {error}")
