"""Buffered use counts of memories, so that a recall does not write."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable

from .types import Memory, Micros, Scope

# Use counts are written together, so that reading stays reading: when there are many, or when an
# hour has passed, for another process may be about to let what is used here fade.
USES_KEPT = 500
USES_WAIT = 3_600_000_000


class AccessCounter:
    """Use counts of memories since the last flush. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[Scope, Counter[int]] = defaultdict(Counter)
        self._since: Micros = 0

    def add(self, memories: Iterable[Memory], now: Micros) -> bool:
        """Count one use of each memory; return whether the buffer should be flushed."""
        with self._lock:
            self._since = self._since if self._counts else now
            for memory in memories:
                self._counts[memory.scope][memory.seq] += 1
            waiting = sum(len(counts) for counts in self._counts.values())
            return waiting > USES_KEPT or (waiting > 0 and now - self._since >= USES_WAIT)

    def take(self) -> dict[Scope, Counter[int]]:
        """Return the buffered counts by scope and clear the buffer."""
        with self._lock:
            taken = self._counts
            self._counts = defaultdict(Counter)
            return taken
