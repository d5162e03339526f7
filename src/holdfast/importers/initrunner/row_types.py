"""The rows of a database as texts, whatever somebody has put into them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import apsw

from ...ingest.sanitize import clean

# Levels of JSON in JSON. Whether more can be written and read again depends on who calls whom; the
# framework that conversations go back to reads no more than these.
_DEEPEST = 200


def columns(connection: apsw.Connection, table: str) -> set[str]:
    """The names of a table's columns; none when there is no such table."""
    return {
        str(name)
        for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    }


def rows(
    connection: apsw.Connection,
    table: str,
    *wanted: str,
) -> Iterator[tuple[Any, ...]]:
    """The rows of a table in the order they came in: their number, and these columns as text or
    None.

    A column that is not there is None everywhere, and a table that is not there has no rows.
    """
    there = columns(connection, table)
    # As bytes, because a single broken letter would otherwise keep a row from being read at all.
    selected = ", ".join(
        f"CAST({column} AS BLOB)" if column in there else "NULL" for column in wanted
    )
    if there:
        for number, *values in connection.execute(
            f"SELECT rowid, {selected} FROM {table} ORDER BY rowid"
        ):
            yield number, *map(_text, values)


def _text(value: Any) -> str | None:
    return None if value is None else clean(value.decode("utf-8", "replace"))


def loaded(text: str) -> Any:
    """What a JSON text says; ValueError or RecursionError when that could not be stored."""
    found = json.loads(text, parse_constant=_refuse_constant)
    if "\\ud" in text.lower():
        # Half a surrogate pair, perhaps.
        found = json.loads(clean(json.dumps(found, ensure_ascii=False)))
    if _depth(found) > _DEEPEST:
        raise ValueError(f"more than {_DEEPEST} levels deep")
    return found


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
