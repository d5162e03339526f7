"""Where owners wait: a table that the server processes of one address share."""

from __future__ import annotations

import mmap
import tempfile
from collections import Counter
from collections.abc import Hashable
from contextlib import closing
from zlib import crc32

# Owners are told apart by a hash. Two with the same one count as one who waits in several
# processes, and have their turns less often as long as both wait.
CELLS = 16_384
# Processes at once, with those that are ending.
ROWS = 256
SIZE = CELLS * ROWS


class WaitingTable:
    """Which owners wait in which process: a byte for each owner and process, 1 if somebody waits.

    Each process writes its own bytes only, so there is nothing to lock, and one that is killed
    holds nobody up: what it wrote is cleared by the process that started it.
    """

    def __init__(self, file: int, row: int) -> None:
        """Open the table in an open file, for the process with this row."""
        self._bytes = mmap.mmap(file, SIZE)
        self._row = row
        self._here: Counter[int] = Counter()

    def enter(self, owner: Hashable) -> None:
        """An owner waits in this process from now on."""
        cell = _cell(owner)
        self._here[cell] += 1
        self._bytes[cell + self._row] = 1

    def leave(self, owner: Hashable) -> None:
        """An owner no longer waits in this process."""
        cell = _cell(owner)
        self._here[cell] -= 1
        if not self._here[cell]:
            del self._here[cell]
            self._bytes[cell + self._row] = 0

    def places(self, owner: Hashable) -> int:
        """Return in how many processes an owner waits."""
        cell = _cell(owner)
        return self._bytes[cell : cell + ROWS].count(1)

    def clear(self) -> None:
        """Nobody waits in the process with this row."""
        self._bytes[self._row :: ROWS] = bytes(CELLS)

    def close(self) -> None:
        """Let go of the table; it stays for the other processes."""
        self._bytes.close()


class Rows:
    """The rows of a new table, for the process that starts the others."""

    def __init__(self) -> None:
        # Not `memfd_create`: macOS does not have it.
        self._file = tempfile.TemporaryFile()
        self._file.truncate(SIZE)
        self._taken: set[int] = set()

    @property
    def file(self) -> int:
        """The open file, for a process to inherit."""
        return self._file.fileno()

    def take(self) -> int | None:
        """Return the row of a new process; None if there are too many, and it counts alone."""
        row = min(set(range(ROWS)) - self._taken, default=None)
        if row is not None:
            self._taken.add(row)
        return row

    def free(self, row: int | None) -> None:
        """The process with this row has ended."""
        if row is None:
            return
        with closing(WaitingTable(self.file, row)) as table:
            table.clear()
        self._taken.discard(row)

    def close(self) -> None:
        """Let go of the table; it ends with the last process that has it."""
        self._file.close()


def _cell(owner: Hashable) -> int:
    """Return where the bytes of an owner begin."""
    # Not `hash`, which differs between processes.
    return crc32(str(owner).encode()) % CELLS * ROWS
