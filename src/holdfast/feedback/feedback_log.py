"""Feedback on sessions: positive, negative or skipped, with its source. Expires after 180 days."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

from ..errors import InvalidInput
from ..scopes import hash_session_id
from ..side_tables import Table
from ..types import DAY, Clock, Micros, new_id, system_clock

# Days until feedback expires.
DAYS = 180
Label = Literal["positive", "negative", "skip"]
Source = Literal["cli", "http", "chat", "library"]
LABELS: tuple[Label, ...] = get_args(Label)
SOURCES: tuple[Source, ...] = get_args(Source)

_COLUMNS = (
    "id TEXT PRIMARY KEY, at BIGINT NOT NULL, session TEXT NOT NULL, owner TEXT, "
    "label TEXT NOT NULL, source TEXT NOT NULL"
)
_SELECT = "SELECT id, at, session, owner, label, source FROM feedback"


@dataclass(frozen=True, slots=True)
class Feedback:
    """Rating of one session. `session` is the SHA-256 of its id."""

    id: str
    at: Micros
    session: str
    owner: str | None
    label: Label
    source: Source


class FeedbackLog(Protocol):
    """Interface of the feedback log. It is not part of memory: recall, lists and exports never
    include it.
    """

    location: str

    def add(
        self,
        *,
        session: str,
        label: Label,
        source: Source = "library",
        owner: str | None = None,
    ) -> Feedback:
        """Record a label for a session now. The session is stored as a hash; an in-memory log omits
        the owner.
        """

    def list(
        self, *, owner: str | None = None, limit: int | None = None
    ) -> builtins.list[Feedback]:
        """Return feedback, newest first, of one owner or of all."""

    def count(self, *, owner: str | None = None) -> int:
        """Count feedback of one owner or of all."""

    def purge(self, *, days: int = DAYS) -> int:
        """Delete feedback older than this many days; return its number."""

    def forget(self, owner: str) -> int:
        """Delete all feedback of one owner; return its number."""

    def close(self) -> None:
        """Close the log. Idempotent; later calls raise StoreClosed."""


def open_feedback(store: str | Path, *, clock: Clock = system_clock) -> FeedbackLog:
    """Open the feedback log of a store: `feedback.db` beside its file, a schema beside its tables,
    or in memory.
    """
    return _TableFeedback(Table(store, name="feedback", columns=_COLUMNS), clock)


class _TableFeedback:
    """Feedback log in a side table."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock
        self.location = table.location

    def add(
        self,
        *,
        session: str,
        label: Label,
        source: Source = "library",
        owner: str | None = None,
    ) -> Feedback:
        if label not in LABELS or source not in SOURCES:
            raise InvalidInput(
                f"label must be one of {', '.join(LABELS)} and source one of "
                f"{', '.join(SOURCES)}. Nothing was recorded."
            )
        at = self._clock()
        # An incognito session leaves nothing that names a person.
        stored_owner = None if self._table.ephemeral else owner
        hashed = hash_session_id(session)
        one = Feedback(
            new_id("feedback", at),
            at,
            hashed,
            stored_owner,
            label,
            source,
        )
        self._table.write(
            "INSERT INTO feedback (id, at, session, owner, label, source) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (one.id, one.at, one.session, one.owner, one.label, one.source),
        )
        return one

    def list(
        self, *, owner: str | None = None, limit: int | None = None
    ) -> builtins.list[Feedback]:
        tail = "" if limit is None else f" LIMIT {max(0, int(limit))}"
        condition, values = _owner_clause(owner)
        query = f"{_SELECT}{condition} ORDER BY at DESC, id DESC{tail}"
        return [Feedback(*row) for row in self._table.read(query, values)]

    def count(self, *, owner: str | None = None) -> int:
        condition, values = _owner_clause(owner)
        rows = self._table.read(f"SELECT count(*) FROM feedback{condition}", values)
        return int(rows[0][0]) if rows else 0

    def purge(self, *, days: int = DAYS) -> int:
        oldest = self._clock() - days * DAY
        return len(self._table.write("DELETE FROM feedback WHERE at <= ? RETURNING id", (oldest,)))

    def forget(self, owner: str) -> int:
        if not self.count(owner=owner):
            return 0
        return len(self._table.write("DELETE FROM feedback WHERE owner = ? RETURNING id", (owner,)))

    def close(self) -> None:
        self._table.close()


def _owner_clause(owner: str | None) -> tuple[str, Sequence[Any]]:
    if owner is None:
        return "", ()
    return " WHERE owner = ?", (owner,)
