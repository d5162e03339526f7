"""Feedback on sessions: positive, negative or skipped, with its source. Expires after 180 days."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, get_args

from ..errors import InvalidInput
from ..side_tables import SessionLog, Table
from ..types import DAY, Clock, Micros, system_clock

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


def open_feedback(
    store: str | Path,
    *,
    key_file: str | Path = "",
    clock: Clock = system_clock,
) -> FeedbackLog:
    """Open the feedback log of a store: `feedback.db` beside its file, a schema beside its tables,
    or in memory.
    """
    return _TableFeedback(
        Table(store, name="feedback", columns=_COLUMNS, key_file=key_file), clock, Feedback
    )


class _TableFeedback(SessionLog[Feedback]):
    """Feedback log in a side table."""

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
        return self._insert("feedback", session, owner, label, source)

    def purge(self, *, days: int = DAYS) -> int:
        oldest = self._clock() - days * DAY
        return len(self._table.write("DELETE FROM feedback WHERE at <= ? RETURNING id", (oldest,)))

    def forget(self, owner: str) -> int:
        if not self.count(owner=owner):
            return 0
        return len(self._table.write("DELETE FROM feedback WHERE owner = ? RETURNING id", (owner,)))
