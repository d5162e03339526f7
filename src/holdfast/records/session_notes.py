"""Sink for records: compare what a project's sessions teach with its records, and store the result.

All results of one session (records, files, links, renewals, progress mark) are one transaction. A
session is read again only when it continues, and a note is stored once, even if its record was
edited, moved or deleted since. A failure affects one session: it is reported, and the session is
read again next time.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import HoldfastError, InvalidInput, Nothing
from ..extraction import proposals, runner
from ..extraction.apply import retire
from ..extraction.coding import Note, ask_for_notes, find_notes
from ..extraction.coding.note_judge import NoteJudge
from ..extraction.policy import Policy, private_after, withdrawn
from ..extraction.progress import RECORDS, Marks, marks_by_session
from ..extraction.runner import Extraction, Reached
from ..models.llm.chat import Complete
from ..storage.protocol import Store, Transaction
from ..text.terminal import counted
from ..types import Clock, Edge, Memories, Memory, Micros, Scope, Session, iso
from . import operations
from .note_matching import Comparison, Sentence, compared
from .roots import RecordRoot

log = logging.getLogger(__name__)

VERB = "extract"


@dataclass(frozen=True, slots=True)
class Noted:
    """A note of a session, and the decision about it."""

    session: str
    note: Note
    decision: Sentence
    reason: str = ""
    other: str = ""
    """Id of the record that agrees or conflicts."""
    record: str = ""
    """Id of the new record; empty if none was written."""


@dataclass(slots=True)
class Extracted:
    """Result of an extraction or its plan: notes, sessions read, failures."""

    notes: list[Noted] = field(default_factory=list)
    sessions: int = 0
    """Number of sessions read."""
    skipped: int = 0
    """Number of sessions read before."""
    failures: dict[str, str] = field(default_factory=dict)
    """Error by session id; these sessions are read again next time."""

    @property
    def records(self) -> list[str]:
        """Ids of the new records."""
        return [one.record for one in self.notes if one.record]


@dataclass(frozen=True, slots=True)
class Extractor:
    """Extraction of records from sessions, with its target places and optional model."""

    store: Store
    clock: Clock
    actor: str
    write: Callable[[str, Callable[[Transaction], list[Noted] | None]], list[Noted] | None]
    places: Mapping[str, RecordRoot]
    policy: Policy
    complete: Complete | None = None
    judge: NoteJudge | None = None
    max_bytes: int = 100_000
    name = RECORDS
    builds_on = ()

    def run(
        self,
        sessions: Sequence[Session],
        *,
        plan: bool,
        progress: Callable[[int, int], None],
    ) -> Extracted:
        """Read each session that is new or continued; store its notes unless it is a `plan`."""
        done = Extracted()
        marks = marks_by_session(self.store, sessions)
        due = [one for one in sessions if self.wants(one, marks.get(one.id, {}))]
        done.skipped = len(sessions) - len(due)
        for number, session in enumerate(due, start=1):
            self._one(session, done, plan=plan)
            progress(number, len(due))
        return done

    def _one(
        self,
        session: Session,
        done: Extracted,
        *,
        plan: bool,
    ) -> None:
        try:
            found = runner.read(self.store, session, self)
            if found is not None:
                done.notes += found.found if plan else self._save(found)
            done.sessions += 1
        except HoldfastError as error:
            done.failures[session.id] = str(error)
        except Exception as error:
            # One session that cannot be read is no reason to read none.
            log.exception("session %s could not be extracted", session.id)
            done.failures[session.id] = f"{type(error).__name__}: {error}"

    def _save(self, extraction: Extraction[list[Noted]]) -> list[Noted]:
        saved = self.write(VERB, lambda tx: runner.save(tx, self, extraction, at=self.clock()))
        return saved or []

    # As a sink

    def wants(self, session: Session, marks: Marks) -> bool:
        """Whether a session was never read for records, or has continued since."""
        return RECORDS not in marks or marks[RECORDS].detail.get("to") != so_far(session)

    def extract(
        self,
        session: Session,
        turns: Memories,
        marks: Marks,
    ) -> list[Noted]:
        """Return the new notes of a session, with a decision about each."""
        turns = self._readable(turns)
        notes = (
            ask_for_notes(turns, self.complete) if self.complete else find_notes(turns, self.judge)
        )
        known = _noted_before(marks)
        fresh = [note for note in notes if note_hash(note) not in known]
        said = {turn.id: turn.event_time for turn in turns}
        pairs = [(note, self._place(note).scope, said[note.source]) for note in fresh]
        return [_noted(session, one) for one in compared(self.store, pairs)]

    def is_current(self, read: Session, now: Session) -> bool:
        """Whether the session has neither new turns nor more indexed transcript."""
        return so_far(read) == so_far(now)

    def apply(
        self,
        tx: Transaction,
        session: Session,
        extraction: Extraction[list[Noted]],
        *,
        at: Micros,
    ) -> list[Noted]:
        """Store the notes and return the outcome of each."""
        return [self._write_down(tx, session, one, at=at) for one in extraction.found]

    def reached(self, session: Session, extraction: Extraction[list[Noted]]) -> list[Reached]:
        """Return the progress mark of the session, with the hashes of all notes so far."""
        now = (note_hash(one.note) for one in extraction.found)
        noted = list(dict.fromkeys((*_noted_before(extraction.marks), *now)))
        by = "model" if self.complete else "rules"
        detail = {"to": so_far(session), "by": by, "noted": noted}
        return [Reached(RECORDS, session.last_activity, detail)]

    def _readable(self, turns: Memories) -> Memories:
        """Return the turns without those that a person asked not to remember."""
        words = self.policy.vocabulary
        gone = withdrawn(turns, words)
        private = False
        told = list[Memory]()
        for turn in turns:
            # A turn that starts or ends a private passage is itself private.
            was = private
            private = private_after(turn, words, private=private)
            if not (was or private or turn.id in gone):
                told.append(turn)
        return told

    def _place(self, note: Note) -> RecordRoot:
        return self.places.get(note.place) or self.places["project"]

    # Writing

    def _write_down(
        self,
        tx: Transaction,
        session: Session,
        one: Noted,
        *,
        at: Micros,
    ) -> Noted:
        other = tx.memory(self._place(one.note).scope, one.other) if one.other else None
        if one.decision in ("known", "ignored"):
            self._renew(tx, one, other, at=at)
            return one
        record = self._record(tx, session, one.note, at=at)
        if record is None:
            return replace(one, decision="ignored", reason="nothing is left of it without secrets")
        if self.policy.needs_person(record.kind):
            record = proposals.proposal(record, by=self.actor)
        added = operations.add(tx, record, at=at)
        self._link(tx, added, one.note, at=at)
        if other is not None and one.decision == "supersedes" and added.status == "active":
            retire(tx, other, added, at=at, reason=one.reason)
        elif other is not None:
            tx.link(Edge(added.scope, added.id, other.id, "conflicts_with", at, one.reason))
        return replace(one, record=added.id)

    def _record(
        self,
        tx: Transaction,
        session: Session,
        note: Note,
        *,
        at: Micros,
    ) -> Memory | None:
        given = operations.Given(
            body=note.text,
            category=note.category,
            title=note.title,
            source=_source(tx, session, note),
            confidence=note.confidence,
            quote=note.quote,
        )
        try:
            return operations.new(given, self._place(note), at=at, max_bytes=self.max_bytes)
        except Nothing:
            return None

    def _renew(
        self,
        tx: Transaction,
        one: Noted,
        known: Memory | None,
        *,
        at: Micros,
    ) -> None:
        """Mark a record as confirmed by a session; its file changes only if confidence rises."""
        if known is not None and known.status == "active":
            sure = max(known.confidence, one.note.confidence)
            self._link(tx, tx.change(known, confidence=sure, last_accessed=at), one.note, at=at)

    def _link(
        self,
        tx: Transaction,
        record: Memory,
        note: Note,
        *,
        at: Micros,
    ) -> None:
        """Link a record to its source turns, if they exist in the same scope."""
        for turn in note.turns:
            if tx.memory(record.scope, turn) is not None:
                tx.link(Edge(record.scope, record.id, turn, "derived_from", at))


# Which sessions, and how far


def so_far(session: Session) -> list[Any]:
    """Return how far a session has come: its last activity and its transcript cursor."""
    cursor = session.metadata.get("cursor")
    return [session.last_activity, *(cursor if isinstance(cursor, list) else ())]


def note_hash(note: Note) -> str:
    """Return the identity of a note within its session, independent of its record."""
    told = f"{note.category}\0{' '.join(note.quote.split())}"
    return hashlib.blake2b(told.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _noted_before(marks: Marks) -> Sequence[str]:
    return marks[RECORDS].detail.get("noted", ()) if RECORDS in marks else ()


def sessions_of(
    store: Store,
    scope: Scope,
    wanted: Sequence[str],
) -> Iterator[Session | str]:
    """Yield the named sessions of a project, oldest first; an unknown name is yielded itself.

    A name is an id, its prefix, or the path of a transcript; no names mean all sessions. Raises
    InvalidInput for an ambiguous name.
    """
    every = sorted(store.sessions.list([scope]), key=lambda one: (one.last_activity, one.id))
    if not wanted:
        yield from (one for one in every if not one.metadata.get("private"))
        return
    for name in dict.fromkeys(wanted):
        meant = [one for one in every if one.id == name or one.metadata.get("path") == name]
        meant = meant or [one for one in every if one.id.startswith(name) or _ends_with(one, name)]
        if len(meant) > 1:
            likely = ", ".join(one.id for one in meant[:3])
            raise InvalidInput(
                f"{name!r} may be {counted(len(meant), 'session')}, such as {likely}. Give "
                "more "
                "of the id."
            )
        yield meant[0] if meant else name


def _ends_with(session: Session, name: str) -> bool:
    path = str(session.metadata.get("path") or "")
    return bool(path) and (path.endswith(f"/{name}") or name.endswith(f"/{path}"))


# Where a note comes from


def _source(
    tx: Transaction,
    session: Session,
    note: Note,
) -> dict[str, Any]:
    """Where a note comes from: session, file, lines and time."""
    turn = tx.memory(session.scope, note.source)
    at = turn.metadata.get("at") if turn else None
    where = at if isinstance(at, Mapping) else {"path": session.metadata.get("path")}
    told = {
        "session": session.id,
        "path": _shareable(where.get("path")),
        "lines": where.get("lines"),
    }
    when = iso(turn.event_time) if turn else None
    return {key: value for key, value in {**told, "at": when}.items() if value}


def _shareable(path: Any) -> str:
    """A path as it may be committed: nobody's name is in it that is not in the project."""
    home = Path.home()
    inside = isinstance(path, str) and Path(path).is_relative_to(home)
    return f"~/{Path(path).relative_to(home).as_posix()}" if inside else str(path or "")


def _noted(session: Session, one: Comparison) -> Noted:
    return Noted(session.id, one.note, one.sentence, one.reason, one.other)
