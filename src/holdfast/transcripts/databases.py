"""SQLite files of other programs, read from a copy: a running program is not held up, nothing of
its is touched.
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

MAGIC = b"SQLite format 3\0"


@contextmanager
def copied(path: Path) -> Iterator[apsw.Connection]:
    """A copy of the database in `path`, with what waits in its log. What is no database is one
    without tables.
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
    connection: apsw.Connection, query: str, values: tuple[Any, ...] = ()
) -> Iterator[tuple[Any, ...]]:
    """What a query finds; nothing more once the database turns out to be damaged, or to lack what
    is asked for.
    """
    try:
        yield from connection.execute(query, values)
    except (apsw.Error, UnicodeDecodeError):
        return


def tables(connection: apsw.Connection) -> set[str]:
    """The names of its tables."""
    return {
        name for (name,) in rows(connection, "SELECT name FROM sqlite_master WHERE type = 'table'")
    }


def fingerprint(path: Path) -> str:
    """Changes whenever the database does: sizes and times of its files."""
    marks = []
    for name in (path.name, f"{path.name}-wal"):
        file = path.with_name(name)
        if file.exists():
            stat = file.stat()
            marks.append(f"{stat.st_size}.{stat.st_mtime_ns}")
    return "-".join(marks)


def since(cursor: Cursor | None) -> int:
    """The time, in the database's own unit, from which on sessions are new."""
    return cursor.position if cursor else 0
