"""Another key for an SQLite file, or a first one, or none.

The file is written anew beside the old one, which it then replaces in one step: whatever happens,
one of them is whole.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress
from pathlib import Path

import apsw

from ...errors import NotFound, StoreBusy
from .connection import connect, make_private_file, translated
from .encryption import ALGORITHM, CIPHER, check_driver

# Seconds to wait for others who have the file open.
PATIENCE = 2.0


def change_key(
    path: str | Path,
    old: str,
    new: str,
) -> None:
    """Encrypt the store at `path` with the key `new` instead of `old`; an empty key means that it
    is not encrypted.

    Raises StoreBusy if another process has the file open, NotFound if there is no file.
    """
    check_driver()
    file = Path(path).expanduser().absolute()
    if not file.is_file():
        raise NotFound(f"There is no store at {file}. Make one with `holdfast store init`.")
    # Another name for a link is not what others open.
    file = file.resolve()
    written = file.with_name(f"{file.name}-rekey")
    # Left behind by a process that was killed: it replaced nothing.
    written.unlink(missing_ok=True)
    with translated(str(file)), closing(connect(str(file), old)) as connection:
        _lock(connection, file)
        make_private_file(written)
        try:
            key = f"raw:{new}" if new else ""
            options = f"cipher={CIPHER}&algorithm={ALGORITHM}&key={key}"
            connection.execute("VACUUM INTO ?", (f"{written.as_uri()}?{options}",)).fetchall()
            _flush(written)
            # Windows replaces no file that is open. Elsewhere it is still locked, and a process
            # that waited for it finds that it has moved.
            if os.name == "nt":
                connection.close()
            written.replace(file)
            _flush(file.parent)
        except BaseException:
            with suppress(OSError):
                written.unlink(missing_ok=True)
            raise


def _lock(connection: apsw.Connection, file: Path) -> None:
    """Take the file for this connection alone."""
    connection.set_busy_timeout(int(PATIENCE * 1000))
    try:
        # Leaving the log fails while anybody else has the file open: they would go on to write to
        # a file that was replaced.
        connection.execute("PRAGMA journal_mode = DELETE").fetchall()
        connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
    except apsw.BusyError as error:
        raise StoreBusy(
            f"{file} is open in another process. Nothing was changed. Stop it, and run this again."
        ) from error


def _flush(path: Path) -> None:
    """Make sure that a file, or the names in a folder, are on the disk."""
    # Windows opens no folder, and flushes no file that is open for reading.
    if os.name == "nt":
        return
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
