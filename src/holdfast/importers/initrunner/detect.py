"""A database of somebody else, opened without touching it: copied first, and refused when it is no
such database.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from ...agents.role_memory import RoleMemory
from ...errors import InvalidInput, StoreBusy
from ...storage.connect import is_server
from ...storage.sqlite.connection import APPLICATION_ID
from .row_types import columns

# A database file, and what may hold the newest of it or take a broken change back.
_BESIDE = (
    "",
    "-wal",
    "-journal",
)
# seconds
_TRIES = 20
_PAUSE = 0.1
# Seconds, longer than the step in which file systems tell the time of a change.
_TICK = 0.02


@contextmanager
def opened(path: Path, memory: RoleMemory) -> Iterator[apsw.Connection]:
    """A connection to a copy of the database, which is gone afterwards."""
    with TemporaryDirectory(prefix="holdfast-") as folder:
        copy = Path(folder) / "copy.db"
        try:
            _check_place(path, memory)
            _copy(path, copy)
        except OSError as error:
            raise InvalidInput(
                f"Cannot read {path}: {error.strerror or error}. Nothing was imported."
            ) from error
        try:
            with closing(apsw.Connection(str(copy))) as connection:
                _refuse_others(connection, path)
                yield connection
        except apsw.NotADBError as error:
            raise InvalidInput(
                f"{path} is no SQLite file, or an encrypted one. Give the path of an "
                "InitRunner "
                "database."
            ) from error
        except apsw.Error as error:
            raise InvalidInput(
                f"{path} is damaged ({error}). Nothing was imported. Mend a copy of it with "
                "SQLite's own .recover, and "
                "import that."
            ) from error


def _check_place(path: Path, memory: RoleMemory) -> None:
    """Refuses what no byte should be read of: reading a file that this process has open would undo
    its locks.
    """
    if path.is_dir():
        raise InvalidInput(
            f"{path} is a folder. Give the path of an InitRunner database, e.g. "
            f"{path / 'agent.db'}."
        )
    if not path.is_file():
        raise InvalidInput(f"There is no file {path}. Give the path of an InitRunner database.")
    place = None if is_server(memory.place) else Path(memory.place)
    if place is not None and place.exists() and place.samefile(path):
        raise InvalidInput(
            f"{path} is the store of {memory.role.name} itself. If it is an InitRunner database, "
            "name another file "
            "under spec.memory.store_path and import it into that."
        )


def _copy(path: Path, copy: Path) -> None:
    """Copies the database with its log, all of one moment."""
    for _ in range(_TRIES):
        before = _looks(path)
        # Two changes within one step would look like the first of them alone.
        time.sleep(_TICK)
        for ending in _BESIDE:
            beside = copy.with_name(copy.name + ending)
            beside.unlink(missing_ok=True)
            with suppress(FileNotFoundError):
                # A log goes when its last user closes it; then it looks different.
                shutil.copyfile(f"{path}{ending}", beside)
        if _looks(path) == before:
            return
        time.sleep(_PAUSE)
    raise StoreBusy(
        f"{path} is being written all the time. Stop the agent that uses it, then import again."
    )


def _looks(path: Path) -> list[tuple[int, int] | None]:
    """By what a change of the database shows: size and time of its files."""
    return [_look(Path(f"{path}{ending}")) for ending in _BESIDE]


def _look(file: Path) -> tuple[int, int] | None:
    try:
        seen = file.stat()
    except FileNotFoundError:
        return None
    return seen.st_size, seen.st_mtime_ns


def _refuse_others(connection: apsw.Connection, path: Path) -> None:
    if connection.pragma("application_id") == APPLICATION_ID:
        raise InvalidInput(
            f"{path} is a Holdfast store, not an InitRunner database. Use it as it is with "
            "spec.memory.store_path, or "
            "copy it with `holdfast store copy`."
        )
    memories = columns(connection, "memories")
    sessions = columns(connection, "sessions")
    if not memories and not sessions:
        raise InvalidInput(
            f"{path} is no InitRunner database: it has neither a table memories nor a table "
            "sessions."
        )
    for table, there, needed in (
        ("memories", memories, {"content"}),
        ("sessions", sessions, {"session_id", "messages_json"}),
    ):
        if there and (missing := sorted(needed - there)):
            raise InvalidInput(
                f"{path} is no InitRunner database: its table {table} has no column {missing[0]}."
            )
