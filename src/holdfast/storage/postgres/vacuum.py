"""What purged rows leave behind on a server, and how far a client can clean it up.

VACUUM makes the space of removed rows free while everybody goes on working. It writes nothing over
the bytes: that does VACUUM FULL, which locks whole tables that many owners share, so when that is
done is the administrator's decision, as it is how long the server's log and its backups are kept.
Whatever is not done here is said.
"""

from __future__ import annotations

import re

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
_EVERY = ", ".join(f"holdfast.{table}" for table in TABLES)
# As servers from 15 on say it, and as older ones do.
_REMAINING = re.compile(
    r"(\d+) (?:are dead but not yet removable|dead row versions cannot be removed yet)"
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


def scrub(connection: Connection, wait: float) -> Places:
    """Has the server free what removed rows took, and says what is left to others."""
    said: list[str] = []
    # It is gone when the handler ends.
    connection.add_notice_handler(lambda notice: said.append(_told(notice)))
    connection.execute(f"SET lock_timeout = {max(1, int(wait * 1000))}".encode())
    try:
        for table in TABLES:
            connection.execute(f"VACUUM (VERBOSE) holdfast.{table}".encode())
    except errors.LockNotAvailable:
        rows = ErasureTarget(
            "dead rows",
            "pending",
            "Another one is at work on the tables. Run `holdfast purge --finish`.",
        )
    else:
        rows = _dead_rows(said)
    return [rows, FILES, LOG]


def _told(notice: errors.Diagnostic) -> str:
    return f"{notice.severity_nonlocalized} {notice.message_primary} {notice.message_detail}"


def _dead_rows(said: list[str]) -> ErasureTarget:
    """What became of the removed rows, by what the server said of it."""
    if any(
        notice.startswith("WARNING") for notice in said
    ):  # so it refuses who does not own a table
        return ErasureTarget(
            "dead rows",
            "beyond",
            f"The tables belong to another login. Have it run: VACUUM {_EVERY}",
        )
    if any(int(count) for count in _REMAINING.findall(" ".join(said))):
        return ErasureTarget(
            "dead rows",
            "pending",
            (
                "Somebody is reading an older state of the tables. Run `holdfast purge --finish` "
                "when "
                "that has ended."
            ),
        )
    return ErasureTarget("dead rows", "clean")
