"""From sessions to records: what a project's sessions teach is compared with its records and
written down.

Reading and comparing come before the transaction; what follows from one session (records and their
files, links, what was renewed or replaced, the session's stamp) is one. A session that was read is
not read again until it goes on, and what of it was noted is not noted again, however its record was
edited, moved or deleted since. A failure concerns one session only: it is reported, and the session
is read the next time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import Conflict, HoldfastError, Nothing
from ..extraction import approval
from ..extraction.apply import retire
from ..extraction.coding import Note, ask_for_notes, find_notes
from ..extraction.policy import Policy, private_after, withdrawn
from ..extraction.turn_extraction import turns_of
from ..models.llm.chat import Complete
from ..storage.protocol import Store, Writer
from ..types import Clock, Edge, Memories, Memory, Micros, Session, iso
from . import operations
from .extraction_progress import is_due, mark_of, sessions_of, so_far, stamp_of, stamped
from .note_matching import Comparison, Sentence, compared
from .roots import RecordRoot

__all__ = ["Extracted", "Extractor", "Noted", "sessions_of"]

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
    """Who extracts: from which sessions, into which places, by which model if by one."""

    store: Store
    clock: Clock
    actor: str
    write: Callable[[str, Callable[[Writer], list[Noted]]], list[Noted]]
    places: Mapping[str, RecordRoot]
    policy: Policy
    complete: Complete | None = None
    max_bytes: int = 100_000

    def run(
        self, sessions: Sequence[Session], *, plan: bool, progress: Callable[[int, int], None]
    ) -> Extracted:
        """Reads each session that was not read before, and writes down what it teaches unless it is
        a `plan`.
        """
        done = Extracted()
        due = [one for one in sessions if is_due(one)]
        done.skipped = len(sessions) - len(due)
        for number, session in enumerate(due, start=1):
            self._one(session, done, plan=plan)
            progress(number, len(due))
        return done

    def _one(self, session: Session, done: Extracted, *, plan: bool) -> None:
        try:
            found = self._read(session)
            done.notes += found if plan else self._kept(session, found)
            done.sessions += 1
        except HoldfastError as error:
            done.failures[session.id] = str(error)
        except Exception as error:  # one session that cannot be read is no reason to read none
            log.exception("session %s could not be extracted", session.id)
            done.failures[session.id] = f"{type(error).__name__}: {error}"

    def _read(self, session: Session) -> list[Noted]:
        """What a session teaches that was not noted before, and what to do with each; nothing is
        written.
        """
        turns = self._turns(session)
        notes = ask_for_notes(turns, self.complete) if self.complete else find_notes(turns)
        noted = set(stamp_of(session).get("noted", ()))
        fresh = [note for note in notes if mark_of(note) not in noted]
        said = {turn.id: turn.event_time for turn in turns}
        pairs = [(note, self._place(note).scope, said[note.source]) for note in fresh]
        return [_noted(session, one) for one in compared(self.store, pairs)]

    def _turns(self, session: Session) -> Memories:
        """The turns in order, without those that somebody asked not to be remembered."""
        turns = turns_of(self.store, session)
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

    # -- writing
    # -------------------------------------------------------------------------------------------------------

    def _kept(self, session: Session, found: Sequence[Noted]) -> list[Noted]:
        def work(writer: Writer) -> list[Noted]:
            fresh = writer.session(session.scope, session.id)
            if fresh is None or so_far(fresh) != so_far(session):
                raise Conflict(
                    "The session went on while it was read. It is read again the next time."
                )
            if stamp_of(fresh) != stamp_of(session):
                # Somebody else has read it meanwhile.
                return []
            at = self.clock()
            kept = [self._write_down(writer, fresh, one, at=at) for one in found]
            writer.put_session(
                stamped(
                    fresh, [one.note for one in found], by="model" if self.complete else "rules"
                )
            )
            return kept

        return self.write(VERB, work)

    def _write_down(self, writer: Writer, session: Session, one: Noted, *, at: Micros) -> Noted:
        other = writer.memory(self._place(one.note).scope, one.other) if one.other else None
        if one.decision in ("known", "ignored"):
            self._renew(writer, one, other, at=at)
            return one
        record = self._record(writer, session, one.note, at=at)
        if record is None:
            return replace(one, decision="ignored", reason="nothing is left of it without secrets")
        if self.policy.needs_person(record.kind):
            record = approval.proposal(record, by=self.actor)
        added = operations.add(writer, record, at=at)
        self._link(writer, added, one.note, at=at)
        if other is not None and one.decision == "supersedes" and added.status == "active":
            retire(writer, other, added, at=at, reason=one.reason)
        elif other is not None:
            writer.link(Edge(added.scope, added.id, other.id, "conflicts_with", at, one.reason))
        return replace(one, record=added.id)

    def _record(self, writer: Writer, session: Session, note: Note, *, at: Micros) -> Memory | None:
        given = operations.Given(
            body=note.text,
            category=note.category,
            title=note.title,
            source=_source(writer, session, note),
            confidence=note.confidence,
            quote=note.quote,
        )
        try:
            return operations.new(given, self._place(note), at=at, max_bytes=self.max_bytes)
        except Nothing:
            return None

    def _renew(self, writer: Writer, one: Noted, known: Memory | None, *, at: Micros) -> None:
        """Notes that a record was borne out. Its file changes only where that makes it surer."""
        if known is not None and known.status == "active":
            sure = max(known.confidence, one.note.confidence)
            self._link(
                writer, writer.change(known, confidence=sure, last_accessed=at), one.note, at=at
            )

    def _link(self, writer: Writer, record: Memory, note: Note, *, at: Micros) -> None:
        """Links a record to the turns it rests on, where they belong to the same scope and are
        still there.
        """
        for turn in note.turns:
            if writer.memory(record.scope, turn) is not None:
                writer.link(Edge(record.scope, record.id, turn, "derived_from", at))


# Where a note comes from


def _source(writer: Writer, session: Session, note: Note) -> dict[str, Any]:
    """Where a note comes from: session, file, lines and time."""
    turn = writer.memory(session.scope, note.source)
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
