"""Extraction progress: how far each sink has read each session.

A mark is a row of the table `progress`, keyed by scope, session and sink. It is written in the
transaction that stores what was learned, so each session is read once even if a run is interrupted.
Marks are journalled: an undo reverts them, a purge erases them, and they move with the session.
Marks of `projects` stay in their store, where the project's memory files are. Each sink defines
what its position counts and what else its mark holds:

- `facts`: position of the last turn read after a reply, -1 for none. `private`: later turns are not
read. `failed`: the error of the last attempt.

- `summary`: last activity of the session when it was last read to its end. `outcome`: the result.

- `records`: last activity of the session when it was last read for records. `to`: the same, and the
length of its transcript. `by`: model or rules. `noted`: hashes of the notes.

- `projects`: last activity of the session when it was last read for its project's memory.

Episodes are not sessions: each is consolidated once, and its own `consolidated_at` is the mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..storage.protocol import Store, Transaction
from ..types import FACTS, PROJECTS, RECORDS, SUMMARY, Micros, Progress, Session

__all__ = [
    "FACTS",
    "PROJECTS",
    "RECORDS",
    "SUMMARY",
    "Marks",
    "covers",
    "is_unread",
    "marks_by_session",
    "marks_of",
    "read_to_end",
]

Marks = Mapping[str, Progress]


def marks_of(store: Store, session: Session) -> dict[str, Progress]:
    """How far each sink has read a session, by sink."""
    return {mark.sink: mark for mark in store.progress.list(session.scope, session.id)}


def marks_by_session(store: Store, sessions: Iterable[Session]) -> dict[str, dict[str, Progress]]:
    """How far each sink has read several sessions of one scope, by session and sink."""
    found: dict[str, dict[str, Progress]] = {}
    for scope in dict.fromkeys(session.scope for session in sessions):
        for mark in store.progress.list(scope):
            found.setdefault(mark.session, {})[mark.sink] = mark
    return found


def covers(mark: Progress | None, session: Session) -> bool:
    """Whether a time-based mark reaches the session's last activity."""
    return mark is not None and mark.position >= session.last_activity


def read_to_end(
    tx: Transaction,
    session: Session,
    outcome: str,
    *,
    at: Micros,
) -> None:
    """Record that a session was read to its end.

    The position is the time of the last turn, not the reader's clock: two machines' clocks differ,
    and a later turn must never look older than the reading.
    """
    last, detail = session.last_activity, {"outcome": outcome}
    tx.progress.put(
        Progress(
            session.scope,
            session.id,
            SUMMARY,
            last,
            at,
            detail,
        )
    )


def is_unread(store: Store, session: Session) -> bool:
    """Whether a session has ended and has activity since it was last read to its end."""
    return session.ended_at is not None and not covers(
        marks_of(store, session).get(SUMMARY), session
    )
