"""Statements in one transaction, which says first what it may see; our placeholders as the driver
spells them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import sql
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format

from ...errors import StoreError
from ..schema import Row, Rows

APP = "holdfast_app"
WORKER = "holdfast_worker"
# Said each time: the login or the server may have other defaults.
WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED"
READING = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"
ROWS_TOGETHER = 5_000  # rows of one insert
BYTES_TOGETHER = (
    16_000_000  # of one insert, if it has several rows; a server takes at most a gigabyte
)
CHANGED = "has other tables than when it was opened. Open it again."
# The type of a value for which nothing else is registered.
UNKNOWN = 0
# No scope's name has a control character.
SEPARATOR = "\x1f"

_INSERT = re.compile(r"INSERT INTO (?P<table>\w+) \((?P<columns>[\w, ]+)\) VALUES \([?, ]+\)")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_NAMES = [f"c{number}" for number in range(64)]
_TYPES: dict[str, dict[str, str]] = {}

Connection = psycopg.Connection[Row]


@dataclass(frozen=True, slots=True)
class Sight:
    """What a transaction may see: scopes by number, scopes by name (to find or make them), or all
    there is.
    """

    numbers: tuple[int, ...] | None = ()
    names: tuple[str, ...] = ()
    search_path: str = "holdfast, public"

    def covers(self, other: Sight) -> bool:
        """Whether whatever another one sees can be seen with this one, and no role is changed by
        it.
        """
        return (
            self.numbers is not None
            and other.numbers is not None
            and set(other.numbers) <= set(self.numbers)
            and set(other.names) <= set(self.names)
        )


@lru_cache(maxsize=1024)
def opening(
    sight: Sight,
    begin: str,
    milliseconds: int,
) -> bytes:
    """The start of a transaction, with what it may see and how long a statement may take, in one
    round trip.
    """
    return (
        f"{begin}; SET LOCAL ROLE {WORKER if sight.numbers is None else APP}; "
        f"SET LOCAL search_path = {sight.search_path}; SET LOCAL statement_timeout = "
        f"{milliseconds}; "
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

    def __init__(
        self,
        connection: Connection,
        sight: Sight,
        *,
        one_by_one: bool = False,
    ) -> None:
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
        # As one JSON value: the driver would spend longer on each value than the server does on the
        # row. COPY, which is quicker still, is not for tables with row-level security.
        statement = self._inserting(insert["table"], insert["columns"].split(", "))
        for start in range(0, len(rows), ROWS_TOGETHER):
            page = [
                dict(zip(_NAMES, row, strict=False)) for row in rows[start : start + ROWS_TOGETHER]
            ]
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
                (
                    "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE "
                    "attrelid = %s::regclass"
                ),
                (f"holdfast.{table}",),
            )
            _TYPES[table] = dict(rows.fetchall())
        shape = ", ".join(
            f"{name} {_TYPES[table][column]}" for name, column in zip(_NAMES, columns, strict=False)
        )
        return (
            f"INSERT INTO {table} ({', '.join(columns)}) SELECT "
            f"{', '.join(_NAMES[: len(columns)])} "
            f"FROM json_to_recordset(%s::json) AS r ({shape})"
        ).encode()

    def widen(self, *, number: int | None = None, name: str | None = None) -> None:
        """Lets this transaction see one more scope: by its name to look it up, by its number to use
        it.
        """
        sight = self._sight
        if name is not None:
            sight = replace(sight, names=(*sight.names, name))
        if number is not None:
            sight = replace(sight, numbers=(*(sight.numbers or ()), number))
        self._sight = sight
        self._connection.execute(seen(sight))


class UnknownType(Loader):
    """A value of a type that the tables did not have when the store was opened: its bytes would be
    misread.
    """

    format = Format.BINARY

    def load(self, data: Buffer) -> Any:  # noqa: ARG002
        raise StoreError(f"The database {CHANGED}")


def rows_of(
    connection: Connection,
    statement: str,
    values: Sequence[Any],
) -> Rows:
    """The rows of one SELECT inside an open transaction."""
    return connection.execute(translated(statement), findable(values), binary=True).fetchall()


def passing_over(
    statement: str,
    alias: str,
    column: str,
    seqs: Sequence[int],
) -> str:
    """A statement that takes a JSON column for empty in the rows with these numbers."""
    if not seqs:
        return statement
    listed = ",".join(map(str, seqs))
    sound = f"(CASE WHEN {alias}.seq IN ({listed}) THEN NULL ELSE {alias}.{column} END)::json"
    return statement.replace(f"{alias}.{column}::json", sound)


def findable(values: Sequence[Any]) -> Sequence[Any]:
    """Values to look for. A text that no table can hold is looked for in vain, and not an error."""
    return [_findable(value) for value in values]


def _findable(value: Any) -> Any:
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    return [_findable(one) for one in value] if type(value) is list else value


@lru_cache(maxsize=2048)
def translated(statement: str) -> bytes:
    """A statement with our placeholders as the driver spells them."""
    return statement.replace("%", "%%").replace("?", "%s").encode()


def _hex(value: Any) -> str:
    """Bytes as the server reads them from text."""
    return "\\x" + bytes(value).hex()
