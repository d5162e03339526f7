"""Rate limit per caller that several server processes share: token buckets in a side table."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from math import ceil
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from ..side_tables import Table

COLUMNS = "caller text PRIMARY KEY, tokens double precision NOT NULL, at double precision NOT NULL"
# Seconds after which any bucket is full again, and its row says nothing.
FULL = 60.0
# Callers with drawn tokens that are tracked at once; above that, all go back to the table.
MOST_CALLERS = 10_000

# The clocks of two machines differ. Time never runs backwards here, or a slow clock would make
# room for tokens that a fast one had counted already.
_PASSED = "(CASE WHEN ? > limits.at THEN ? - limits.at ELSE 0 END)"
_LEVEL = f"(limits.tokens + {_PASSED} * ?)"
_TAKE = f"""
INSERT INTO limits (caller, tokens, at) VALUES (?, ?, ?)
ON CONFLICT (caller) DO UPDATE SET
    tokens = (CASE WHEN {_LEVEL} > ? THEN ? ELSE {_LEVEL} END) - ?,
    at = CASE WHEN ? > limits.at THEN ? ELSE limits.at END
WHERE (CASE WHEN {_LEVEL} > ? THEN ? ELSE {_LEVEL} END) >= ?
RETURNING tokens
"""


class SharedBuckets:
    """One bucket per caller for all processes; `per_minute` is its capacity and its refill.

    A process draws what a caller may use in a second at once, so a busy caller costs one statement
    a second. Nobody gets more than the table gave out; below 60 a minute tokens are drawn singly.
    """

    def __init__(
        self, table: Table, per_minute: int, *, now: Callable[[], float] = time.time
    ) -> None:
        self._table = table
        self._size = float(per_minute)
        self._per_second = per_minute / 60
        self._batch = max(1, per_minute // 60)
        self._now = now
        self._drawn: dict[str, int] = {}
        # Requests are handled in several threads.
        self._lock = threading.Lock()
        self._swept_at = now()

    async def draw(self, caller: str) -> int:
        """Like `take`, for an event loop, which must not wait for the table."""
        return 0 if self._use_drawn(caller) else await run_in_threadpool(self.take, caller)

    def take(self, caller: str) -> int:
        """Take a token; return 0, or the seconds until one is available."""
        if self._use_drawn(caller):
            return 0
        for count in dict.fromkeys((self._batch, 1)):
            if self._take(caller, count):
                with self._lock:
                    if len(self._drawn) >= MOST_CALLERS:
                        self._drawn.clear()
                    self._drawn[caller] = self._drawn.get(caller, 0) + count - 1
                self._sweep()
                return 0
        return self._wait(caller)

    def _use_drawn(self, caller: str) -> bool:
        with self._lock:
            left = self._drawn.pop(caller, 0)
            if left > 1:
                self._drawn[caller] = left - 1
        return left > 0

    def _take(self, caller: str, count: int) -> bool:
        now, size = self._now(), self._size
        level = (now, now, self._per_second)
        full = (*level, size, size, *level)
        values = (caller, size - count, now, *full, count, now, now, *full, count)
        return bool(self._table.write(_TAKE, values))

    def _wait(self, caller: str) -> int:
        rows = self._table.read("SELECT tokens, at FROM limits WHERE caller = ?", (caller,))
        if not rows:
            # It was removed meanwhile, because it was full again.
            return 1
        tokens, at = map(float, rows[0])
        left = tokens + max(0.0, self._now() - at) * self._per_second
        return max(1, ceil((1 - left) / self._per_second))

    def _sweep(self) -> None:
        """Remove buckets that are full again: callers without keys are addresses of people."""
        now = self._now()
        with self._lock:
            if now - self._swept_at < FULL:
                return
            self._swept_at = now
        self._table.write("DELETE FROM limits WHERE at < ?", (now - FULL,))


def open_limits(store: str | Path, *, key_file: str = "") -> Table:
    """Return the table of a store's rate limits. Raises StoreError if it may not be created."""
    table = Table(store, name="limits", columns=COLUMNS, hot=True, key_file=key_file)
    # Create the table now, so that a missing permission is reported when the server starts.
    table.write("DELETE FROM limits WHERE at < ?", (0.0,))
    return table
