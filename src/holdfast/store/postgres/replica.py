"""Reads from a streaming replica, as long as it is there and has what this process wrote."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import psycopg

from ...errors import StoreError
from ..rows import Rows
from .connections import Connection, Connections, Sight, without_password

REST = 5.0  # seconds without asking a replica that failed


class Replica:
    """A second server that reads may go to."""

    def __init__(self, url: str, configure: Callable[[Connection], None]) -> None:
        self._connections = Connections(url, without_password(url), configure=configure)
        self._lock = threading.Lock()
        self._needed: str | None = None
        self._resting_until = 0.0

    def must_have(self, primary: Connection) -> None:
        """Keeps reads away from the replica until it has all that was committed before this call."""
        ((position,),) = primary.execute("SELECT pg_current_wal_insert_lsn()::text").fetchall()
        with self._lock:
            self._needed = position

    def read(self, sight: Sight, statement: str, values: Sequence[Any]) -> Rows | None:
        """The rows, or None when they have to be asked of the primary."""
        if time.monotonic() < self._resting_until:
            return None
        try:
            return self._connections.read(sight, statement, values) if self._has_caught_up(sight) else None
        except (psycopg.OperationalError, StoreError):
            self._resting_until = time.monotonic() + REST
            return None

    def _has_caught_up(self, sight: Sight) -> bool:
        with self._lock:
            needed = self._needed
        if needed is None:
            return True
        ((there,),) = self._connections.read(
            sight, "SELECT coalesce(pg_last_wal_replay_lsn() >= ?::pg_lsn, NOT pg_is_in_recovery())", (needed,)
        )
        with self._lock:
            if there and self._needed == needed:
                self._needed = None
        return bool(there)

    def close(self) -> None:
        """Ends its connections."""
        self._connections.close()
