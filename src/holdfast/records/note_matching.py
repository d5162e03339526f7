"""What to do with a note, given the records that are there: add it, renew what says the same,
replace, or stand beside.

The ladder of `write/dedup` tells what says the same, `write/reconcile` what cannot both be true; of
decisions a later one also replaces one that chose what it rejects, and of procedures one for the
same goal. A record that a person wrote or confirmed is never replaced by what a session says: both
stand, and are linked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..extraction.candidate import Candidate
from ..extraction.coding import Note
from ..extraction.coding.choices import chooses_against, terms
from ..extraction.coding.finder import as_candidate
from ..extraction.reconcile import Add, Bump, Coexist, Ignore, Supersede, decide
from ..extraction.similarity.known_memories import sharing_words
from ..storage.protocol import Filter, Store
from ..storage.schema import content_hash, fold
from ..types import Memories, Memory, Micros, Scope, from_iso
from .roots import CATEGORIES, is_record

Sentence = Literal["add", "known", "supersedes", "conflicts", "ignored"]
# of the terms of two procedures for one goal in common: the later is a new version of the earlier
SAME_STEPS = 0.4


@dataclass(frozen=True, slots=True)
class Comparison:
    """A note, what is to become of it, and the record that decided so."""

    note: Note
    sentence: Sentence
    reason: str = ""
    other: str = ""
    """Its id."""


def compared(store: Store, notes: Sequence[tuple[Note, Scope, Micros]]) -> list[Comparison]:
    """What to do with each note, said at a time, that is to become a record of a scope."""
    return [_compared(note, _near(store, scope, note), said_at) for note, scope, said_at in notes]


def _near(
    store: Store,
    scope: Scope,
    note: Note,
) -> Memories:
    """The records that share most words with a note; also those put away, which are not to come
    back.
    """
    kind = CATEGORIES[note.category]
    where = Filter((scope,), kinds=(kind,), statuses=("active", "archived", "proposed"))
    found = [
        one for one in sharing_words(store, where, f"{note.title} {note.text}") if is_record(one)
    ]
    return [
        one.with_(content=_opening_small(one.content), event_time=_said_at(one)) for one in found
    ]


def _opening_small(text: str) -> str:
    """A text whose first word cannot be taken for a name: "Always …" and "Never …" are opposites,
    not two people.
    """
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _said_at(record: Memory) -> Micros:
    """When somebody said what a record says: before it was written, if it was taken from a
    session.
    """
    source = record.metadata.get("source")
    try:
        return from_iso(source["at"]) if isinstance(source, dict) else record.event_time
    except (KeyError, TypeError, ValueError):
        return record.event_time


def _compared(
    note: Note,
    near: Memories,
    said_at: Micros,
) -> Comparison:
    for known in near:
        if (
            content_hash(known.quote) == content_hash(note.quote)
            and known.category == note.category
        ):
            return Comparison(note, "known", "rests on the same words", known.id)
    candidate = _candidate(note)
    match decide(candidate, near, said_at):
        case Bump(_, known):
            return Comparison(note, "known", "says the same", known.id)
        case Supersede(_, old, reason) | Coexist(_, old, reason) if old.status == "active":
            return _against(note, old, reason)
        case Ignore(_, reason):
            return Comparison(note, "ignored", reason)
        case Add() | Supersede() | Coexist():
            return _replacing(note, near, said_at)


def _replacing(
    note: Note,
    near: Memories,
    said_at: Micros,
) -> Comparison:
    """A new note, beside or in the place of an older record about the same matter."""
    for old in near:
        if old.status == "active" and old.category == note.category and old.event_time <= said_at:
            if note.category == "decisions" and chooses_against(
                note.quote, old.quote or old.content
            ):
                return _against(note, old, "decided otherwise since")
            if note.category == "procedures" and _same_goal(note, old):
                return _against(note, old, "done otherwise since")
    return Comparison(note, "add")


def _against(
    note: Note,
    old: Memory,
    reason: str,
) -> Comparison:
    from_session = (
        isinstance(old.metadata.get("source"), dict) and "session" in old.metadata["source"]
    )
    replaces = from_session and not old.protected
    return Comparison(note, "supersedes" if replaces else "conflicts", reason, old.id)


def _same_goal(note: Note, old: Memory) -> bool:
    """Whether a procedure is a new version of another: one goal, and some steps in common.

    Commands for one purpose need not be: a repository may have several test suites.
    """
    if "\n" not in note.text or fold(note.title) != fold(old.title):
        return False
    ours = terms(note.text)
    theirs = terms(old.content)
    return len(ours & theirs) >= SAME_STEPS * len(ours | theirs)


def _candidate(note: Note) -> Candidate:
    kind = CATEGORIES[note.category]
    return replace(
        as_candidate(note), content=_opening_small(note.text), kind=kind, category=note.category
    )
