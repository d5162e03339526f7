"""Feedback on sessions: positive, negative or skipped, where it was given, and for how long it is
kept: 180 days.
"""

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

DAYS = 180
Label = Literal["positive", "negative", "skip"]
Source = Literal["cli", "http", "chat", "library"]
LABELS: tuple[Label, ...] = get_args(Label)
SOURCES: tuple[Source, ...] = get_args(Source)

_COLUMNS = (
    "id TEXT PRIMARY KEY, at BIGINT NOT NULL, session TEXT NOT NULL, owner TEXT, label TEXT NOT "
    "NULL, "
    "source TEXT NOT NULL"
)
_SELECT = "SELECT id, at, session, owner, label, source FROM feedback"


@dataclass(frozen=True, slots=True)
class Feedback:
    """What one session was found to be. `session` is the SHA-256 of its id."""

    id: str
    at: Micros
    session: str
    owner: str | None
    label: Label
    source: Source


class FeedbackLog(Protocol):
    """The promises. Feedback is no part of memory: nothing recalls, lists or exports what is in
    it.
    """

    location: str

    def add(
        self, *, session: str, label: Label, source: Source = "library", owner: str | None = None
    ) -> Feedback:
        """Notes a label for a session now. The session is stored as a hash; without a place on disk
        nobody's.
        """

    def list(
        self, *, owner: str | None = None, limit: int | None = None
    ) -> builtins.list[Feedback]:
        """Feedback, newest first: of one owner, or of all."""

    def count(self, *, owner: str | None = None) -> int:
        """How much feedback there is: of one owner, or of all."""

    def purge(self, *, days: int = DAYS) -> int:
        """Erases what is older than so many days; says how much that was."""

    def forget(self, owner: str) -> int:
        """Erases all feedback of one owner; says how much that was."""

    def close(self) -> None:
        """Closing twice equals once; later calls raise StoreClosed."""


def open_feedback(store: str | Path, *, clock: Clock = system_clock) -> FeedbackLog:
    """Feedback beside a store of memories: `feedback.db` beside its file, a schema beside its
    tables, or in memory.
    """
    return _TableFeedback(Table(store, name="feedback", columns=_COLUMNS), clock)


class _TableFeedback:
    """Feedback in one table apart."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock
        self.location = table.location

    def add(
        self, *, session: str, label: Label, source: Source = "library", owner: str | None = None
    ) -> Feedback:
        if label not in LABELS or source not in SOURCES:
            raise InvalidInput(
                f"A label is one of {', '.join(LABELS)}, a source one of {', '.join(SOURCES)}. "
                "Nothing was noted."
            )
        at = self._clock()
        whose = None if self._table.ephemeral else owner
        one = Feedback(new_id("feedback", at), at, hash_session_id(session), whose, label, source)
        self._table.write(
            (
                "INSERT INTO feedback (id, at, session, owner, label, source) VALUES (?, ?, ?, ?, "
                "?, "
                "?)"
            ),
            (one.id, one.at, one.session, one.owner, one.label, one.source),
        )
        return one

    def list(
        self, *, owner: str | None = None, limit: int | None = None
    ) -> builtins.list[Feedback]:
        tail = "" if limit is None else f" LIMIT {max(0, int(limit))}"
        condition, values = _of(owner)
        return [
            Feedback(*row)
            for row in self._table.read(
                f"{_SELECT}{condition} ORDER BY at DESC, id DESC{tail}", values
            )
        ]

    def count(self, *, owner: str | None = None) -> int:
        condition, values = _of(owner)
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


def _of(owner: str | None) -> tuple[str, Sequence[Any]]:
    return ("", ()) if owner is None else (" WHERE owner = ?", (owner,))
