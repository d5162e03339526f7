"""Statements inside one transaction that is limited to its scopes, with `?` placeholders."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isfinite
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
# Explicit, because the login or the server may have other defaults.
WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED"
READING = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"
# Citus adds a scope, to all machines at once, only if the transaction has one connection to each of
# them. Last, from when on SET LOCAL reaches the workers, where the policies read the scopes.
ON_CLUSTER = (
    "SET LOCAL citus.multi_shard_modify_mode = 'sequential'; "
    "SET LOCAL citus.propagate_set_commands = 'local'"
)
# Rows per INSERT.
ROWS_TOGETHER = 5_000
# Bytes per INSERT of several rows; the server accepts at most a gigabyte.
BYTES_TOGETHER = 16_000_000
CHANGED = "has other tables than when it was opened. Open it again."
# The OID for which psycopg looks up a loader when the type has none of its own.
UNKNOWN = 0
# Safe as a separator: scope names have no control characters.
SEPARATOR = "\x1f"

_INSERT = re.compile(r"INSERT INTO (?P<table>\w+) \((?P<columns>[\w, ]+)\) VALUES \([?, ]+\)")
# Postgres text holds neither NUL nor lone surrogates.
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_NUMBERS = {int, float}
_TYPES: dict[str, dict[str, str]] = {}

Connection = psycopg.Connection[Row]


@dataclass(frozen=True, slots=True)
class Sight:
    """Scopes that a transaction may see: by number, by name (to find or create them), or all
    (None).
    """

    numbers: tuple[int, ...] | None = ()
    names: tuple[str, ...] = ()
    search_path: str = "holdfast, public"
    citus: bool = False
    """Whether the tables may be distributed with Citus."""

    def covers(self, other: Sight) -> bool:
        """Whether a statement for the other sight may run with this one. Never if either sees all
        scopes, because that needs another role.
        """
        return (
            self.numbers is not None
            and other.numbers is not None
            and set(other.numbers) <= set(self.numbers)
            and set(other.names) <= set(self.names)
        )


def enter(
    connection: Connection,
    sight: Sight,
    begin: str,
    milliseconds: int,
) -> None:
    """Start a transaction: its scopes, role and statement timeout, in one round trip; in two on a
    cluster, because Citus sends its workers the whole text that has a SET LOCAL.
    """
    connection.execute(_opening(sight, begin, milliseconds))
    if sight.citus:
        connection.execute(seen(sight))


@lru_cache(maxsize=1024)
def _opening(
    sight: Sight,
    begin: str,
    milliseconds: int,
) -> bytes:
    return (
        f"{begin}; SET LOCAL ROLE {WORKER if sight.numbers is None else APP}; "
        f"SET LOCAL search_path = {sight.search_path}; SET LOCAL statement_timeout = "
        f"{milliseconds}; "
        "SET LOCAL row_security = on; SET LOCAL jit = off; "
    ).encode() + (ON_CLUSTER.encode() if sight.citus else seen(sight))


def seen(sight: Sight) -> bytes:
    """Return the statements that set the scopes of a transaction.

    SET LOCAL rather than set_config, because Citus propagates only the former to its workers.
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
        self.one_by_one = one_by_one
        """Whether rows are inserted by one statement each."""

    def __call__(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        cursor = self._connection.execute(translated(sql), values, binary=True)
        return cursor.fetchall() if cursor.description else []

    def many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        insert = _INSERT.fullmatch(sql)
        if insert is None or self.one_by_one or "vector" in insert["columns"]:
            if rows:
                self._connection.cursor().executemany(translated(sql), rows)
            return
        columns = insert["columns"].split(", ")
        types = self._types(insert["table"], columns)
        self.together(
            f"INSERT INTO {insert['table']} ({insert['columns']}) SELECT * FROM {{rows}}",
            types,
            rows,
        )

    def together(
        self,
        statement: str,
        types: Sequence[str],
        rows: Sequence[Sequence[Any]],
    ) -> None:
        """Run a statement that inserts many rows, in which `{rows}` stands for them as a table.

        Each column travels as one array, as text: to convert each value in the driver takes longer
        than to insert the row. COPY would be faster but does not work with row-level security.
        """
        marks = ", ".join(f"%s::{type_}[]" for type_ in types)
        whole = statement.format(rows=f"unnest({marks})").encode()
        for start in range(0, len(rows), ROWS_TOGETHER):
            self._insert(whole, types, rows[start : start + ROWS_TOGETHER])

    def _insert(
        self,
        statement: bytes,
        types: Sequence[str],
        page: Sequence[Sequence[Any]],
    ) -> None:
        arrays = [
            _array(type_, column)
            for type_, column in zip(types, zip(*page, strict=True), strict=True)
        ]
        if sum(map(len, arrays)) <= BYTES_TOGETHER or len(page) == 1:
            try:
                self._connection.execute(statement, arrays)
            except UnicodeEncodeError as error:
                raise psycopg.DataError(f"not valid Unicode ({error.reason})") from error
            return
        half = len(page) // 2
        self._insert(statement, types, page[:half])
        self._insert(statement, types, page[half:])

    def _types(self, table: str, columns: Sequence[str]) -> list[str]:
        if table not in _TYPES:
            rows = self._connection.execute(
                (
                    "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE "
                    "attrelid = %s::regclass"
                ),
                (f"holdfast.{table}",),
            )
            _TYPES[table] = dict(rows.fetchall())
        return [_TYPES[table][column] for column in columns]

    def widen(
        self,
        *,
        number: int | None = None,
        name: str | None = None,
        then: str = "",
    ) -> Rows:
        """Add a scope to what this transaction may see: by name to look it up, by number to use
        it. Return the rows of the statement that follows, if any.
        """
        sight = self._sight
        if name is not None:
            sight = replace(sight, names=(*sight.names, name))
        if number is not None:
            sight = replace(sight, numbers=(*(sight.numbers or ()), number))
        self._sight = sight
        if not then or sight.citus:
            # Citus sends its workers the whole text that has a SET LOCAL.
            self._connection.execute(seen(sight))
            return self(then) if then else []
        cursor = self._connection.execute(seen(sight) + f"; {then}".encode())
        while cursor.nextset():
            pass
        return cursor.fetchall()


class UnknownType(Loader):
    """Loader for a type that did not exist when the store was opened. Raises StoreError, because
    its bytes would be misread.
    """

    format = Format.BINARY

    def load(self, data: Buffer) -> Any:  # noqa: ARG002
        raise StoreError(f"The database {CHANGED}")


def rows_of(
    connection: Connection,
    statement: str,
    values: Sequence[Any],
) -> Rows:
    """Return the rows of one SELECT inside an open transaction."""
    return connection.execute(translated(statement), findable(values), binary=True).fetchall()


def passing_over(
    statement: str,
    alias: str,
    column: str,
    seqs: Sequence[int],
) -> str:
    """Rewrite a statement so that it treats a JSON column as NULL in the rows with these
    numbers.
    """
    if not seqs:
        return statement
    listed = ",".join(map(str, seqs))
    sound = f"(CASE WHEN {alias}.seq IN ({listed}) THEN NULL ELSE {alias}.{column} END)::json"
    return statement.replace(f"{alias}.{column}::json", sound)


def findable(values: Sequence[Any]) -> Sequence[Any]:
    """Replace characters that Postgres cannot store, so that a search for them finds nothing
    instead of failing.
    """
    return [_findable(value) for value in values]


def _findable(value: Any) -> Any:
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    return [_findable(one) for one in value] if type(value) is list else value


@lru_cache(maxsize=2048)
def translated(statement: str) -> bytes:
    """Return a statement with `?` translated to the driver's placeholders."""
    return statement.replace("%", "%%").replace("?", "%s").encode()


def _array(type: str, column: Sequence[Any]) -> str:
    """Return the values of a column as the text form of an array."""
    kinds = {one.__class__ for one in column}
    if type == "text" and kinds == {str}:
        inner = '","'.join(column)
        # Usually nothing needs an escape: these are the quotes between the values.
        if "\\" not in inner and inner.count('"') == 2 * (len(column) - 1):
            return f'{{"{inner}"}}'
    elif type != "text" and (kinds == {int} or (kinds <= _NUMBERS and all(map(isfinite, column)))):
        return f"{{{','.join(map(str, column))}}}"
    return f"{{{','.join(map(_element, column))}}}"


def _element(value: Any) -> str:
    """Return a value as an element of an array's text form."""
    if value is None:
        return "NULL"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f'"\\\\x{bytes(value).hex()}"'
    if not isinstance(value, (str, int)) and not (isinstance(value, float) and isfinite(value)):
        raise psycopg.DataError(f"{value!r} fits no column")
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
