"""Where owners wait: a table that the server processes of one address share."""

from __future__ import annotations

import mmap
import sys
import tempfile
from collections import Counter
from collections.abc import Hashable
from contextlib import closing
from zlib import crc32

# Processes at once, with those that are ending.
ROWS = 256
# Owners are told apart by a hash. Two with the same one count as one who waits in several
# processes, and have their turns less often as long as both wait.
CELLS = 16_384
# The file: for each process whether it accepts connections, then how many owners wait in it, in two
# bytes; then for each owner and process whether the owner waits there.
COUNTS = ROWS
WAITING = COUNTS + 2 * ROWS
SIZE = WAITING + CELLS * ROWS
MOST = 0xFFFF
# How many more owners may wait in one process than in another: so many times, and so many more.
SHARE = 1.1
MARGIN = 3


class WaitingTable:
    """Which owners wait in which process.

    Each process writes its own row only, so there is nothing to lock, and one that is killed holds
    nobody up: its row is cleared by the process that started it.
    """

    def __init__(self, file: int, row: int) -> None:
        """Open the table in an open file, for the process with this row."""
        self._bytes = mmap.mmap(file, SIZE)
        self._row = row
        self._owners = 0
        self._by_cell: Counter[int] = Counter()

    def accept(self) -> None:
        """This process accepts connections from now on."""
        self._bytes[self._row] = 1

    def accept_no_more(self) -> None:
        """This process ends, and others are not to leave connections to it."""
        self._bytes[self._row] = 0

    def enter(self, owner: Hashable) -> None:
        """An owner waits in this process from now on."""
        cell = _cell(owner)
        self._by_cell[cell] += 1
        self._bytes[cell + self._row] = 1
        self._count(1)

    def leave(self, owner: Hashable) -> None:
        """An owner no longer waits in this process."""
        cell = _cell(owner)
        self._by_cell[cell] -= 1
        if not self._by_cell[cell]:
            del self._by_cell[cell]
            self._bytes[cell + self._row] = 0
        self._count(-1)

    def places(self, owner: Hashable) -> int:
        """Return in how many processes an owner waits."""
        cell = _cell(owner)
        return self._bytes[cell : cell + ROWS].count(1)

    def is_crowded(self) -> bool:
        """Whether so many more owners wait here than in another process that some should leave."""
        if self._owners <= MARGIN:
            return False
        counts = memoryview(self._bytes[COUNTS:WAITING]).cast("H")
        accepting = self._bytes[:ROWS]
        least = min(
            (count for count, accepts in zip(counts, accepting, strict=True) if accepts),
            default=MOST,
        )
        return self._owners > SHARE * least + MARGIN

    def clear(self) -> None:
        """Nobody waits in the process with this row: it has ended."""
        self.accept_no_more()
        self._count(-self._owners)
        self._bytes[WAITING + self._row :: ROWS] = bytes(CELLS)

    def close(self) -> None:
        """Let go of the table; it stays for the other processes."""
        self._bytes.close()

    def _count(self, more: int) -> None:
        self._owners += more
        at = COUNTS + 2 * self._row
        self._bytes[at : at + 2] = min(MOST, self._owners).to_bytes(2, sys.byteorder)


class Rows:
    """The rows of a new table, for the process that starts the others."""

    def __init__(self) -> None:
        # Not `memfd_create`: macOS does not have it.
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
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

    def leave(self, row: int | None) -> None:
        """The process with this row was told to end."""
        if row is not None:
            with closing(WaitingTable(self.file, row)) as table:
                table.accept_no_more()

    def free(self, row: int | None) -> None:
        """The process with this row has ended."""
        if row is not None:
            with closing(WaitingTable(self.file, row)) as table:
                table.clear()
            self._taken.discard(row)

    def close(self) -> None:
        """Let go of the table; it ends with the last process that has it."""
        self._file.close()


def _cell(owner: Hashable) -> int:
    """Return where the bytes of an owner begin."""
    # Not `hash`, which differs between processes.
    return WAITING + crc32(str(owner).encode()) % CELLS * ROWS
