"""Safety events: session, level of concern, time, and what decided the level. Never the user's
words.

The session is stored as a hash. The owner is stored only where memory is: an incognito session has
no place on disk, so its events have no owner. Events expire after 90 days unless extended.
"""

from __future__ import annotations

import builtins
import pathlib
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from ..errors import InvalidInput, NotFound
from ..side_tables import SessionLog, Table
from ..types import DAY, Clock, Micros, system_clock

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


def open_audit(
    store: str | pathlib.Path,
    *,
    key_file: str | pathlib.Path = "",
    clock: Clock = system_clock,
) -> AuditLog:
    """Open the audit log of a store: `audit.db` beside its file, a schema beside its tables, or in
    memory.
    """
    return _TableAudit(
        Table(store, name="audit", columns=_COLUMNS, key_file=key_file), clock, SafetyEvent
    )


class _TableAudit(SessionLog[SafetyEvent]):
    """Audit log in a side table."""

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
        return self._insert("safety", session, owner, int(level), path)

    def extend(self, id: str, *, days: int) -> SafetyEvent:
        self._table.write(
            "UPDATE audit SET keep_until = ? WHERE id = ?", (self._clock() + days * DAY, id)
        )
        found = self._select(" WHERE id = ?", (id,))
        if not found:
            raise NotFound(
                f"There is no safety event {id!r}. `holdfast session audit list` shows them.", id=id
            )
        return found[0]

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
