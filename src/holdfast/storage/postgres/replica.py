"""Reads from a streaming replica, as long as it is there and has what this process wrote."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import psycopg

from ...errors import StoreError
from ..schema import Rows
from .connections import Connections
from .driver_errors import without_password
from .scoped_session import Connection, Sight

# Seconds without asking a replica that failed.
REST = 5.0
# Seconds to wait for a connection: the primary has the answer, too.
PATIENCE = 1.0
# A position that no log reaches.
NEVER = 1 << 64
_NOW_AT = "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::text"
_THERE = (
    "SELECT coalesce(pg_last_wal_replay_lsn() - '0/0'::pg_lsn >= ?::numeric, NOT "
    "pg_is_in_recovery())"
)


class Replica:
    """A second server that reads may go to."""

    def __init__(self, url: str, configure: Callable[[Connection], None]) -> None:
        self._connections = Connections(
            url, without_password(url), configure=configure, patience=PATIENCE
        )
        self._lock = threading.Lock()
        self._needed = 0
        self._resting_until = 0.0

    def must_have(self, connection: Connection, primary: Connections) -> None:
        """Keeps reads away from the replica until it has all that was committed before this
        call.
        """
        try:
            position = int(connection.execute(_NOW_AT).fetchall()[0][0])
        except psycopg.Error:  # the connection was lost since; what was committed is committed
            position = _position(primary)
        with self._lock:
            # Another thread may have been quicker.
            self._needed = max(self._needed, position)

    def read(
        self,
        sight: Sight,
        statement: str,
        values: Sequence[Any],
    ) -> Rows | None:
        """The rows, or None when they have to be asked of the primary."""
        if time.monotonic() < self._resting_until:
            return None
        try:
            return (
                self._connections.read(sight, statement, values)
                if self._has_caught_up(sight)
                else None
            )
        except (psycopg.Error, StoreError):  # lost, or so far behind that it has no tables yet
            self._resting_until = time.monotonic() + REST
            return None

    def _has_caught_up(self, sight: Sight) -> bool:
        with self._lock:
            needed = self._needed
        if not needed:
            return True
        ((there,),) = self._connections.read(sight, _THERE, (str(needed),))
        with self._lock:
            if there and self._needed == needed:
                self._needed = 0
        return bool(there)

    def close(self) -> None:
        """Ends its connections."""
        self._connections.close()


def _position(primary: Connections) -> int:
    """How far the primary's log has come; NEVER when it does not say."""
    try:
        return int(primary.again(lambda: primary.read(Sight(), _NOW_AT, ()))[0][0])
    except (psycopg.Error, StoreError):
        return NEVER
