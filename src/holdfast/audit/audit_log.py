"""Safety events: session, level of concern, time, and what decided the level. Never the user's
words.

The session is stored as a hash. The owner is stored only where memory is: an incognito session has
no place on disk, so its events have no owner. Events expire after 90 days unless extended.
"""

from __future__ import annotations

import builtins
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

from ..errors import InvalidInput, NotFound
from ..scopes import hash_session_id
from ..side_tables import Table
from ..types import DAY, Clock, Micros, new_id, system_clock

# Days until an event expires unless it is extended.
DAYS = 90
LEVELS = (0, 1, 2, 3)  # none, concern, urgent, emergency
Path = Literal["rules", "model", "rules_after_model_error", "person"]
"""What decided the level: local rules, a model, the rules because the model failed, or a person."""
PATHS: tuple[Path, ...] = get_args(Path)

_COLUMNS = (
    "id TEXT PRIMARY KEY, at BIGINT NOT NULL, session TEXT NOT NULL, owner TEXT, "
    "level INTEGER NOT NULL CHECK (level BETWEEN 0 AND 3), path TEXT NOT NULL, keep_until BIGINT"
)
_SELECT = "SELECT id, at, session, owner, level, path, keep_until FROM audit"


@dataclass(frozen=True, slots=True)
class SafetyEvent:
    """One entry of the log. `session` is the SHA-256 of the session id; `keep_until` is set if
    extended.
    """

    id: str
    at: Micros
    session: str
    owner: str | None
    level: int
    path: Path
    keep_until: Micros | None = None


class AuditLog(Protocol):
    """Interface of the audit log. It is not part of memory: recall, lists and exports never include
    it.
    """

    location: str

    def record(
        self,
        *,
        session: str,
        level: int,
        path: Path,
        owner: str | None = None,
    ) -> SafetyEvent:
        """Record an event now. The session is stored as a hash; in memory, the owner is omitted."""

    def list(
        self, *, owner: str | None = None, limit: int | None = None
    ) -> builtins.list[SafetyEvent]:
        """Return events, newest first, of one owner or of all."""

    def count(self, *, owner: str | None = None) -> int:
        """Count events of one owner or of all."""

    def extend(self, id: str, *, days: int) -> SafetyEvent:
        """Keep an event for at least this many days from now; raises NotFound."""

    def purge(self, *, days: int = DAYS) -> int:
        """Delete expired events that were not extended; return their number."""

    def unlink(self, owner: str) -> int:
        """Remove the owner from all their events, which stay as figures; return their number."""

    def close(self) -> None:
        """Close the log. Idempotent; later calls raise StoreClosed."""


def open_audit(store: str | pathlib.Path, *, clock: Clock = system_clock) -> AuditLog:
    """Open the audit log of a store: `audit.db` beside its file, a schema beside its tables, or in
    memory.
    """
    return _TableAudit(Table(store, name="audit", columns=_COLUMNS), clock)


class _TableAudit:
    """Audit log in a side table."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock
        self.location = table.location

    def record(
        self,
        *,
        session: str,
        level: int,
        path: Path,
        owner: str | None = None,
    ) -> SafetyEvent:
        if level not in LEVELS or path not in PATHS:
            raise InvalidInput(
                f"level must be one of {LEVELS} and path one of: {', '.join(PATHS)}. Nothing "
                "was recorded."
            )
        at = self._clock()
        # An incognito session leaves nothing that names a person.
        stored_owner = None if self._table.ephemeral else owner
        hashed = hash_session_id(session)
        event = SafetyEvent(
            new_id("safety", at),
            at,
            hashed,
            stored_owner,
            int(level),
            path,
        )
        self._table.write(
            "INSERT INTO audit (id, at, session, owner, level, path) VALUES (?, ?, ?, ?, ?, ?)",
            (event.id, event.at, event.session, event.owner, event.level, event.path),
        )
        return event

    def list(
        self, *, owner: str | None = None, limit: int | None = None
    ) -> builtins.list[SafetyEvent]:
        tail = "" if limit is None else f" LIMIT {max(0, int(limit))}"
        condition, values = _owner_clause(owner)
        query = f"{_SELECT}{condition} ORDER BY at DESC, id DESC{tail}"
        return [SafetyEvent(*row) for row in self._table.read(query, values)]

    def count(self, *, owner: str | None = None) -> int:
        condition, values = _owner_clause(owner)
        rows = self._table.read(f"SELECT count(*) FROM audit{condition}", values)
        return int(rows[0][0]) if rows else 0

    def extend(self, id: str, *, days: int) -> SafetyEvent:
        self._table.write(
            "UPDATE audit SET keep_until = ? WHERE id = ?", (self._clock() + days * DAY, id)
        )
        rows = self._table.read(f"{_SELECT} WHERE id = ?", (id,))
        if not rows:
            raise NotFound(
                f"There is no safety event {id!r}. `holdfast session audit list` shows them.", id=id
            )
        return SafetyEvent(*rows[0])

    def purge(self, *, days: int = DAYS) -> int:
        now = self._clock()
        return len(
            self._table.write(
                "DELETE FROM audit WHERE at <= ? AND coalesce(keep_until, 0) <= ? RETURNING id",
                (now - days * DAY, now),
            )
        )

    def unlink(self, owner: str) -> int:
        if not self.count(owner=owner):
            return 0
        return len(
            self._table.write(
                "UPDATE audit SET owner = NULL WHERE owner = ? RETURNING id", (owner,)
            )
        )

    def close(self) -> None:
        self._table.close()


def _owner_clause(owner: str | None) -> tuple[str, Sequence[Any]]:
    if owner is None:
        return "", ()
    return " WHERE owner = ?", (owner,)
