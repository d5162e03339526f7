"""Reads from a streaming replica while it is up and has replayed this process's own writes."""

from __future__ import annotations

import logging
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

log = logging.getLogger(__name__)

# Name of the pools of replicas in the driver's log.
POOL = "holdfast-replica"
# Seconds for which a failed replica is not used.
REST = 5.0
# Seconds to wait for a connection. Short, because the primary can answer as well.
PATIENCE = 1.0
# A log position beyond any real one: keeps reads on the primary.
NEVER = 1 << 64
_NOW_AT = "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::text"
_THERE = (
    "SELECT coalesce(pg_last_wal_replay_lsn() - '0/0'::pg_lsn >= ?::numeric, NOT "
    "pg_is_in_recovery())"
)


class _Repeated(logging.Filter):
    """Keep out what the driver logs at each attempt to reach a replica; `Replica` says it once."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (isinstance(record.args, tuple) and POOL in record.args)


logging.getLogger("psycopg.pool").addFilter(_Repeated())


class Replica:
    """A streaming replica that may serve reads."""

    def __init__(self, url: str, configure: Callable[[Connection], None]) -> None:
        self._connections = Connections(
            url, without_password(url), configure=configure, patience=PATIENCE, name=POOL
        )
        # Guards `_needed`, which writers raise and readers reset.
        self._lock = threading.Lock()
        self._needed = 0
        self._resting_until = 0.0
        self._is_missed = False

    def must_have(self, connection: Connection, primary: Connections) -> None:
        """Keep reads on the primary until the replica has replayed everything committed before this
        call.
        """
        try:
            position = int(connection.execute(_NOW_AT).fetchall()[0][0])
        except psycopg.Error:
            # The connection was lost after the commit, so ask on another one.
            position = _position(primary)
        with self._lock:
            # Another thread may have stored a later position meanwhile.
            self._needed = max(self._needed, position)

    def read(
        self,
        sight: Sight,
        statement: str,
        values: Sequence[Any],
    ) -> Rows | None:
        """Return the rows, or None if the primary must be asked."""
        if time.monotonic() < self._resting_until:
            return None
        try:
            rows = (
                self._connections.read(sight, statement, values)
                if self._has_caught_up(sight)
                else None
            )
        except (psycopg.Error, StoreError):
            # Lost, or so far behind that it has no tables yet.
            self._resting_until = time.monotonic() + REST
            if not self._is_missed:
                log.warning(
                    "The replica %s does not answer, so the primary is read. Check that the "
                    "replica runs and follows it.",
                    self._connections.location,
                )
            self._is_missed = True
            return None
        self._is_missed = False
        return rows

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
        """Close its connections."""
        self._connections.close()


def _position(primary: Connections) -> int:
    """Return the log position of the primary; NEVER if it does not answer."""
    try:
        return int(primary.again(lambda: primary.read(Sight(), _NOW_AT, ()))[0][0])
    except (psycopg.Error, StoreError):
        return NEVER
