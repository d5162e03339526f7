"""How far each sink has read each session: the one mark that says what is left to extract.

A mark is a row of the table `progress`, keyed by scope, session and sink. It is written in the
transaction that writes what was learned, so a session is read once, whatever is interrupted. The
marks are journalled: an undo takes them back, a purge erases them, and they go where the session
goes. Those of `projects` stay in their store, where the files of the project's memory are. What the
position counts and what else a mark keeps is the sink's own affair:

- `facts`: position of the last turn that was read after a reply, -1 for none. `private`: nothing
  that follows is read. `failed`: the error of the last try.
- `summary`: last activity of the session when it was last read to its end. `outcome`: what came of
  it.
- `records`: last activity of the session when it was last read for records. `to`: the same, and how
  much of its transcript there was. `by`: model or rules. `noted`: hashes of the notes.
- `projects`: last activity of the session when it was last read for its project's memory.

Episodes that a model consolidates are no sessions: each is read once, and its own `consolidated_at`
is the mark.
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
    """How far each sink has read many sessions of one scope, by session and sink."""
    found: dict[str, dict[str, Progress]] = {}
    for scope in dict.fromkeys(session.scope for session in sessions):
        for mark in store.progress.list(scope):
            found.setdefault(mark.session, {})[mark.sink] = mark
    return found


def covers(mark: Progress | None, session: Session) -> bool:
    """Whether a mark that counts in times reaches the last activity of a session."""
    return mark is not None and mark.position >= session.last_activity


def read_to_end(
    tx: Transaction,
    session: Session,
    outcome: str,
    *,
    at: Micros,
) -> None:
    """Records that a session was read to its end.

    The position is the time of its last turn, not that of the reader: the clocks of two machines
    differ, and a turn that follows must never look older than the reading.
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
    """Whether a session has ended, and went on since it was last read to its end."""
    return session.ended_at is not None and not covers(
        marks_of(store, session).get(SUMMARY), session
    )
