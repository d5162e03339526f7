"""The extraction runner: hands a session's unread turns to a sink and saves what it finds.

Each kind of knowledge is a sink: facts after a reply (`turn_extraction.py`), the summary and what
was held until session end (`session_extraction.py`), records (`records/session_notes.py`) and
project memory (`projects/stage1.py`). A sink says which sessions it wants, what it finds in their
turns, and how to write that.

`read` runs before the transaction, because models are slow. `save` is the transaction: it re-checks
whatever may have changed, applies what was found and records the progress. So each session is read
once, and a crash at any point leaves it for the next reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from ..errors import Conflict
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Author, Filter
from ..text.reference import BRANCH
from ..types import Memories, Micros, Progress, Session
from .progress import Marks, marks_of

Found = TypeVar("Found")
Done = TypeVar("Done")
Applied_co = TypeVar("Applied_co", covariant=True)

WENT_ON = "The session went on while it was read. It is read again the next time."
READ_MEANWHILE = "Somebody else read the session at the same time. It is read again the next time."


class Reached(NamedTuple):
    """A sink's progress in a session; `progress.py` says what the position means."""

    sink: str
    position: int
    detail: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Extraction(Generic[Found]):
    """What a sink found in a session, not yet written."""

    session: Session
    turns: Memories
    """All turns of the session that may be remembered, in order."""
    marks: Marks
    """How far each sink had read it."""
    found: Found


class Sink(Protocol[Found, Applied_co]):
    """Turns sessions into one kind of knowledge."""

    @property
    def name(self) -> str:
        """The key of its progress marks."""

    @property
    def builds_on(self) -> tuple[str, ...]:
        """Other sinks whose marks must not move between `read` and `save`."""

    def wants(self, session: Session, marks: Marks) -> bool:
        """Whether a session may have something unread for this sink."""

    def extract(
        self,
        session: Session,
        turns: Memories,
        marks: Marks,
    ) -> Found | None:
        """What it finds in unread turns; None if there are none. Writes nothing."""

    def is_current(self, read: Session, now: Session) -> bool:
        """Whether a session is still as it was when it was read."""

    def apply(
        self,
        tx: Transaction,
        session: Session,
        extraction: Extraction[Found],
        *,
        at: Micros,
    ) -> Applied_co:
        """Write what was found, inside the transaction that records the progress."""

    def reached(self, session: Session, extraction: Extraction[Found]) -> list[Reached]:
        """The sink's progress after this extraction."""


def turns_of(store: Store, session: Session) -> Memories:
    """Turns of a session that may be remembered, in order, without abandoned branches."""
    found = store.list(
        Filter((session.scope,), kinds=("turn",), sessions=(session.id,)), order="oldest"
    )
    held = [turn for turn in found if not turn.metadata.get(BRANCH)]
    return sorted(held, key=lambda turn: (turn.position or 0, turn.seq))


def read(
    store: Store,
    session: Session,
    sink: Sink[Found, Done],
) -> Extraction[Found] | None:
    """Read a session's new turns for a sink; None if there are none. Writes nothing."""
    marks = marks_of(store, session)
    if not sink.wants(session, marks):
        return None
    turns = turns_of(store, session)
    found = sink.extract(session, turns, marks)
    return None if found is None else Extraction(session, turns, marks, found)


def save(
    tx: Transaction,
    sink: Sink[Found, Done],
    extraction: Extraction[Found],
    *,
    at: Micros,
) -> Done | None:
    """Write what was found and record the progress.

    Returns None and writes nothing if another process has read the same turns since. Raises
    Conflict if the session has changed or is gone, because the findings may no longer hold.
    """
    read_ = extraction.session
    session = tx.sessions.get(read_.scope, read_.id)
    if session is None or not sink.is_current(read_, session):
        raise Conflict(WENT_ON)
    marks = extraction.marks
    if tx.progress.get(session.scope, session.id, sink.name) != marks.get(sink.name):
        return None
    for other in sink.builds_on:
        if tx.progress.get(session.scope, session.id, other) != marks.get(other):
            raise Conflict(READ_MEANWHILE)
    done = sink.apply(tx, session, extraction, at=at)
    for reached in sink.reached(session, extraction):
        sink_, position, detail = reached
        tx.progress.put(Progress(session.scope, session.id, sink_, position, at, dict(detail)))
    return done


def extract(
    store: Store,
    session: Session,
    sink: Sink[Found, Done],
    author: Author,
) -> Done | None:
    """Read a session for a sink now and save the result; None if there is nothing to do."""
    extraction = read(store, session, sink)
    if extraction is None:
        return None
    return store.write(author, lambda tx: save(tx, sink, extraction, at=author.at))
