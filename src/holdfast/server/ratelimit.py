"""Rate limit per caller: a token bucket."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from math import ceil

# Callers tracked at once; above that, full buckets are dropped.
MOST_BUCKETS = 10_000


class Buckets:
    """One bucket per caller; `per_minute` is its capacity and its refill per minute."""

    def __init__(self, per_minute: int, *, now: Callable[[], float] = time.monotonic) -> None:
        self._size = float(per_minute)
        self._per_second = per_minute / 60
        self._now = now
        self._levels: dict[str, tuple[float, float]] = {}  # tokens left, and the time of that count
        # Requests are handled in several threads.
        self._lock = threading.Lock()

    def take(self, caller: str) -> int:
        """Take a token; return 0, or the seconds until one is available."""
        with self._lock:
            now = self._now()
            left = self._level(caller, now)
            if left < 1:
                return max(1, ceil((1 - left) / self._per_second))
            if len(self._levels) >= MOST_BUCKETS:
                self._drop_full(now)
            self._levels[caller] = (left - 1, now)
            return 0

    async def draw(self, caller: str) -> int:
        """Like `take`, for an event loop; `SharedBuckets` waits here."""
        return self.take(caller)

    def _level(self, caller: str, now: float) -> float:
        left, then = self._levels.get(caller, (self._size, now))
        return min(self._size, left + (now - then) * self._per_second)

    def _drop_full(self, now: float) -> None:
        """Drop callers whose bucket is full again; they are like new ones."""
        self._levels = {
            who: kept for who, kept in self._levels.items() if self._level(who, now) < self._size
        }
