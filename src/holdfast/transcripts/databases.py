"""SQLite files of other programs, read from a copy, so that a running program is neither blocked
nor changed.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw

from .base import Cursor
from .line_reader import beginning

MAGIC = b"SQLite format 3\0"


def is_database(path: Path) -> bool:
    """Whether a file is a database: a program keeps the sessions of all projects in one."""
    return beginning(path, len(MAGIC)) == MAGIC


@contextmanager
def copied(path: Path) -> Iterator[apsw.Connection]:
    """Open a copy of the database in `path`, including its write-ahead log. A file that is no
    database has no tables.
    """
    with tempfile.TemporaryDirectory(prefix="holdfast-") as folder:
        copy = Path(folder) / "copy.db"
        shutil.copyfile(path, copy)
        for end in ("-wal", "-journal"):
            log = path.with_name(path.name + end)
            if log.exists():
                shutil.copyfile(log, copy.with_name(copy.name + end))
        with closing(apsw.Connection(str(copy))) as connection:
            yield connection


def rows(
    connection: apsw.Connection,
    query: str,
    values: tuple[Any, ...] = (),
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query; stop if the database is damaged or lacks a table or column."""
    try:
        yield from connection.execute(query, values)
    except (apsw.Error, UnicodeDecodeError):
        return


def tables(connection: apsw.Connection) -> set[str]:
    """Return the names of the tables."""
    return {
        name for (name,) in rows(connection, "SELECT name FROM sqlite_master WHERE type = 'table'")
    }


def fingerprint(path: Path) -> str:
    """Return a value that changes with the database: sizes and times of its files."""
    marks = []
    for name in (path.name, f"{path.name}-wal"):
        file = path.with_name(name)
        if file.exists():
            stat = file.stat()
            marks.append(f"{stat.st_size}.{stat.st_mtime_ns}")
    return "-".join(marks)


def since(cursor: Cursor | None) -> int:
    """Return the time, in the unit of the database, after which sessions are new."""
    return cursor.position if cursor else 0
