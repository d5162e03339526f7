"""Cleanup of what purged rows leave behind on a server, as far as a client can do it.

VACUUM frees the space of removed rows while everybody keeps working, but does not overwrite the
bytes. VACUUM FULL does, but it locks tables that many owners share, so the administrator decides
when to run it. The same holds for the retention of the server's log and backups. The result lists
everything that is not done here.
"""

from __future__ import annotations

import re
import time

from psycopg import errors

from ..store_types import ErasureTarget, Places
from .scoped_session import Connection

TABLES = (
    "memories",
    "memory_terms",
    "vectors",
    "sessions",
    "messages",
    "progress",
    "edges",
    "entities",
    "entity_names",
    "mentions",
    "jobs",
    "profiles",
    "files",
    "spend",
    "events",
)
LOCKED = f"WARNING {errors.LockNotAvailable.sqlstate}"
# Seconds between attempts at a table on which another one is at work.
STEP = 0.1
_EVERY = ", ".join(f"holdfast.{table}" for table in TABLES)
# The wording since Postgres 15, and the older one.
_REMAINING = re.compile(
    r"(\d+) (?:are dead but not yet removable|dead row versions cannot be removed yet)"
)

HELD_UP = ErasureTarget(
    "dead rows",
    "pending",
    "Somebody is reading an older state of the tables. Run `holdfast purge --finish` when that has "
    "ended.",
)
FILES = ErasureTarget(
    "server files",
    "beyond",
    "Bytes of removed rows stay in free space of the server's files until it is used again. In a "
    "quiet hour, for it "
    f"locks the tables, their owner can have them written anew: VACUUM (FULL) {_EVERY}",
)
LOG = ErasureTarget(
    "server log",
    "beyond",
    "The server's log holds them until its segments are recycled (CHECKPOINT; SELECT "
    "pg_switch_wal(); CHECKPOINT), and "
    "archives and backups of it for as long as they are kept. Replicas follow the server.",
)


def scrub(
    connection: Connection,
    wait: float,
    *,
    citus: bool = False,
) -> Places:
    """VACUUM the tables and return the state of each place, including those left to others."""
    said: list[str] = []
    # Formatted at once: the notice is no longer valid after the handler returns.
    connection.add_notice_handler(lambda notice: said.append(_told(notice)))
    until = time.monotonic() + wait
    if not all(_vacuumed(connection, table, said, until) for table in TABLES):
        rows = ErasureTarget(
            "dead rows",
            "pending",
            "Another one is at work on the tables. Run `holdfast purge --finish`.",
        )
    else:
        rows = dead_rows(said)
        if citus and rows.state == "clean" and _dead_elsewhere(connection):
            rows = HELD_UP
    return [rows, FILES, LOG]


def _vacuumed(
    connection: Connection,
    table: str,
    said: list[str],
    until: float,
) -> bool:
    """VACUUM a table; return whether nobody else was at work on it until then.

    Not with `lock_timeout`, which would outlive this connection behind a pooler.
    """
    before = len(said)
    while True:
        connection.execute(f"VACUUM (VERBOSE, SKIP_LOCKED) holdfast.{table}".encode())
        if not any(notice.startswith(LOCKED) for notice in said[before:]):
            return True
        del said[before:]
        if time.monotonic() >= until:
            return False
        time.sleep(STEP)


def _told(notice: errors.Diagnostic) -> str:
    kind = f"{notice.severity_nonlocalized} {notice.sqlstate}"
    return f"{kind} {notice.message_primary} {notice.message_detail}"


def dead_rows(said: list[str]) -> ErasureTarget:
    """Derive the state of the removed rows from the server's notices."""
    warnings = [notice for notice in said if notice.startswith("WARNING")]
    if any(table in warning for warning in warnings for table in TABLES):
        # The server skips a table that the login does not own with a warning, not an error.
        return ErasureTarget(
            "dead rows",
            "beyond",
            f"The tables belong to another login. Have it run: VACUUM {_EVERY}",
        )
    # What any other warning means is not known, so nothing is promised.
    if warnings or any(int(count) for count in _REMAINING.findall(" ".join(said))):
        return HELD_UP
    return ErasureTarget("dead rows", "clean")


def _dead_elsewhere(connection: Connection) -> bool:
    """Whether the workers of a cluster still have removed rows, or one of them cannot be asked.
    Their notices do not reach the coordinator.
    """
    shards = f"^({'|'.join(TABLES)})_[0-9]+$"
    dead = (
        "SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_all_tables WHERE schemaname = 'holdfast' "
        f"AND relname ~ '{shards}'"
    )
    answers = connection.execute(
        "SELECT success AND result = '0' FROM run_command_on_workers(%s)", (dead,)
    ).fetchall()
    return not all(clean for (clean,) in answers)
