"""Databases of InitRunner: where they are, how to recognise them, and how to import them."""

from __future__ import annotations

import shlex
from contextlib import closing
from pathlib import Path

import apsw

from ..storage.sqlite.connection import APPLICATION_ID

ROOT = "initrunner"
"""Root in the files table that lists imported databases."""
_MARKS = "SELECT 1 FROM pragma_table_info('sessions') WHERE name = 'messages_json'"


def default_database(name: str) -> Path:
    """Path of InitRunner's default database for this agent."""
    return Path.home() / ".initrunner" / "memory" / f"{name}.db"


def is_database(path: Path) -> bool:
    """Whether a file is an InitRunner database. Writes nothing to it or beside it."""
    try:
        # Immutable, so that only the file itself is read: otherwise SQLite would create a log file.
        uri = f"{path.resolve().as_uri()}?immutable=1"
        with closing(
            apsw.Connection(uri, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        ) as connection:
            ours = connection.pragma("application_id") == APPLICATION_ID
            return not ours and bool(connection.execute(_MARKS).fetchall())
    except (apsw.Error, OSError):
        return False


def command(database: Path, role_file: Path) -> str:
    """Command that imports a database."""
    return shlex.join(["holdfast", "memory", "import-db", str(database), str(role_file)])


def refused(
    database: Path,
    role_file: Path,
    *,
    named: bool,
) -> str:
    """Explain why a database cannot be the store of a role; `named` if the role names it as
    such.
    """
    if named:
        way = f"Name another file under spec.memory.store_path in {role_file.name}, then run: "
    else:
        database, way = (
            database.with_suffix(".initrunner.db"),
            f"Rename it to {database.stem}.initrunner.db, then run: ",
        )
    return (
        "is an InitRunner database, not a Holdfast store. Nothing was changed. "
        f"{way}{command(database, role_file)}"
    )


def left_behind(database: Path, role_file: Path) -> str:
    """Message about an old database that was not imported."""
    return (
        f"{database} is an InitRunner database whose memories have not been imported. To "
        f"import them, run: {command(database, role_file)}"
    )
