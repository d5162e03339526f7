"""When files were changed, as far as that tells one change from the next."""

from __future__ import annotations

import time

# A file system may give two changes that follow each other the same time, and such a change must
# not pass unseen. Most tell times apart that are some milliseconds apart; some know only whole
# seconds, or every second one.
FINE = 20_000_000
COARSE = 2_000_000_000
# Instead of such a time, which is then looked at again.
UNSURE = -1


def sure(mtime: int) -> int:
    """When a file was changed, in nanoseconds; UNSURE if so short ago that another change could
    look the same.
    """
    unsure = COARSE if mtime % 1_000_000_000 == 0 else FINE
    return mtime if mtime < time.time_ns() - unsure else UNSURE
