"""Safety events: that a session reached a level of concern, when, and what decided so. Never a word
of the user's.

The session is kept as a hash. Whose it was is kept only where memory is kept at all: in an
incognito session, which has no place on disk, the owner is left out. An event goes after 90 days
unless somebody has extended it.
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

# How long an event is kept unless it is extended.
DAYS = 90
LEVELS = (0, 1, 2, 3)  # none, concern, urgent, emergency
Path = Literal["rules", "model", "rules_after_model_error", "person"]
"""What decided on the level: local rules, a model, the rules because the model failed, or a
person.
"""
PATHS: tuple[Path, ...] = get_args(Path)

_COLUMNS = (
    "id TEXT PRIMARY KEY, at BIGINT NOT NULL, session TEXT NOT NULL, owner TEXT, "
    "level INTEGER NOT NULL CHECK (level BETWEEN 0 AND 3), path TEXT NOT NULL, keep_until BIGINT"
)
_SELECT = "SELECT id, at, session, owner, level, path, keep_until FROM audit"


@dataclass(frozen=True, slots=True)
class SafetyEvent:
    """One entry of the log. `session` is the SHA-256 of the session's id; `keep_until` is set where
    it was extended.
    """

    id: str
    at: Micros
    session: str
    owner: str | None
    level: int
    path: Path
    keep_until: Micros | None = None


class AuditLog(Protocol):
    """The log's promises. It is no part of memory: nothing recalls, lists or exports what is in
    it.
    """

    location: str

    def record(
        self, *, session: str, level: int, path: Path, owner: str | None = None
    ) -> SafetyEvent:
        """Notes an event now. The session is stored as a hash; without a place on disk the owner is
        left out.
        """

    def list(
        self, *, owner: str | None = None, limit: int | None = None
    ) -> builtins.list[SafetyEvent]:
        """Events, newest first: of one owner, or of all."""

    def count(self, *, owner: str | None = None) -> int:
        """How many events there are: of one owner, or of all."""

    def extend(self, id: str, *, days: int) -> SafetyEvent:
        """Keeps one event at least so many days from now. NotFound when there is none of that
        id.
        """

    def purge(self, *, days: int = DAYS) -> int:
        """Erases events that are older than so many days and were not extended beyond now; says how
        many.
        """

    def unlink(self, owner: str) -> int:
        """Takes the owner off all events of theirs, which stay as numbers; says how many."""

    def close(self) -> None:
        """Closing twice equals once; later calls raise StoreClosed."""


def open_audit(store: str | pathlib.Path, *, clock: Clock = system_clock) -> AuditLog:
    """The log beside a store of memories: `audit.db` beside its file, a schema beside its tables,
    or in memory.
    """
    return _TableAudit(Table(store, name="audit", columns=_COLUMNS), clock)


class _TableAudit:
    """The log in one table apart."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock
        self.location = table.location

    def record(
        self, *, session: str, level: int, path: Path, owner: str | None = None
    ) -> SafetyEvent:
        if level not in LEVELS or path not in PATHS:
            raise InvalidInput(
                f"A level is one of {LEVELS}, a path one of: {', '.join(PATHS)}. Nothing was noted."
            )
        at = self._clock()
        whose = None if self._table.ephemeral else owner
        event = SafetyEvent(
            new_id("safety", at), at, hash_session_id(session), whose, int(level), path
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
        condition, values = _of(owner)
        return [
            SafetyEvent(*row)
            for row in self._table.read(
                f"{_SELECT}{condition} ORDER BY at DESC, id DESC{tail}", values
            )
        ]

    def count(self, *, owner: str | None = None) -> int:
        condition, values = _of(owner)
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


def _of(owner: str | None) -> tuple[str, Sequence[Any]]:
    return ("", ()) if owner is None else (" WHERE owner = ?", (owner,))
