"""Modification times that distinguish two successive changes of a file."""

from __future__ import annotations

import time

# A file system may give two quick changes the same time, and the second must not be missed. Most
# have a resolution of milliseconds; some only of one or two seconds.
FINE = 20_000_000
COARSE = 2_000_000_000
# Stands for a time that is too recent to trust; the file is read again next time.
UNSURE = -1


def sure(mtime: int) -> int:
    """Return a modification time in nanoseconds; UNSURE if it is so recent that another change
    could get the same time.
    """
    unsure = COARSE if mtime % 1_000_000_000 == 0 else FINE
    return mtime if mtime < time.time_ns() - unsure else UNSURE
