"""The sink for records: compare what sessions of a project teach with its records.

All that follows from one session (records and their files, links, renewed or replaced records,
the progress mark) is one transaction. A session that was read is not read again until it goes
on, and what was noted of it is not noted again, however its record was edited, moved or deleted
since. A failure concerns one session only: it is reported, and the session is read next time.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import HoldfastError, InvalidInput, Nothing
from ..extraction import approval, runner
from ..extraction.apply import retire
from ..extraction.coding import Note, ask_for_notes, find_notes
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
    """A note of a session, and what becomes of it."""

    session: str
    note: Note
    decision: Sentence
    reason: str = ""
    other: str = ""
    """The record that says the same, or otherwise."""
    record: str = ""
    """The record that was written; empty where none was."""


@dataclass(slots=True)
class Extracted:
    """What extracting did, or with a plan would do: notes and their fate, sessions read, and what
    went wrong.
    """

    notes: list[Noted] = field(default_factory=list)
    sessions: int = 0
    """How many were read."""
    skipped: int = 0
    """How many had been read before."""
    failures: dict[str, str] = field(default_factory=dict)
    """By session, what went wrong; they are read again the next time."""

    @property
    def records(self) -> list[str]:
        """The ids of the records that were written."""
        return [one.record for one in self.notes if one.record]


@dataclass(frozen=True, slots=True)
class Extractor:
    """Records out of sessions: into which places, and by which model if by one."""

    store: Store
    clock: Clock
    actor: str
    write: Callable[[str, Callable[[Transaction], list[Noted] | None]], list[Noted] | None]
    places: Mapping[str, RecordRoot]
    policy: Policy
    complete: Complete | None = None
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
        """Reads each session that was not read before, and writes down what it teaches unless it is
        a `plan`.
        """
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
        except Exception as error:  # one session that cannot be read is no reason to read none
            log.exception("session %s could not be extracted", session.id)
            done.failures[session.id] = f"{type(error).__name__}: {error}"

    def _save(self, extraction: Extraction[list[Noted]]) -> list[Noted]:
        saved = self.write(VERB, lambda tx: runner.save(tx, self, extraction, at=self.clock()))
        return saved or []

    # As a sink

    def wants(self, session: Session, marks: Marks) -> bool:
        """Sessions that were never read for records, or went on since."""
        return RECORDS not in marks or marks[RECORDS].detail.get("to") != so_far(session)

    def extract(
        self,
        session: Session,
        turns: Memories,
        marks: Marks,
    ) -> list[Noted]:
        """What a session teaches that was not noted before, and what to do with each note."""
        turns = self._readable(turns)
        notes = ask_for_notes(turns, self.complete) if self.complete else find_notes(turns)
        known = _noted_before(marks)
        fresh = [note for note in notes if note_hash(note) not in known]
        said = {turn.id: turn.event_time for turn in turns}
        pairs = [(note, self._place(note).scope, said[note.source]) for note in fresh]
        return [_noted(session, one) for one in compared(self.store, pairs)]

    def is_current(self, read: Session, now: Session) -> bool:
        """Whether nobody has spoken since, and no more of its transcript was indexed."""
        return so_far(read) == so_far(now)

    def apply(
        self,
        tx: Transaction,
        session: Session,
        extraction: Extraction[list[Noted]],
        *,
        at: Micros,
    ) -> list[Noted]:
        """Writes the notes down, and says what became of each."""
        return [self._write_down(tx, session, one, at=at) for one in extraction.found]

    def reached(self, session: Session, extraction: Extraction[list[Noted]]) -> list[Reached]:
        """As far as the session has come, with what was noted now and before."""
        now = (note_hash(one.note) for one in extraction.found)
        noted = list(dict.fromkeys((*_noted_before(extraction.marks), *now)))
        by = "model" if self.complete else "rules"
        detail = {"to": so_far(session), "by": by, "noted": noted}
        return [Reached(RECORDS, session.last_activity, detail)]

    def _readable(self, turns: Memories) -> Memories:
        """The turns without those that somebody asked not to be remembered."""
        words = self.policy.vocabulary
        gone = withdrawn(turns, words)
        private = False
        told = list[Memory]()
        for turn in turns:
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
            record = approval.proposal(record, by=self.actor)
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
        """Notes that a record was borne out. Its file changes only where that makes it surer."""
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
        """Links a record to the turns it rests on, where they belong to the same scope and are
        still there.
        """
        for turn in note.turns:
            if tx.memory(record.scope, turn) is not None:
                tx.link(Edge(record.scope, record.id, turn, "derived_from", at))


# Which sessions, and how far


def so_far(session: Session) -> list[Any]:
    """How far a session has come: when somebody spoke last, and how much of its transcript there
    is.
    """
    cursor = session.metadata.get("cursor")
    return [session.last_activity, *(cursor if isinstance(cursor, list) else ())]


def note_hash(note: Note) -> str:
    """What a note is known by in its session, whatever becomes of its record."""
    told = f"{note.category}\0{' '.join(note.quote.split())}"
    return hashlib.blake2b(told.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _noted_before(marks: Marks) -> Sequence[str]:
    return marks[RECORDS].detail.get("noted", ()) if RECORDS in marks else ()


def sessions_of(
    store: Store,
    scope: Scope,
    wanted: Sequence[str],
) -> Iterator[Session | str]:
    """The sessions of a project that are meant, oldest first; of what names none, the name itself.

    A session is meant by its id, the beginning of it, or the file it was read from; without names
    all are. InvalidInput for a name that may mean several.
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
