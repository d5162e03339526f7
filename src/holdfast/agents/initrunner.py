"""Databases that InitRunner left behind: where they lie, how they are told, and what to do with one
that is met.
"""

from __future__ import annotations

import shlex
from contextlib import closing
from pathlib import Path

import apsw

from ..storage.sqlite.connection import APPLICATION_ID

ROOT = "initrunner"
"""Under what the files table keeps which databases were taken in."""
_MARKS = "SELECT 1 FROM pragma_table_info('sessions') WHERE name = 'messages_json'"


def default_database(name: str) -> Path:
    """Where InitRunner keeps the memory of the agent, or of the agents, with this name unless the
    role says another.
    """
    return Path.home() / ".initrunner" / "memory" / f"{name}.db"


def is_database(path: Path) -> bool:
    """Whether a file is a database of InitRunner. Nothing is written to it or beside it."""
    try:
        # Only what stands in the file itself: opened otherwise, SQLite would make a file for its
        # log.
        uri = f"{path.resolve().as_uri()}?immutable=1"
        with closing(
            apsw.Connection(uri, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        ) as connection:
            ours = connection.pragma("application_id") == APPLICATION_ID
            return not ours and bool(connection.execute(_MARKS).fetchall())
    except (apsw.Error, OSError):
        return False


def command(database: Path, role_file: Path) -> str:
    """The command that takes a database in."""
    return shlex.join(["holdfast", "memory", "import-db", str(database), str(role_file)])


def refused(database: Path, role_file: Path, *, named: bool) -> str:
    """Why a database cannot be the store of a role, and what to do; `named` when the role says that
    it is.
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
    """What a person is told whose agent has an old database that was not taken in."""
    return (
        f"{database} is an InitRunner database, and what this agent remembers there is not here "
        "yet. "
        f"To take it in, run: {command(database, role_file)}"
    )
